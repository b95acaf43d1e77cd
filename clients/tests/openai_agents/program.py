"""openai-agents through the responses wire and the chat wire."""

import asyncio

import openai
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from scenario import TARGETS, TOKEN, URL, seen, weather

set_tracing_disabled(True)


def client(token=TOKEN):
    return openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=token, max_retries=0)


async def main():
    for target in TARGETS:
        for kind in [OpenAIResponsesModel, OpenAIChatCompletionsModel]:
            model = kind(model=target, openai_client=client())
            agent = Agent(name="a", model=model, tools=[function_tool(weather)])
            assert (await Runner.run(agent, "hi")).final_output == "Hello there."
            seen("plain", target)
            streamed = Runner.run_streamed(agent, "hi")
            events = [event async for event in streamed.stream_events()]
            assert streamed.final_output == "Hello there." and len(events) > 3
            seen("stream", target)
            answer = await Runner.run(agent, "what is the weather?")
            assert answer.final_output == "It is sunny.", answer
            seen("tools", target)
            try:
                await Runner.run(Agent(name="a", model=kind(model=target, openai_client=client("wrong"))), "hi")
                raise SystemExit("a wrong key was taken")
            except openai.AuthenticationError:
                seen("refused key", target)


asyncio.run(main())
