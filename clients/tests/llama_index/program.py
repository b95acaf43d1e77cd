"""LlamaIndex through an OpenAI-compatible server."""

import openai
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from scenario import (
    CUT, HELLO, HELLO_ANSWER, RETRY_AFTER, TOKEN, TOO_MANY, URL, WEATHER, WEATHER_ANSWER, WRONG_TOKEN, check,
    ended_early, raises, refused_before_the_provider, weather,
)  # fmt: skip


def model(name, token=TOKEN):
    return OpenAILike(
        model=name, api_base=f"{URL}/v1", api_key=token, is_chat_model=True, is_function_calling_model=True,
        max_retries=0,
    )  # fmt: skip


def said(words):
    return [ChatMessage(role="user", content=words)]


def plain(name):
    assert model(name).chat(said(HELLO)).message.content == HELLO_ANSWER


def stream(name):
    text = "".join(piece.delta or "" for piece in model(name).stream_chat(said(HELLO)))
    assert text == HELLO_ANSWER, text


async def tools(name):
    agent = FunctionAgent(tools=[FunctionTool.from_defaults(weather)], llm=model(name))
    answer = await agent.run(WEATHER)
    assert str(answer) == WEATHER_ANSWER, answer


def refused_key(name):
    refused_before_the_provider(lambda: model(name, WRONG_TOKEN).chat(said(HELLO)), openai.AuthenticationError)


def rate_limit(name):
    with raises(openai.RateLimitError) as limited:
        model(name).chat(said(TOO_MANY))
    assert limited.value.response.headers["retry-after"] == RETRY_AFTER


def cut_stream(name):
    with raises(openai.APIError):
        list(model(name).stream_chat(said(CUT)))


READ = """
import sys
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike
from scenario import TOKEN, URL, WAIT
model = OpenAILike(model=sys.argv[1], api_base=f"{URL}/v1", api_key=TOKEN, is_chat_model=True)
for _ in model.stream_chat([ChatMessage(role="user", content=WAIT)]):
    print("begun", flush=True)
"""


def cancel(name):
    ended_early(READ, name)


check(
    "chat", plain=plain, stream=stream, tools=tools, refused_key=refused_key, rate_limit=rate_limit,
    cut_stream=cut_stream, cancel=cancel,
)  # fmt: skip
