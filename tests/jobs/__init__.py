"""The delegation protocol."""
