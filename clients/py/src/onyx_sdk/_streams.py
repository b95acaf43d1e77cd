"""Splits streams of bytes into lines and server-sent events. Nothing here does I/O."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass


class Lines:
    """Bytes in, whole lines out. A character or a line may be spread over several pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> Iterator[str]:
        whole = (self._rest + self._decoder.decode(data)).split("\n")
        self._rest = whole.pop()
        for line in whole:
            yield line.removesuffix("\r")


@dataclass(frozen=True)
class ServerSentEvent:
    id: str
    event: str
    data: str


class ServerSentEvents:
    """Bytes in, events out."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._id = ""
        self._event = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> Iterator[ServerSentEvent]:
        for line in self._lines.feed(data):
            if line == "":
                if self._data:
                    yield ServerSentEvent(self._id, self._event, "\n".join(self._data))
                self._event, self._data = "", []
            else:
                self._field(line)

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        elif name == "event":
            self._event = value
