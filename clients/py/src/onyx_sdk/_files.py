"""A file with the version that was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True)
class StoredFile:
    text: str
    #: Identifies this content; a write that passes it replaces nothing else.
    version: str
    #: Where the text came from, where the server says so: ``person``, ``agent``, ``agent_tainted`` or ``external``.
    origin: str | None
    #: The path from the person's root, where the server says so.
    path: str | None = None

    @classmethod
    def of(cls, text: str, headers: Mapping[str, str]) -> "StoredFile":
        path = headers.get("x-onyx-path")
        version, origin = headers.get("etag", ""), headers.get("x-onyx-origin")
        return cls(text, version, origin, None if path is None else unquote(path))


MARKDOWN = {"content-type": "text/markdown; charset=utf-8"}


def when(version: str | None) -> dict[str, str]:
    """Without a version the file must not exist yet; with an empty one any version is replaced."""
    if version is None:
        return {"if-none-match": "*"}
    return {"if-match": version} if version else {}
