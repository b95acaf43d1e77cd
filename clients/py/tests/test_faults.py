"""A server that is busy, slow or gone on command: the real one cannot be made so at a given moment."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from onyx_sdk import NotFound, Offline, Onyx, OnyxError, RateLimited

Answer = tuple[int, dict[str, str]] | str
answers: list[Answer] = []
asked: list[str] = []
PROBLEM = {"code": "overloaded", "title": "Busy", "detail": "Too much.", "hint": "Wait.", "load": 9}


class Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        asked.append(self.command)
        answer: Answer = answers.pop(0) if answers else (200, {})
        if answer == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if answer == "silent":
            time.sleep(1)
            return
        assert not isinstance(answer, str)
        status, headers = answer
        body = json.dumps({"sessions": []} if status == 200 else {"status": status, **PROBLEM}).encode()
        self.send_response(status)
        for name, value in {"x-request-id": "r-7", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture()
def onyx(address: str) -> Iterator[Onyx]:
    answers.clear()
    asked.clear()
    with Onyx(address, "onyx_sk_x") as client:
        yield client


def test_what_may_be_repeated_is_repeated_after_as_long_as_the_server_asks_for(onyx: Onyx) -> None:
    answers[:] = [(503, {"retry-after": "1"}), (429, {"retry-after": "0"})]
    begun = time.monotonic()
    assert onyx.sessions.list()["sessions"] == []
    assert time.monotonic() - begun >= 0.99
    assert asked == ["GET", "GET", "GET"]


def test_after_the_last_try_the_error_says_everything(onyx: Onyx) -> None:
    answers[:] = [(429, {"retry-after": "0"})] * 3
    with pytest.raises(RateLimited) as caught:
        onyx.sessions.list()
    error = caught.value
    assert (error.code, error.message, error.hint) == ("overloaded", "Too much.", "Wait.")
    assert (error.status, error.request_id, error.retry_after, error.details) == (429, "r-7", 0, {"load": 9})
    assert len(asked) == 3


def test_what_might_be_done_twice_is_not_repeated_nor_what_would_take_too_long(onyx: Onyx) -> None:
    cases: list[tuple[tuple[int, dict[str, str]], Callable[[], object]]] = [
        ((503, {"retry-after": "0"}), lambda: onyx.threads.send_message("t", "hi")),
        ((503, {"retry-after": "3600"}), lambda: onyx.sessions.list()),
        ((500, {}), lambda: onyx.sessions.list()),
        ((503, {"retry-after": "0"}), lambda: onyx.with_options(retries=0).sessions.list()),
    ]
    for answer, call in cases:
        answers[:] = [answer]
        with pytest.raises(OnyxError) as caught:
            call()
        assert caught.value.status == answer[0]
    assert len(asked) == 4


def test_a_stream_that_is_opened_for_reading_is_tried_again_too(onyx: Onyx) -> None:
    answers[:] = [(503, {"retry-after": "0"}), "cut", (404, {})]
    with pytest.raises(NotFound):
        list(onyx.runs.events("r"))
    assert asked == ["GET", "GET", "GET"]


def test_a_connection_that_breaks_is_tried_again_for_reading_only(onyx: Onyx) -> None:
    answers[:] = ["cut"]
    assert onyx.sessions.list()["sessions"] == []
    answers[:] = ["cut"]
    with pytest.raises(Offline) as caught:
        onyx.sessions.remove("s")
    assert caught.value.code == "offline"
    assert asked == ["GET", "GET", "DELETE"]


def test_a_server_that_does_not_answer_in_time_is_told_as_such(onyx: Onyx) -> None:
    answers[:] = ["silent"]
    with pytest.raises(Offline) as caught:
        onyx.with_options(timeout=0.05, retries=0).me()
    assert caught.value.code == "timeout"
