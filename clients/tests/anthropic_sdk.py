"""Anthropic's library: messages, streams, tools, errors."""

import os

import anthropic

client = anthropic.Anthropic(base_url=os.environ["ONYX_URL"], api_key=os.environ["ONYX_TOKEN"], max_retries=0)
weather = {
    "name": "weather",
    "description": "The weather of a town",
    "input_schema": {"type": "object", "properties": {"town": {"type": "string"}}},
}


def ask(model, words, **more):
    messages = words if isinstance(words, list) else [{"role": "user", "content": words}]
    return dict(model=model, max_tokens=100, messages=messages, **more)


def seen(what):
    print("ok:", what, flush=True)


for model in ["onyx:main", "claude/m", "mine/m"]:
    whole = client.messages.create(**ask(model, "hi", system="Be brief."))
    assert whole.content[0].text == "Hello there.", whole
    assert (whole.stop_reason, whole.usage.output_tokens) == ("end_turn", 5), whole
    seen(f"{model}: a whole message")

    with client.messages.stream(**ask(model, "hi")) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == final.content[0].text == "Hello there.", final
    seen(f"{model}: a stream")

    with client.messages.stream(**ask(model, "what is the weather?", tools=[weather])) as stream:
        asked = stream.get_final_message()
    call = asked.content[-1]
    assert (asked.stop_reason, call.type, call.input) == ("tool_use", "tool_use", {"town": "Rome"}), asked
    conversation = [
        {"role": "user", "content": "what is the weather?"},
        {"role": "assistant", "content": [block.model_dump() for block in asked.content]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "25 degrees"}]},
    ]
    answer = client.messages.create(**ask(model, conversation, tools=[weather]))
    assert answer.content[0].text == "It is sunny.", answer
    seen(f"{model}: a tool and its result")

    try:
        with client.messages.stream(**ask(model, "break off")) as stream:
            for _ in stream:
                pass
        raise SystemExit(f"{model}: an answer that broke off was taken for a whole one")
    except anthropic.APIError:
        seen(f"{model}: an error within a stream")

try:
    client.with_options(api_key="wrong").messages.create(**ask("onyx:main", "hi"))
    raise SystemExit("a wrong key opened")
except anthropic.AuthenticationError:
    seen("a wrong key")
