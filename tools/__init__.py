"""Small programs that make runs for the people who work on this repository."""
