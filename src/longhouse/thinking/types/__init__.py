"""Requests and results of this room, by concept; SDK users import `longhouse.api`."""
