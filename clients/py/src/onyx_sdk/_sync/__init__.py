"""The client that awaits."""
# Made from the async client by generate.py: change that one.
