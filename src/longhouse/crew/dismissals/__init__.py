"""What each person has put away from what waits for them."""
