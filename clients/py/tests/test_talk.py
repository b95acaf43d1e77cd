"""Chat against the real server: decisions, evidence, cut streams."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from onyx_sdk import Conflict, Interrupted, NotFound, Onyx, OnyxError, RagContextItem
from stage import TOKEN, Stage, call, refuse, say


def test_a_chat_streams_its_words_and_says_how_it_ended(stage: Stage, onyx: Onyx) -> None:
    stage.script([], say("Good ", "morning."))
    chunks = list(onyx.chat.stream("hello"))
    assert "".join(chunk["text"] for chunk in chunks if chunk["type"] == "chunk") == "Good morning."
    last = chunks[-1]
    assert last["type"] == "done" and last["finish_reason"] == "done"
    session = onyx.sessions.get(last["session_id"])
    assert (session["agent"], session["message_count"]) == ("main", 2)
    assert onyx.sessions.update(session["id"], title="Named")["title"] == "Named"
    history = onyx.chat.history(session["id"])["messages"]
    assert [(message["role"], message["content"]) for message in history] == [
        ("user", "hello"),
        ("assistant", "Good morning."),
    ]
    assert "Good morning." in onyx.sessions.export(session["id"], "markdown")
    assert session["id"] in [each["id"] for each in onyx.sessions.each()]
    onyx.sessions.remove(session["id"])
    with pytest.raises(NotFound) as caught:
        onyx.sessions.get(session["id"])
    assert caught.value.request_id


def test_a_draft_is_told_approved_and_done_then_taken_back(stage: Stage, onyx: Onyx) -> None:
    edit = call("edit_file", path="plan.md", old="after lunch", new="at 9:30")
    stage.script([edit, say("Proposed.")])
    chunks = list(onyx.chat.stream("change the plan", agent="careful"))
    assert [chunk["type"] for chunk in chunks] == ["draft", "chunk", "done"]
    draft = chunks[0]
    assert draft["type"] == "draft" and draft["asks_for"] == "approval"
    waiting = onyx.drafts.list(state="pending", session=draft["session_id"])["drafts"]
    assert [each["id"] for each in waiting] == [draft["draft_id"]]
    approved = onyx.drafts.approve(draft["draft_id"], plan_hash=waiting[0]["plan_hash"])
    assert approved["state"] == "applied"
    assert onyx.memory.read("vault/plan.md").text == "Drive up at 9:30\n"
    with pytest.raises(Conflict) as caught:
        onyx.drafts.reject(draft["draft_id"])
    assert caught.value.code == "draft_decided"
    assert onyx.runs.undo(draft["run_id"]) == ["vault/plan.md"]
    assert onyx.memory.read("vault/plan.md").text == "Drive up after lunch\n"


def test_a_question_waits_in_the_stream_until_it_is_answered(stage: Stage, onyx: Onyx) -> None:
    stage.script([call("ask_person", question="Oak or larch?"), say("Larch it is.")])
    text = ""
    for chunk in onyx.chat.stream("order the floor"):
        if chunk["type"] == "confirm":
            assert chunk["asks_for"] == "answer"
            onyx.drafts.approve(chunk["draft_id"], reason="larch")
        elif chunk["type"] == "chunk":
            text += chunk["text"]
    assert text == "Larch it is."


def test_a_model_answers_messages_with_evidence_and_nothing_is_stored(stage: Stage, onyx: Onyx) -> None:
    stage.script([], say("Lar", "ch."))
    before = len(onyx.sessions.list()["sessions"])
    evidence: RagContextItem = {
        "sourceId": "s1",
        "chunkId": "c1",
        "text": "Larch: 3.4 kN.",
        "score": 0.9,
        "sourceName": "Woods",
        "matchType": "hybrid",
        "scopeType": "workspace",
    }
    chunks = list(
        onyx.chat.complete(
            [{"role": "user", "content": "Which wood?"}],
            system_prompt="Be short.",
            rag_context=[evidence],
            max_tokens=50,
        )
    )
    assert chunks == [
        {"type": "chunk", "text": "Lar"},
        {"type": "chunk", "text": "ch."},
        {"type": "done", "finish_reason": "stop", "usage": {"input": 1200, "output": 300}},
    ]
    assert len(onyx.sessions.list()["sessions"]) == before
    asked = stage.model_requests()
    assert "Larch: 3.4 kN." in asked and "Be short." in asked


def test_what_a_refusing_provider_says_is_an_error_with_its_code(stage: Stage, onyx: Onyx) -> None:
    stage.script([], refuse(401))
    with pytest.raises(OnyxError) as alone:
        list(onyx.chat.complete([{"role": "user", "content": "hi"}]))
    assert alone.value.code == "provider_auth" and alone.value.request_id
    with pytest.raises(OnyxError) as in_session:
        list(onyx.chat.stream("hi"))
    assert in_session.value.code == "provider_auth" and in_session.value.details["run_id"]


class Cut(httpx.BaseTransport):
    """A connection to ``path`` that breaks after ``size`` bytes; with ``late``, once the whole answer was sent."""

    def __init__(self, path: str, size: int, *, late: bool) -> None:
        self.path, self.size, self.late = path, size, late
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        if not request.url.path.endswith(self.path):
            return response
        return httpx.Response(response.status_code, headers=response.headers, stream=Broken(response, self))


class Broken(httpx.SyncByteStream):
    def __init__(self, response: httpx.Response, how: Cut) -> None:
        self.response, self.how = response, how

    def __iter__(self) -> Iterator[bytes]:
        pieces = self.response.iter_raw()
        left = self.how.size
        for piece in [b"".join(pieces)] if self.how.late else pieces:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                break
        self.response.close()
        raise httpx.ReadError("cut")


def test_a_stream_cut_after_its_run_has_ended_is_read_to_its_end_once(stage: Stage) -> None:
    stage.script([], say("one, ", "two, ", "three."))
    with httpx.Client(transport=Cut("/chat-stream", 170, late=True)) as client:
        chunks = list(Onyx(stage.url, TOKEN, http_client=client).chat.stream("count"))
    assert "".join(chunk["text"] for chunk in chunks if chunk["type"] == "chunk") == "one, two, three."
    assert chunks[-1]["type"] == "done"


def test_a_stream_cut_while_its_run_works_never_looks_whole(stage: Stage) -> None:
    stage.script([], say(*[f"{number} " for number in range(50)], delay_ms=20))
    with httpx.Client(transport=Cut("/chat-stream", 250, late=False)) as client:
        with pytest.raises(Interrupted) as caught:
            list(Onyx(stage.url, TOKEN, http_client=client).chat.stream("count"))
    assert caught.value.details["run_id"]


def test_the_events_of_a_run_are_taken_up_where_they_broke_off(stage: Stage) -> None:
    stage.script([], say(*[f"{number} " for number in range(30)]))
    with Onyx(stage.url, TOKEN) as onyx:
        run_id = onyx.chat.send("count")["run_id"]
        whole = list(onyx.runs.events(run_id))
    with httpx.Client(transport=Cut("/events", 900, late=False)) as client:
        # Every connection breaks, and each brings a little more.
        again = list(Onyx(stage.url, TOKEN, http_client=client).runs.events(run_id, patience=3))
    assert [event["seq"] for event in again] == [event["seq"] for event in whole]
    assert again[-1]["type"] == "done"


def test_leaving_the_loop_stops_the_run(stage: Stage, onyx: Onyx) -> None:
    stage.script([], say(*["word "] * 200, delay_ms=20))
    session = ""
    for line in onyx.chat.events("talk"):
        if line["type"] == "start":
            session = line["session_id"]
        if line["type"] == "text":
            break
    status: object = None
    # It has none until the run is over.
    while status is None:
        status = onyx.sessions.get(session).get("last_run_status")
    assert status == "cancelled"
