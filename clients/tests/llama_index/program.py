"""LlamaIndex through an OpenAI-compatible server."""

import openai
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from scenario import TARGETS, TOKEN, URL, seen, weather


def model(target, token=TOKEN):
    return OpenAILike(
        model=target, api_base=f"{URL}/v1", api_key=token, is_chat_model=True,
        is_function_calling_model=True, max_retries=0,
    )


for target in TARGETS:
    llm = model(target)
    hello = [ChatMessage(role="user", content="hi")]
    assert llm.chat(hello).message.content == "Hello there."
    seen("plain", target)
    text = "".join(piece.delta or "" for piece in llm.stream_chat(hello))
    assert text == "Hello there.", text
    seen("stream", target)
    tool = FunctionTool.from_defaults(weather)
    answer = llm.predict_and_call([tool], user_msg="what is the weather?")
    assert "25 degrees in Rome" in str(answer), answer
    seen("tools", target)
    try:
        model(target, "wrong").chat(hello)
        raise SystemExit("a wrong key was taken")
    except openai.AuthenticationError:
        seen("refused key", target)
