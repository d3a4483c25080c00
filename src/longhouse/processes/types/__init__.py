"""What the commands of the processes room take and give, by concept."""
