"""litellm through its OpenAI provider and its Anthropic provider."""

import json

import litellm
from scenario import (
    CUT, HELLO, HELLO_ANSWER, TOKEN, TOO_MANY, URL, WEATHER, WEATHER_ANSWER, WEATHER_TOOL, WRONG_TOKEN, check,
    ended_early, raises, refused_before_the_provider, weather,
)  # fmt: skip

litellm.suppress_debug_info = True


def user(words):
    return [{"role": "user", "content": words}]


class Columns:
    def __init__(self, provider, base):
        self.provider, self.base = provider, base

    def complete(self, model, messages, token=TOKEN, **more):
        return litellm.completion(
            model=f"{self.provider}/{model}", api_base=self.base, api_key=token, messages=messages, max_tokens=500,
            num_retries=0, max_retries=0, **more,
        )  # fmt: skip

    def plain(self, model):
        whole = self.complete(model, user(HELLO))
        assert whole.choices[0].message.content == HELLO_ANSWER, whole

    def stream(self, model):
        chunks = self.complete(model, user(HELLO), stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == HELLO_ANSWER, text

    def tools(self, model):
        messages = user(WEATHER)
        asked = self.complete(model, messages, tools=[WEATHER_TOOL]).choices[0].message
        call = asked.tool_calls[0]
        result = weather(**json.loads(call.function.arguments))
        messages += [asked, {"role": "tool", "tool_call_id": call.id, "content": result}]
        answer = self.complete(model, messages, tools=[WEATHER_TOOL])
        assert answer.choices[0].message.content == WEATHER_ANSWER, answer

    def refused_key(self, model):
        refused_before_the_provider(
            lambda: self.complete(model, user(HELLO), WRONG_TOKEN), litellm.AuthenticationError
        )

    def rate_limit(self, model):
        with raises(litellm.RateLimitError):
            self.complete(model, user(TOO_MANY))

    def cut_stream(self, model):
        with raises(Exception):
            list(self.complete(model, user(CUT), stream=True))

    def cancel(self, model):
        ended_early(READ, f"{self.provider}/{model}", self.base)


READ = """
import sys
import litellm
from scenario import TOKEN, WAIT
messages = [{"role": "user", "content": WAIT}]
model, base = sys.argv[1:]
for _ in litellm.completion(model=model, api_base=base, api_key=TOKEN, messages=messages, stream=True, max_tokens=500):
    print("begun", flush=True)
"""

NAMES = ["plain", "stream", "tools", "refused_key", "rate_limit", "cut_stream", "cancel"]
for wire, columns in [("chat", Columns("openai", f"{URL}/v1")), ("messages", Columns("anthropic", URL))]:
    check(wire, **{name: getattr(columns, name) for name in NAMES})
