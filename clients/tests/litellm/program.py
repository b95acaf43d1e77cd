"""litellm through its OpenAI-compatible and its Anthropic provider."""

import litellm
from scenario import TARGETS, TOKEN, URL, seen, weather_tool

litellm.suppress_debug_info = True
for target in TARGETS:
    for provider, base in [("openai", f"{URL}/v1"), ("anthropic", URL)]:
        where = {"model": f"{provider}/{target}", "api_base": base, "api_key": TOKEN, "max_tokens": 500}

        def user(words):
            return [{"role": "user", "content": words}]

        whole = litellm.completion(messages=user("hi"), num_retries=0, **where)
        assert whole.choices[0].message.content == "Hello there.", whole
        seen("plain", target)
        chunks = litellm.completion(messages=user("hi"), stream=True, **where)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == "Hello there.", text
        seen("stream", target)
        messages = user("what is the weather?")
        asked = litellm.completion(messages=messages, tools=[weather_tool()], **where)
        call = asked.choices[0].message.tool_calls[0]
        messages += [asked.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "25"}]
        answer = litellm.completion(messages=messages, tools=[weather_tool()], **where)
        assert answer.choices[0].message.content == "It is sunny.", answer
        seen("tools", target)
        try:
            litellm.completion(messages=user("hi"), num_retries=0, **{**where, "api_key": "wrong"})
            raise SystemExit("a wrong key was taken")
        except litellm.AuthenticationError:
            seen("refused key", target)
