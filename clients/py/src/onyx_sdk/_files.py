"""A file with the version that was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class StoredFile:
    text: str
    #: Identifies this content; a write that passes it replaces nothing else.
    version: str
    #: Where the text came from, where the server says so: ``person``, ``agent``, ``agent_tainted`` or ``external``.
    origin: str | None

    @classmethod
    def of(cls, text: str, headers: Mapping[str, str]) -> "StoredFile":
        return cls(text, headers.get("etag", ""), headers.get("x-onyx-origin"))


MARKDOWN = {"content-type": "text/markdown; charset=utf-8"}


def when(version: str | None) -> dict[str, str]:
    """Without a version the file must not exist yet; with an empty one any version is replaced."""
    if version is None:
        return {"if-none-match": "*"}
    return {"if-match": version} if version else {}
