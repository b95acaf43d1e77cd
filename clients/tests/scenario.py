"""What every program of a library of its own asks of Onyx."""

import os

URL = os.environ["ONYX_URL"]
TOKEN = os.environ["ONYX_TOKEN"]
# An agent, a provider of the library's own wire, and one of another.
TARGETS = ["onyx:main", "mine/m", "claude/m"]


def seen(what, target):
    print("ok:", what, target, flush=True)


def weather(town: str) -> str:
    """The weather of a town.

    Args:
        town: Which town.
    """
    return f"25 degrees in {town}"


def weather_tool():
    return {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a town",
            "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
        },
    }
