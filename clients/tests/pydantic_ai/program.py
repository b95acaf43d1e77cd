"""pydantic-ai through OpenAI's chat wire."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scenario import TARGETS, TOKEN, URL, seen, weather


def model(target, token=TOKEN):
    return OpenAIChatModel(target, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=token))


async def main():
    for target in TARGETS:
        agent = Agent(model(target), tools=[weather])
        assert (await agent.run("hi")).output == "Hello there."
        seen("plain", target)
        async with agent.run_stream("hi") as answer:
            text = "".join([piece async for piece in answer.stream_text(delta=True)])
        assert text == "Hello there.", text
        seen("stream", target)
        assert (await agent.run("what is the weather?")).output == "It is sunny."
        seen("tools", target)
        try:
            await Agent(model(target, "wrong")).run("hi")
            raise SystemExit("a wrong key was taken")
        except ModelHTTPError as error:
            assert error.status_code == 401, error
            seen("refused key", target)


asyncio.run(main())
