"""Chat with an agent in a session, or with a model alone."""
# Made from the async client by generate.py: change that one.

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Any

from onyx_sdk import types
from onyx_sdk._sync.http import SyncHttp, events
from onyx_sdk._sync.runs import run_lines
from onyx_sdk._check import check_completion, check_text, check_uuid, given
from onyx_sdk._chunks import ChatChunk, ChatMessage, CompletionChunk
from onyx_sdk._errors import Interrupted, InvalidArgument, OnyxError


class Chat:
    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def stream(
        self,
        message: str,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        dry_run: bool | None = None,
        temporary: bool | None = None,
        confirm: Sequence[str] | None = None,
    ) -> Generator[ChatChunk, None, None]:
        """Streams the text of an agent's answer, and what needs a decision.

        A ``confirm`` pauses the run until it is decided through ``drafts``; a ``draft`` can be decided later.
        Leaving the loop stops the answer.
        """
        body = _body(message, session_id, agent, dry_run, temporary, confirm)
        fault: types.LineError | None = None
        place = {"session_id": "", "run_id": ""}
        for line in run_lines(self._http, "/api/agent/chat-stream", {}, body):
            if line["type"] == "text":
                yield {"type": "chunk", "text": line["delta"]}
            elif line["type"] == "start":
                place = {"session_id": line["session_id"], "run_id": line["run_id"]}
            elif line["type"] == "draft" or line["type"] == "confirm":
                yield {
                    "type": line["type"],
                    "draft_id": line["draft_id"],
                    "tool": line["tool"],
                    "summary": line["summary"],
                    "preview": line["preview"],
                    "asks_for": line["asks_for"],
                    "session_id": place["session_id"],
                    "run_id": place["run_id"],
                }
            elif line["type"] == "error":
                fault = line
            elif line["type"] == "done":
                if fault is not None and line["status"] == "error":
                    raise OnyxError(fault["code"], fault["message"], fault["hint"], details=place)
                yield {
                    "type": "done",
                    "finish_reason": line["status"],
                    "session_id": line["session_id"],
                    "run_id": line["run_id"],
                    "usage": line["usage"],
                }

    def events(
        self,
        message: str,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        dry_run: bool | None = None,
        temporary: bool | None = None,
        confirm: Sequence[str] | None = None,
    ) -> Generator[types.Line, None, None]:
        """Streams every event of the agent's run, its tool calls included."""
        body = _body(message, session_id, agent, dry_run, temporary, confirm)
        for line in run_lines(self._http, "/api/agent/chat-stream", {}, body):
            yield line

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        system_prompt: str | None = None,
        rag_context: Sequence[types.RagPiece] | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Generator[CompletionChunk, None, None]:
        """Streams the text of a model's answer to messages that the caller keeps; nothing is stored.

        ``rag_context`` reaches the model marked as untrusted, never among its instructions. A stream that is cut
        is ``Interrupted``: there is no run to read the rest from.
        """
        check_completion(messages, system_prompt, rag_context, max_tokens, temperature)
        body = given(
            messages=messages,
            systemPrompt=system_prompt,
            ragContext=rag_context,
            model=model,
            maxTokens=max_tokens,
            temperature=temperature,
        )
        with self._http.stream("POST", "/api/v1/chat", body=body) as response:
            for event in events(response):
                if event.data == "[DONE]":
                    break
                part: dict[str, Any] = json.loads(event.data)
                if part["type"] == "text-delta":
                    yield {"type": "chunk", "text": part["delta"]}
                elif part["type"] == "error":
                    raise OnyxError("provider_unavailable", part["errorText"], "Try again, or choose another model.")
                elif part["type"] == "finish":
                    told = part["messageMetadata"]
                    usage = told["usage"]
                    yield {
                        "type": "done",
                        "finish_reason": told["finishReason"],
                        "usage": {"input": usage["inputTokens"], "output": usage["outputTokens"]},
                    }
                    return
        raise Interrupted()

    def send(
        self,
        message: str,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        dry_run: bool | None = None,
        temporary: bool | None = None,
        confirm: Sequence[str] | None = None,
    ) -> types.ChatReply:
        """Returns the whole answer at once. While it runs, other callers decide its confirmations."""
        body = _body(message, session_id, agent, dry_run, temporary, confirm)
        return self._http.json("POST", "/api/agent/chat", body=body)

    def stop(self, *, session_id: str | None = None, run_id: str | None = None) -> bool:
        """Stops it; returns whether there was something to stop."""
        if session_id is None and run_id is None:
            raise InvalidArgument("session_id", "or `run_id` must be given")
        body = given(session_id=session_id, run_id=run_id)
        answer: types.Stopped = self._http.json("POST", "/api/agent/stop", body=body)
        return answer["stopped"]

    def clear(self, session_id: str) -> str:
        """Archives a session and starts another one; returns its id."""
        check_uuid("session_id", session_id)
        body = {"session_id": session_id}
        answer: types.Cleared = self._http.json("POST", "/api/agent/session/clear", body=body)
        return answer["session_id"]

    def history(self, session_id: str, *, before: int | None = None, limit: int | None = None) -> types.History:
        """The messages of a session, with each answer as one message."""
        check_uuid("session_id", session_id)
        query = {"session_id": session_id, "before": before, "limit": limit}
        return self._http.json("GET", "/api/agent/session/history", query=query)


def _body(
    message: str,
    session_id: str | None,
    agent: str | None,
    dry_run: bool | None,
    temporary: bool | None,
    confirm: Sequence[str] | None,
) -> dict[str, object]:
    check_text("message", message)
    check_uuid("session_id", session_id)
    return given(
        message=message,
        session_id=session_id,
        agent=agent,
        dry_run=dry_run,
        temporary=temporary,
        confirm=None if confirm is None else list(confirm),
    )
