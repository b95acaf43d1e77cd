"""The openai library for Python: chat completions and responses."""

import json

import openai
from scenario import (
    CUT, CUT_ANSWER, HELLO, HELLO_ANSWER, RETRY_AFTER, TOKEN, TOO_MANY, URL, WAIT, WEATHER, WEATHER_ANSWER,
    WEATHER_SCHEMA, WEATHER_TOOL, WRONG_TOKEN, check, raises, reaches_the_provider, refused_before_the_provider, weather,
)  # fmt: skip

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)
stranger = client.with_options(api_key=WRONG_TOKEN)


def user(words):
    return [{"role": "user", "content": words}]


def limit_is_kept(error):
    assert error.status_code == 429, error
    assert error.response.headers["retry-after"] == RETRY_AFTER, error.response.headers


class Chat:
    @staticmethod
    def pieces(model, words):
        for chunk in client.chat.completions.create(model=model, messages=user(words), stream=True):
            if chunk.choices and chunk.choices[0].delta.content:
                yield chunk.choices[0].delta.content

    def plain(self, model):
        whole = client.chat.completions.create(model=model, messages=user(HELLO), top_p=0.9, seed=1, stop=["zzz"])
        assert whole.choices[0].message.content == HELLO_ANSWER, whole
        assert (whole.choices[0].finish_reason, whole.usage.total_tokens) == ("stop", 15), whole

    def stream(self, model):
        options = {"stream": True, "stream_options": {"include_usage": True}}
        chunks = list(client.chat.completions.create(model=model, messages=user(HELLO), **options))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == HELLO_ANSWER, text
        assert chunks[-1].usage.completion_tokens == 5, chunks[-1]

    def tools(self, model):
        messages = user(WEATHER)
        with client.chat.completions.stream(model=model, messages=messages, tools=[WEATHER_TOOL]) as events:
            asked = events.get_final_completion().choices[0].message
        call = asked.tool_calls[0]
        result = weather(**json.loads(call.function.arguments))
        messages += [asked, {"role": "tool", "tool_call_id": call.id, "content": result}]
        answer = client.chat.completions.create(model=model, messages=messages, tools=[WEATHER_TOOL])
        assert answer.choices[0].message.content == WEATHER_ANSWER, answer

    def refused_key(self, model):
        refused_before_the_provider(
            lambda: stranger.chat.completions.create(model=model, messages=user(HELLO)), openai.AuthenticationError
        )

    def rate_limit(self, model):
        with raises(openai.RateLimitError) as limited:
            client.chat.completions.create(model=model, messages=user(TOO_MANY))
        limit_is_kept(limited.value)

    def cut_stream(self, model):
        said = []
        with raises(openai.APIError):
            for piece in self.pieces(model, CUT):
                said.append(piece)
        assert said[0] == CUT_ANSWER, said

    def cancel(self, model):
        with reaches_the_provider():
            stream = client.chat.completions.create(model=model, messages=user(WAIT), stream=True)
            next(iter(stream))
            stream.close()


class Responses:
    tool = {"type": "function", "name": "weather", "parameters": WEATHER_SCHEMA, "strict": False}

    def plain(self, model):
        whole = client.responses.create(model=model, input=HELLO, instructions="Be brief.", truncation="auto")
        assert (whole.output_text, whole.status) == (HELLO_ANSWER, "completed"), whole
        assert client.responses.retrieve(whole.id).output_text == HELLO_ANSWER

    def stream(self, model):
        with client.responses.stream(model=model, input=HELLO) as events:
            deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
            final = events.get_final_response()
        assert "".join(deltas) == final.output_text == HELLO_ANSWER, final

    def tools(self, model):
        asked = client.responses.create(model=model, input=WEATHER, tools=[self.tool])
        call = next(item for item in asked.output if item.type == "function_call")
        result = weather(**json.loads(call.arguments))
        output = {"type": "function_call_output", "call_id": call.call_id, "output": result}
        answer = client.responses.create(model=model, input=[output], previous_response_id=asked.id, tools=[self.tool])
        assert answer.output_text == WEATHER_ANSWER, answer

    def refused_key(self, model):
        refused_before_the_provider(
            lambda: stranger.responses.create(model=model, input=HELLO), openai.AuthenticationError
        )

    def rate_limit(self, model):
        with raises(openai.RateLimitError) as limited:
            client.responses.create(model=model, input=TOO_MANY)
        limit_is_kept(limited.value)

    def cut_stream(self, model):
        kinds = []
        # The library raises an error frame as an exception, and returns `response.failed` as an event.
        try:
            kinds += [event.type for event in client.responses.create(model=model, input=CUT, stream=True)]
            assert kinds[-1] == "response.failed", kinds[-5:]
        except openai.APIError:
            pass
        assert "response.completed" not in kinds, kinds

    def cancel(self, model):
        with reaches_the_provider():
            stream = client.responses.create(model=model, input=WAIT, stream=True)
            for event in stream:
                if event.type == "response.output_text.delta":
                    break
            stream.close()


for wire, column in [("chat", Chat()), ("responses", Responses())]:
    names = ["plain", "stream", "tools", "refused_key", "rate_limit", "cut_stream", "cancel"]
    check(wire, **{name: getattr(column, name) for name in names})
