"""smolagents: its model, and its agent that calls tools."""

import openai
from scenario import (
    CUT, HELLO, HELLO_ANSWER, RETRY_AFTER, TOKEN, TOO_MANY, URL, WEATHER, WEATHER_ANSWER, WRONG_TOKEN, check,
    ended_early, load_script, raises, refused_before_the_provider, weather,
)  # fmt: skip
from script import call, rule, script
from smolagents import OpenAIModel, ToolCallingAgent, tool
from smolagents.models import ChatMessage


def model(name, token=TOKEN):
    return OpenAIModel(model_id=name, api_base=f"{URL}/v1", api_key=token, client_kwargs={"max_retries": 0}, retry=False)


def said(words):
    return [ChatMessage(role="user", content=[{"type": "text", "text": words}])]


def plain(name):
    assert model(name).generate(said(HELLO)).content == HELLO_ANSWER


def stream(name):
    text = "".join(piece.content or "" for piece in model(name).generate_stream(said(HELLO)))
    assert text == HELLO_ANSWER, text


def tools(name):
    """Checks a tool call. Agents of smolagents also give their answer by a tool, `final_answer`."""
    final = call("final_answer", '{"answer":"It is sunny."}', identity="call_2")
    load_script(script(rule(final, "25 degrees")))
    agent = ToolCallingAgent(tools=[tool(weather)], model=model(name), max_steps=3, verbosity_level=0)
    assert agent.run(WEATHER) == WEATHER_ANSWER
    load_script(script())


def refused_key(name):
    refused_before_the_provider(lambda: model(name, WRONG_TOKEN).generate(said(HELLO)), openai.AuthenticationError)


def rate_limit(name):
    with raises(openai.RateLimitError) as limited:
        model(name).generate(said(TOO_MANY))
    assert limited.value.response.headers["retry-after"] == RETRY_AFTER


def cut_stream(name):
    with raises(openai.APIError):
        list(model(name).generate_stream(said(CUT)))


READ = """
import sys
from scenario import TOKEN, URL, WAIT
from smolagents import OpenAIModel
from smolagents.models import ChatMessage
model = OpenAIModel(model_id=sys.argv[1], api_base=f"{URL}/v1", api_key=TOKEN)
for _ in model.generate_stream([ChatMessage(role="user", content=[{"type": "text", "text": WAIT}])]):
    print("begun", flush=True)
"""


def cancel(name):
    ended_early(READ, name)


check(
    "chat", plain=plain, stream=stream, tools=tools, refused_key=refused_key, rate_limit=rate_limit,
    cut_stream=cut_stream, cancel=cancel,
)  # fmt: skip
