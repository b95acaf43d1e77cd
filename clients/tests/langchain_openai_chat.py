"""LangChain's ChatOpenAI: invoke, stream, bound tools."""

import os

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def weather(town: str) -> str:
    """The weather of a town."""
    return "25 degrees in " + town


for model in ["onyx:main", "mine/m"]:
    chat = ChatOpenAI(
        model=model, base_url=os.environ["ONYX_URL"] + "/v1", api_key=os.environ["ONYX_TOKEN"], max_retries=0
    )
    assert chat.invoke("hi").content == "Hello there."
    chunks = list(chat.stream("hi"))
    assert "".join(chunk.content for chunk in chunks) == "Hello there.", chunks
    bound = chat.bind_tools([weather])
    messages = [HumanMessage("what is the weather?")]
    asked = bound.invoke(messages)
    assert asked.tool_calls[0]["args"] == {"town": "Rome"}, asked
    call = asked.tool_calls[0]
    messages += [asked, ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"])]
    assert bound.invoke(messages).content == "It is sunny."
    print("ok:", model, "with LangChain", flush=True)
