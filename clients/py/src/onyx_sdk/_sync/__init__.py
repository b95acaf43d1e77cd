"""The async client."""
# Made from the async client by generate.py: change that one.
