"""pydantic-ai through both of OpenAI's wires and Anthropic's."""

import asyncio

import anthropic
import openai
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from scenario import (
    CUT, HELLO, HELLO_ANSWER, TOKEN, TOO_MANY, URL, WAIT, WEATHER, WEATHER_ANSWER, WRONG_TOKEN, check, raises,
    reaches_the_provider, refused_before_the_provider, weather,
)  # fmt: skip


def openai_provider(token):
    client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=token, max_retries=0)
    return OpenAIProvider(openai_client=client)


def anthropic_provider(token):
    return AnthropicProvider(anthropic_client=anthropic.AsyncAnthropic(base_url=URL, api_key=token, max_retries=0))


MODELS = {
    "chat": lambda name, token: OpenAIChatModel(name, provider=openai_provider(token)),
    "responses": lambda name, token: OpenAIResponsesModel(name, provider=openai_provider(token)),
    "messages": lambda name, token: AnthropicModel(name, provider=anthropic_provider(token)),
}


class Columns:
    def __init__(self, wire):
        self.model = MODELS[wire]

    def agent(self, name, token=TOKEN):
        return Agent(self.model(name, token), tools=[weather])

    async def plain(self, name):
        assert (await self.agent(name).run(HELLO)).output == HELLO_ANSWER

    async def stream(self, name):
        async with self.agent(name).run_stream(HELLO) as answer:
            text = "".join([piece async for piece in answer.stream_text(delta=True)])
        assert text == HELLO_ANSWER, text

    async def tools(self, name):
        assert (await self.agent(name).run(WEATHER)).output == WEATHER_ANSWER

    def refused_key(self, name):
        stranger = self.agent(name, WRONG_TOKEN)
        error = refused_before_the_provider(lambda: asyncio.run(stranger.run(HELLO)), ModelHTTPError)
        assert error.status_code == 401, error

    async def rate_limit(self, name):
        with raises(ModelHTTPError) as limited:
            await self.agent(name).run(TOO_MANY)
        assert limited.value.status_code == 429, limited.value

    async def cut_stream(self, name):
        with raises(Exception):
            async with self.agent(name).run_stream(CUT) as answer:
                async for _ in answer.stream_text(delta=True):
                    pass

    async def cancel(self, name):
        self.begun = asyncio.Event()
        with reaches_the_provider():
            task = asyncio.ensure_future(self.read_for_ever(name))
            await asyncio.wait_for(self.begun.wait(), 30)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def read_for_ever(self, name):
        async with self.agent(name).run_stream(WAIT) as answer:
            async for _ in answer.stream_text(delta=True, debounce_by=None):
                self.begun.set()


for wire in MODELS:
    columns = Columns(wire)
    check(
        wire, plain=columns.plain, stream=columns.stream, tools=columns.tools, refused_key=columns.refused_key,
        rate_limit=columns.rate_limit, cut_stream=columns.cut_stream, cancel=columns.cancel,
    )  # fmt: skip
