"""What the streams of ``chat`` yield, and the messages they take."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from onyx_sdk import types


class ChatMessage(TypedDict):
    """One message of a conversation that the caller keeps."""

    role: Literal["user", "assistant", "system"]
    content: str


class WordsChunk(TypedDict):
    type: Literal["chunk"]
    text: str


class DecisionChunk(TypedDict):
    """``confirm``: the run waits for a decision through ``drafts``. ``draft``: the change waits, the run does not."""

    type: Literal["draft", "confirm"]
    draft_id: str
    tool: str
    summary: str
    preview: types.Preview
    asks_for: types.AsksFor
    session_id: str
    run_id: str


class DoneChunk(TypedDict):
    type: Literal["done"]
    finish_reason: types.RunStatus
    session_id: str
    run_id: str
    usage: types.Usage


class TokensUsed(TypedDict):
    input: int
    output: int


class CompletionDone(TypedDict):
    type: Literal["done"]
    finish_reason: Literal["stop", "length", "tool-calls"]
    usage: TokensUsed


ChatChunk: TypeAlias = WordsChunk | DecisionChunk | DoneChunk
CompletionChunk: TypeAlias = WordsChunk | CompletionDone
#: Evidence for an answer, as ``complete`` takes it.
RagContextItem: TypeAlias = types.RagPiece
