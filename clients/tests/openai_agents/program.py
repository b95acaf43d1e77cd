"""openai-agents through the responses wire and the chat wire."""

import asyncio

import openai
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from scenario import (
    CUT, HELLO, HELLO_ANSWER, RETRY_AFTER, TOKEN, TOO_MANY, URL, WAIT, WEATHER, WEATHER_ANSWER, WRONG_TOKEN, check,
    raises, reaches_the_provider, refused_before_the_provider, weather,
)  # fmt: skip

set_tracing_disabled(True)


class Columns:
    def __init__(self, kind):
        self.kind = kind

    def agent(self, model, token=TOKEN):
        client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=token, max_retries=0)
        return Agent(name="a", model=self.kind(model=model, openai_client=client), tools=[function_tool(weather)])

    async def plain(self, model):
        assert (await Runner.run(self.agent(model), HELLO)).final_output == HELLO_ANSWER

    async def stream(self, model):
        streamed = Runner.run_streamed(self.agent(model), HELLO)
        events = [event async for event in streamed.stream_events()]
        assert streamed.final_output == HELLO_ANSWER and len(events) > 3

    async def tools(self, model):
        streamed = Runner.run_streamed(self.agent(model), WEATHER)
        async for _ in streamed.stream_events():
            pass
        assert streamed.final_output == WEATHER_ANSWER, streamed.final_output

    def refused_key(self, model):
        stranger = self.agent(model, WRONG_TOKEN)
        refused_before_the_provider(lambda: asyncio.run(Runner.run(stranger, HELLO)), openai.AuthenticationError)

    async def rate_limit(self, model):
        with raises(openai.RateLimitError) as limited:
            await Runner.run(self.agent(model), TOO_MANY)
        assert limited.value.response.headers["retry-after"] == RETRY_AFTER

    async def cut_stream(self, model):
        streamed = Runner.run_streamed(self.agent(model), CUT)
        with raises(Exception):
            async for _ in streamed.stream_events():
                pass
            assert streamed.final_output is None, streamed.final_output
            raise ValueError("it ended without an answer")

    async def cancel(self, model):
        with reaches_the_provider():
            streamed = Runner.run_streamed(self.agent(model), WAIT)
            async for event in streamed.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    streamed.cancel()
                    break
            await asyncio.sleep(0.5)


for wire, kind in [("responses", OpenAIResponsesModel), ("chat", OpenAIChatCompletionsModel)]:
    columns = Columns(kind)
    check(
        wire, plain=columns.plain, stream=columns.stream, tools=columns.tools, refused_key=columns.refused_key,
        rate_limit=columns.rate_limit, cut_stream=columns.cut_stream, cancel=columns.cancel,
    )  # fmt: skip
