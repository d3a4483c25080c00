"""The requests and results of the processes room, by concept."""
