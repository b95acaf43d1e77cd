"""The client that awaits."""
