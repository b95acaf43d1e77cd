"""Open WebUI with Onyx as its OpenAI connection, used as its page uses it: sign up, list the models, chat."""

import contextlib
import http.client
import json
import os
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from scenario import (
    CUT, HELLO, HELLO_ANSWER, TOKEN, TOO_MANY, URL, WAIT, WEATHER, WEATHER_ANSWER, WEATHER_TOOL, WRONG_TOKEN, check,
    counts, program, reaches_the_provider, wait_until, weather,
)  # fmt: skip

PORT = int(os.environ["PAGE_PORT"])
BASE = f"http://127.0.0.1:{PORT}"
FOLDER = tempfile.mkdtemp(prefix="onyx-open-webui-")
SETTINGS = {
    "DATA_DIR": FOLDER, "WEBUI_SECRET_KEY": "for this test", "OFFLINE_MODE": "true", "HF_HUB_OFFLINE": "1",
    "ENABLE_OLLAMA_API": "false", "OPENAI_API_BASE_URLS": f"{URL}/v1", "OPENAI_API_KEYS": TOKEN,
    # Nothing is embedded in this test, so no embedding model has to be loaded.
    "RAG_EMBEDDING_ENGINE": "openai", "BYPASS_EMBEDDING_AND_RETRIEVAL": "true",
    "ENABLE_TITLE_GENERATION": "false", "ENABLE_TAGS_GENERATION": "false", "ENABLE_FOLLOW_UP_GENERATION": "false",
    "SCARF_NO_ANALYTICS": "true", "DO_NOT_TRACK": "true", "ANONYMIZED_TELEMETRY": "false",
}  # fmt: skip


@contextlib.contextmanager
def serving():
    command = [program("open-webui"), "serve", "--host", "127.0.0.1", "--port", str(PORT)]
    with open(f"{FOLDER}/log", "w") as log:
        child = subprocess.Popen(command, env={**os.environ, **SETTINGS}, cwd=FOLDER, stdout=log, stderr=log)
    try:
        wait_until("Open WebUI to start", lambda: child.poll() is not None or is_healthy(), 600)
        assert child.poll() is None, open(f"{FOLDER}/log").read()[-4000:]
        yield
    finally:
        child.terminate()
        child.wait(60)


def is_healthy():
    try:
        return urllib.request.urlopen(f"{BASE}/health", timeout=5).status == 200
    except OSError:
        return False


def sign_up():
    person = {"name": "Anna", "email": "anna@example.com", "password": "for this test only"}
    return asked("/api/v1/auths/signup", person, token=None)["token"]


def asked(path, body=None, token=None, method=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(f"{BASE}{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def refusal(path, body, token):
    """Returns the refusal of a request that must fail: an HTTP error, or an error in the answer."""
    try:
        answer = asked(path, body, token)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
    assert "error" in answer or "detail" in answer, answer
    return json.dumps(answer)


def chat(model, messages, **more):
    return {"model": model, "messages": messages, **more}


def user(words):
    return [{"role": "user", "content": words}]


@contextlib.contextmanager
def stream(model, words):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    headers = {"content-type": "application/json", "authorization": f"Bearer {PERSON}"}
    connection.request("POST", "/api/chat/completions", json.dumps(chat(model, user(words), stream=True)), headers)
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def lines(answer):
    for line in answer:
        line = line.decode().strip()
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


def words_of(chunk):
    return "".join(choice.get("delta", {}).get("content") or "" for choice in chunk.get("choices", []))


def plain(model):
    listed = [one["id"] for one in asked("/api/models", token=PERSON)["data"]]
    assert model in listed, listed
    whole = asked("/api/chat/completions", chat(model, user(HELLO)), PERSON)
    assert whole["choices"][0]["message"]["content"] == HELLO_ANSWER, whole


def streamed(model):
    with stream(model, HELLO) as answer:
        text = "".join(map(words_of, lines(answer)))
    assert text == HELLO_ANSWER, text


def tools(model):
    messages = user(WEATHER)
    first = asked("/api/chat/completions", chat(model, messages, tools=[WEATHER_TOOL]), PERSON)
    message = first["choices"][0]["message"]
    call = message["tool_calls"][0]
    result = weather(**json.loads(call["function"]["arguments"]))
    messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": result}]
    second = asked("/api/chat/completions", chat(model, messages, tools=[WEATHER_TOOL]), PERSON)
    assert second["choices"][0]["message"]["content"] == WEATHER_ANSWER, second


def refused_key(_model):
    """Checks a wrong key by the request with which Open WebUI's settings test a connection."""
    before = counts()["received"]
    connection = {"url": f"{URL}/v1", "key": WRONG_TOKEN}
    said = refusal("/openai/verify", connection, PERSON)
    assert counts()["received"] == before, "the provider was asked"
    assert asked("/openai/verify", {**connection, "key": TOKEN}, PERSON)["data"], "the right key works"
    assert said, "it says nothing"


def rate_limit(model):
    said = refusal("/api/chat/completions", chat(model, user(TOO_MANY)), PERSON)
    assert "many requests" in said.lower() or "429" in said, said


def cut_stream(model):
    with stream(model, CUT) as answer:
        try:
            chunks = list(lines(answer))
        except (http.client.HTTPException, OSError):
            return
    ended = [choice["finish_reason"] for chunk in chunks for choice in chunk.get("choices", []) if choice.get("finish_reason")]
    assert "stop" not in ended, chunks[-2:]


def cancel(model):
    with reaches_the_provider(), stream(model, WAIT) as answer:
        next(chunk for chunk in lines(answer) if words_of(chunk))


with serving():
    PERSON = sign_up()
    check(
        "chat", plain=plain, stream=streamed, tools=tools, refused_key=refused_key, rate_limit=rate_limit,
        cut_stream=cut_stream, cancel=cancel,
    )  # fmt: skip
