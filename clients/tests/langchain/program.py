"""LangChain's ChatOpenAI over both of OpenAI's wires, and its ChatAnthropic."""

import anthropic
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from scenario import (
    CUT, HELLO, HELLO_ANSWER, RETRY_AFTER, TOKEN, TOO_MANY, URL, WAIT, WEATHER, WEATHER_ANSWER, WRONG_TOKEN, check,
    raises, reaches_the_provider, refused_before_the_provider, weather,
)  # fmt: skip

weather_tool = tool(weather)


def columns(chat, library):
    def stream(model):
        chunks = list(chat(model).stream(HELLO))
        assert "".join(chunk.text for chunk in chunks) == HELLO_ANSWER, chunks

    def plain(model):
        assert chat(model).invoke(HELLO).text == HELLO_ANSWER

    def tools(model):
        bound = chat(model).bind_tools([weather_tool])
        messages = [HumanMessage(WEATHER)]
        asked = bound.invoke(messages)
        call = asked.tool_calls[0]
        messages += [asked, ToolMessage(weather_tool.invoke(call["args"]), tool_call_id=call["id"])]
        assert bound.invoke(messages).text == WEATHER_ANSWER

    def refused_key(model):
        stranger = chat(model, WRONG_TOKEN)
        refused_before_the_provider(lambda: stranger.invoke(HELLO), library.AuthenticationError)

    def rate_limit(model):
        with raises(library.RateLimitError) as limited:
            chat(model).invoke(TOO_MANY)
        assert limited.value.response.headers["retry-after"] == RETRY_AFTER

    def cut_stream(model):
        with raises(Exception):
            list(chat(model).stream(CUT))

    def cancel(model):
        with reaches_the_provider():
            for chunk in chat(model).stream(WAIT):
                if chunk.text:
                    break

    return locals()


def only(columns):
    return {name: function for name, function in columns.items() if name not in ("chat", "library")}


def openai_chat(model, token=TOKEN):
    return ChatOpenAI(model=model, base_url=f"{URL}/v1", api_key=token, max_retries=0, top_p=0.9)


def openai_responses(model, token=TOKEN):
    return ChatOpenAI(model=model, base_url=f"{URL}/v1", api_key=token, max_retries=0, use_responses_api=True)


def anthropic_messages(model, token=TOKEN):
    return ChatAnthropic(model=model, base_url=URL, api_key=token, max_retries=0, max_tokens=1000)


check("chat", **only(columns(openai_chat, openai)))
check("responses", **only(columns(openai_responses, openai)))
check("messages", **only(columns(anthropic_messages, anthropic)))
