"""The openai library: chat completions, responses, embeddings, models, errors."""

import base64
import os

import openai
from openai import OpenAI

client = OpenAI(base_url=os.environ["ONYX_URL"] + "/v1", api_key=os.environ["ONYX_TOKEN"], max_retries=0)
weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a town",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    },
}


def user(words):
    return [{"role": "user", "content": words}]


def seen(what):
    print("ok:", what, flush=True)


for model in ["onyx:main", "mine/m", "claude/m"]:
    whole = client.chat.completions.create(model=model, messages=user("hi"))
    assert whole.choices[0].message.content == "Hello there.", whole
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage.total_tokens == 15, whole.usage
    seen(f"{model}: a whole answer")

    stream = client.chat.completions.create(
        model=model, messages=user("hi"), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Hello there.", text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.completion_tokens == 5, chunks[-1]
    seen(f"{model}: a stream with usage")

    messages = user("what is the weather?")
    asked = client.chat.completions.create(model=model, messages=messages, tools=[weather])
    call = asked.choices[0].message.tool_calls[0]
    assert asked.choices[0].finish_reason == "tool_calls"
    assert (call.function.name, call.function.arguments) == ("weather", '{"town":"Rome"}'), call
    messages += [asked.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "25 degrees"}]
    answer = client.chat.completions.create(model=model, messages=messages, tools=[weather])
    assert answer.choices[0].message.content == "It is sunny.", answer
    seen(f"{model}: a tool and its result")

    with client.chat.completions.stream(model=model, messages=user("what is the weather?"), tools=[weather]) as events:
        final = events.get_final_completion()
    assert final.choices[0].message.tool_calls[0].function.arguments == '{"town":"Rome"}'
    seen(f"{model}: a tool in a stream")

    said = ""
    try:
        for chunk in client.chat.completions.create(model=model, messages=user("break off"), stream=True):
            said += chunk.choices[0].delta.content or "" if chunk.choices else ""
        raise SystemExit(f"{model}: an answer that broke off was taken for a whole one")
    except openai.APIError as error:
        assert said == "half", said
        assert error.code == "provider_overloaded", error
    seen(f"{model}: an error within a stream")

for model in ["onyx:main", "resp/m", "mine/m"]:
    whole = client.responses.create(model=model, input="hi", instructions="Be brief.")
    assert whole.output_text == "Hello there.", whole
    seen(f"{model}: a response")
    with client.responses.stream(model=model, input="hi") as events:
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        final = events.get_final_response()
    assert "".join(deltas) == final.output_text == "Hello there.", final
    seen(f"{model}: a response in a stream")

first = client.responses.create(model="onyx:main", input="hi")
second = client.responses.create(model="onyx:main", input="and now?", previous_response_id=first.id)
assert second.output_text == "Hello there.", second
seen("a response that follows another")

tools = [{"type": "function", "name": "weather", "parameters": weather["function"]["parameters"]}]
asked = client.responses.create(model="onyx:main", input="what is the weather?", tools=tools)
call = asked.output[0]
assert (call.type, call.arguments) == ("function_call", '{"town":"Rome"}'), call
result = {"type": "function_call_output", "call_id": call.call_id, "output": "25 degrees"}
answer = client.responses.create(model="onyx:main", input=[result], previous_response_id=asked.id, tools=tools)
assert answer.output_text == "It is sunny.", answer
seen("a function of responses and its output")

vectors = client.embeddings.create(model="mine/vectors", input=["one", "three"])
assert [len(item.embedding) for item in vectors.data] == [3, 3], vectors
assert vectors.data[1].embedding[2] == 5.0, vectors.data[1]
plain = client.embeddings.create(model="mine/vectors", input="one", encoding_format="float")
assert plain.data[0].embedding == vectors.data[0].embedding
seen("embeddings")

ids = [model.id for model in client.models.list()]
assert "onyx:main" in ids, ids
assert client.models.retrieve("onyx:main").owned_by == "onyx"
seen("models")

picture = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
parts = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": picture}}]
assert client.chat.completions.create(model="onyx:main", messages=[{"role": "user", "content": parts}])
seen("an image")

raw = client.chat.completions.with_raw_response.create(model="onyx:main", messages=user("hi"))
session = raw.headers["x-onyx-session-id"]
again = client.chat.completions.create(
    model="onyx:main", messages=user("again"), extra_headers={"x-onyx-session-id": session}
)
assert again.model_extra["x-onyx-session-id"] == session
seen("a session that is kept")

for kind, call in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="nobody", messages=user("hi"))),
    (openai.BadRequestError, lambda: client.chat.completions.create(model="onyx:main", messages=user("hi"), n=2)),
    (openai.AuthenticationError, lambda: client.with_options(api_key="wrong").models.list()),
]:
    try:
        call()
    except kind as error:
        assert error.body["message"], error
    else:
        raise SystemExit(f"no {kind.__name__}")
seen("errors by their status")
