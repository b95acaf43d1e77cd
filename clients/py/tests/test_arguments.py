"""The same arguments are refused as by the TypeScript client, with the same words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from onyx_sdk import InvalidArgument, Onyx

CASES = json.loads((Path(__file__).parents[2] / "cases" / "arguments.json").read_text())
POSITIONAL = {"chat.stream": "message", "memory.search": "q", "agents.create": "id", "spaces.create": "name"}


def nothing_may_be_sent(request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"{request.url} was asked for")


@pytest.fixture()
def onyx() -> Iterator[Onyx]:
    with httpx.Client(transport=httpx.MockTransport(nothing_may_be_sent)) as client:
        yield Onyx("http://127.0.0.1:9", "onyx_sk_x", http_client=client)


def snake(name: str) -> str:
    """Turns the name of an argument into snake case; the names of fields within the argument stay as they are."""
    head, *rest = re.split(r"(?=[.\[])", name, maxsplit=1)
    return re.sub(r"[A-Z]", lambda found: "_" + found.group().lower(), head) + "".join(rest)


def made(onyx: Onyx, case: dict[str, Any]) -> object:
    room, method = case["call"].split(".")
    given = case["with"]
    if not isinstance(given, dict):
        return getattr(getattr(onyx, room), method)(given)
    arguments = {snake(name): value for name, value in given.items()}
    if "messages" in arguments:
        method = "complete"
    answer = getattr(getattr(onyx, room), method)(**arguments)
    return list(answer) if method in ("stream", "complete") else answer


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['call']}-{case['field']}")
def test_a_bad_argument_is_named_and_nothing_is_sent(onyx: Onyx, case: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        made(onyx, case)
    error = caught.value
    assert (error.code, error.field, error.status) == ("invalid_request", snake(case["field"]), None)
    assert f"`{error.field}`" in error.message
    assert case["says"] in error.message


def test_an_address_and_a_token_that_cannot_be_are_refused(onyx: Onyx) -> None:
    with pytest.raises(InvalidArgument, match="must be an address like http"):
        Onyx("localhost:18790")
    with pytest.raises(InvalidArgument, match="`token`"):
        Onyx("http://127.0.0.1:9", "onyx_sk_x\n").me()


def test_a_job_needs_one_time_and_something_to_do(onyx: Onyx) -> None:
    with pytest.raises(InvalidArgument, match="`cron` must be given"):
        onyx.jobs.create("x", prompt="p")
    with pytest.raises(InvalidArgument, match="cannot both"):
        onyx.jobs.create("x", cron="* * * * *", every="2h", prompt="p")
    with pytest.raises(InvalidArgument, match="`prompt`"):
        onyx.jobs.create("x", every="2h")
