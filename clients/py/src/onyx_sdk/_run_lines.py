"""Continues a cut stream of a run with the run's events."""

from __future__ import annotations

from typing import Any, cast

from onyx_sdk import types

Line = types.Line
#: How often the events of a run are requested without anything new before giving up.
PATIENCE = 6

RENAMED = {"text_delta": "text", "start": "start", "tool_call": "tool_call", "tool_result": "tool_result"}
KEPT = {
    "start": ("session_id", "run_id", "action"),
    "text": (),
    "tool_call": ("tool", "label"),
    "tool_result": ("tool", "ok", "summary", "report"),
    "status": ("message", "code"),
    "draft": ("draft_id", "tool", "summary", "preview", "asks_for"),
    "confirm": ("draft_id", "tool", "summary", "preview", "asks_for"),
    "error": ("message", "code", "hint"),
    "done": ("run_id", "status", "usage"),
}


class LinesReceived:
    """How much of each kind has arrived. The events of a run repeat it in the same order."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._skipped: dict[str, int] = {}

    def note(self, line: Line) -> None:
        self._counts[line["type"]] = self._counts.get(line["type"], 0) + _size(line)

    def news(self, line: Line | None) -> Line | None:
        """The part of a line that has not arrived before."""
        if line is None:
            return None
        kind = line["type"]
        before = self._skipped.get(kind, 0)
        known = max(0, self._counts.get(kind, 0) - before)
        self._skipped[kind] = before + _size(line)
        if known == 0:
            return line
        if line["type"] != "text" or known >= len(line["delta"]):
            return None
        return {"type": "text", "delta": line["delta"][known:]}


def _size(line: Line) -> int:
    return len(line["delta"]) if line["type"] == "text" else 1


def line_of(event: dict[str, Any], session_id: str) -> Line | None:
    """An event of a run as a line of its stream; ``None`` if streams do not have it."""
    kind = RENAMED.get(event["type"], event["type"])
    if kind not in KEPT:
        return None
    line = {"type": kind, **{name: event[name] for name in KEPT[kind] if name in event}}
    if kind == "text":
        line["delta"] = event["text"]
    elif kind == "tool_call":
        line.update(id=event["tool_use_id"], args=event["input"])
    elif kind == "tool_result":
        line["id"] = event["tool_use_id"]
    elif kind == "done":
        line["session_id"] = session_id
    return cast(Line, line)


class TextsReceived:
    """A completed text repeats its deltas; only the part that they did not contain is a new delta."""

    def __init__(self, *, began_in_the_middle: bool) -> None:
        self._lengths: dict[str, int] = {}
        self._began_in_the_middle = began_in_the_middle

    def take(self, event: dict[str, Any]) -> dict[str, Any] | None:
        if event["type"] == "text_delta":
            self._lengths[event["turn_id"]] = self._lengths.get(event["turn_id"], 0) + len(event["text"])
        if event["type"] != "text_complete":
            return event
        text: str = event["text"]
        told = self._lengths.get(event["turn_id"], len(text) if self._began_in_the_middle else 0)
        return {**event, "type": "text_delta", "text": text[told:]} if text[told:] else None
