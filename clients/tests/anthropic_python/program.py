"""Anthropic's library for Python."""

import anthropic
from scenario import (
    CUT, CUT_ANSWER, HELLO, HELLO_ANSWER, RETRY_AFTER, TOKEN, TOO_MANY, URL, WAIT, WEATHER, WEATHER_ANSWER,
    WEATHER_SCHEMA, WRONG_TOKEN, check, raises, reaches_the_provider, refused_before_the_provider, weather,
)  # fmt: skip

client = anthropic.Anthropic(base_url=URL, api_key=TOKEN, max_retries=0)
tool = {"name": "weather", "description": "The weather of a town", "input_schema": WEATHER_SCHEMA}


def ask(model, words, **more):
    messages = words if isinstance(words, list) else [{"role": "user", "content": words}]
    return {"model": model, "max_tokens": 2000, "messages": messages, **more}


def plain(model):
    thinking = {"type": "enabled", "budget_tokens": 1024}
    whole = client.messages.create(**ask(model, HELLO, system="Be brief.", thinking=thinking))
    assert whole.content[-1].text == HELLO_ANSWER, whole
    assert (whole.stop_reason, whole.usage.output_tokens) == ("end_turn", 5), whole
    assert client.messages.count_tokens(model=model, messages=ask(model, HELLO)["messages"]).input_tokens > 0


def stream(model):
    with client.messages.stream(**ask(model, HELLO)) as events:
        text = "".join(events.text_stream)
        final = events.get_final_message()
    assert text == final.content[-1].text == HELLO_ANSWER, final


def tools(model):
    with client.messages.stream(**ask(model, WEATHER, tools=[tool])) as events:
        asked = events.get_final_message()
    call = asked.content[-1]
    assert (asked.stop_reason, call.type) == ("tool_use", "tool_use"), asked
    result = {"type": "tool_result", "tool_use_id": call.id, "content": weather(**call.input)}
    conversation = [
        {"role": "user", "content": WEATHER},
        {"role": "assistant", "content": asked.content},
        {"role": "user", "content": [result]},
    ]
    answer = client.messages.create(**ask(model, conversation, tools=[tool]))
    assert answer.content[-1].text == WEATHER_ANSWER, answer


def refused_key(model):
    stranger = client.with_options(api_key=WRONG_TOKEN)
    refused_before_the_provider(
        lambda: stranger.messages.create(**ask(model, HELLO)), anthropic.AuthenticationError
    )


def rate_limit(model):
    with raises(anthropic.RateLimitError) as limited:
        client.messages.create(**ask(model, TOO_MANY))
    headers = limited.value.response.headers
    assert headers["retry-after"] == RETRY_AFTER, headers


def cut_stream(model):
    said = []
    with raises(anthropic.APIError, anthropic.AnthropicError), client.messages.stream(**ask(model, CUT)) as events:
        said.extend(events.text_stream)
    assert said[0] == CUT_ANSWER, said


def cancel(model):
    with reaches_the_provider(), client.messages.stream(**ask(model, WAIT)) as events:
        next(iter(events.text_stream))
        events.close()


check(
    "messages", plain=plain, stream=stream, tools=tools, refused_key=refused_key, rate_limit=rate_limit,
    cut_stream=cut_stream, cancel=cancel,
)  # fmt: skip
