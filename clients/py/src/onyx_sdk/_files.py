"""A file as it was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class StoredFile:
    text: str
    #: Names this very content; a write that gives it replaces nothing else.
    version: str
    #: Where the text came from, where the server says so: ``person``, ``agent``, ``agent_tainted`` or ``external``.
    origin: str | None

    @classmethod
    def of(cls, text: str, headers: Mapping[str, str]) -> "StoredFile":
        return cls(text, headers.get("etag", ""), headers.get("x-onyx-origin"))


MARKDOWN = {"content-type": "text/markdown; charset=utf-8"}


def when(version: str | None) -> dict[str, str]:
    """Without a version the file must not be there yet; with an empty one it may be anything."""
    if version is None:
        return {"if-none-match": "*"}
    return {"if-match": version} if version else {}
