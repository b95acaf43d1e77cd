"""The async client: the same, awaited. What is sync is made from it, so little is left to prove here."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from onyx_sdk import AsyncOnyx
from stage import TOKEN, Stage, call, say

#: A stream would wait for ever for a decision that nobody makes, so there is a time limit.
LIMIT = 60


def test_several_calls_at_once_and_a_stream_that_is_decided_on_the_way(stage: Stage) -> None:
    stage.script([call("ask_person", question="Oak or larch?"), say("Larch ", "it is.")])

    async def talk() -> str:
        async with AsyncOnyx(stage.url, TOKEN) as onyx:
            me, agents = await asyncio.gather(onyx.me(), onyx.agents.list())
            assert me["person"] == "owner" and len(agents) >= 2
            text = ""
            async with aclosing(onyx.chat.stream("order the floor")) as chunks:
                async for chunk in chunks:
                    if chunk["type"] == "confirm":
                        await onyx.drafts.approve(chunk["draft_id"], reason="larch")
                    elif chunk["type"] == "chunk":
                        text += chunk["text"]
            return text

    assert asyncio.run(asyncio.wait_for(talk(), LIMIT)) == "Larch it is."


def test_a_task_that_is_cancelled_stops_its_run(stage: Stage) -> None:
    stage.script([], say(*["word "] * 500, delay_ms=20))

    async def talk() -> str:
        async with AsyncOnyx(stage.url, TOKEN) as onyx:
            begun = asyncio.get_running_loop().create_future()

            async def read() -> None:
                async for line in onyx.chat.events("talk"):
                    if line["type"] == "start":
                        begun.set_result(line["session_id"])

            reading = asyncio.create_task(read())
            session = await begun
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            status: object = None
            # It has none until the run is over.
            while status is None:
                status = (await onyx.sessions.get(session)).get("last_run_status")
            return str(status)

    assert asyncio.run(asyncio.wait_for(talk(), LIMIT)) == "cancelled"
