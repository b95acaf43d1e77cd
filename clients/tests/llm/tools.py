def weather(town: str) -> str:
    """The weather of a town."""
    return f"25 degrees in {town}"
