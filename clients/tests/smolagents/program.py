"""smolagents' model and its agent that calls tools."""

import openai
from scenario import TARGETS, TOKEN, URL, seen
from smolagents import OpenAIModel
from smolagents.models import ChatMessage


def model(target, token=TOKEN):
    return OpenAIModel(model_id=target, api_base=f"{URL}/v1", api_key=token, client_kwargs={"max_retries": 0})


hello = [ChatMessage(role="user", content=[{"type": "text", "text": "hi"}])]
for target in TARGETS:
    assert model(target).generate(hello).content == "Hello there."
    seen("plain", target)
    text = "".join(piece.content or "" for piece in model(target).generate_stream(hello))
    assert text == "Hello there.", text
    seen("stream", target)
    try:
        model(target, "wrong").generate(hello)
        raise SystemExit("a wrong key was taken")
    except openai.AuthenticationError:
        seen("refused key", target)
