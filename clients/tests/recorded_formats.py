"""The answers recorded byte for byte in the API's tests, read with the makers' own types."""

import json
import os
from pathlib import Path

from anthropic.types import Message, RawMessageStreamEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

recorded = Path(os.environ["ONYX_RECORDED"])
count = 0


def body(name):
    text = (recorded / f"it__foreign_formats__{name}.snap").read_text()
    return text.split("---\n", 2)[2]


def frames(name):
    lines = [line[6:] for line in body(name).splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def read(kind, value):
    global count
    TypeAdapter(kind).validate_python(value)
    count += 1


read(ChatCompletion, json.loads(body("chat_whole")))
read(Response, json.loads(body("responses_whole")))
read(Message, json.loads(body("messages_whole")))
for frame in frames("chat_stream"):
    read(ChatCompletionChunk, frame)
for name in ("responses_stream", "responses_failed"):
    for number, frame in enumerate(frames(name)):
        assert frame["sequence_number"] == number, frame
        read(ResponseStreamEvent, frame)
for name in ("messages_stream", "messages_failed"):
    for frame in frames(name):
        # The library handles an error before it looks at types.
        if frame["type"] != "error":
            read(RawMessageStreamEvent, frame)
assert count > 40, count
print(f"ok: {count} values")
