"""openapi-generator: a Python client made from /openapi.json, and five calls with it. It needs Java."""

import os
import subprocess
import sys
import urllib.request

from generated import check_calls
from scenario import HELLO, HELLO_ANSWER, TOKEN, URL, program

urllib.request.urlretrieve(f"{URL}/openapi.json", "openapi.json")
made = subprocess.run(
    [
        program("openapi-generator-cli"), "generate", "-i", "openapi.json", "-g", "python", "-o", "made",
        "--package-name", "onyx_made", "--global-property", "apiDocs=false,modelDocs=false,apiTests=false,modelTests=false",
    ],
    capture_output=True, text=True, check=False,
)  # fmt: skip
assert made.returncode == 0, made.stdout[-4000:] + made.stderr[-4000:]
sys.path.insert(0, os.path.join(os.getcwd(), "made"))

import onyx_made  # noqa: E402

client = onyx_made.ApiClient(onyx_made.Configuration(host=URL, access_token=TOKEN))


def health():
    assert onyx_made.HealthApi(client).get_health().status == "ok"


def listing():
    ids = [one.id for one in onyx_made.ModelsApi(client).get_v1_models().data]
    assert "onyx:main" in ids, ids


def chat():
    body = onyx_made.ChatRequest.from_dict({"message": HELLO})
    reply = onyx_made.AgentApi(client).post_api_agent_chat(body)
    assert reply.message == HELLO_ANSWER, reply
    return reply.session_id


def query():
    session = chat()
    page = onyx_made.SessionsApi(client).get_v1_sessions(limit=5)
    assert str(session) in [str(one.id) for one in page.sessions], page


def problem():
    try:
        onyx_made.SessionsApi(client).get_v1_sessions_id("00000000-0000-7000-8000-000000000000")
    except onyx_made.ApiException as error:
        assert error.status >= 400 and "code" in error.body, error
        return
    raise AssertionError("nothing was raised")


check_calls({"a plain value": health, "a list": listing, "a body": chat, "a query": query, "an error": problem})
