"""openapi-python-client: a client made from /openapi.json, and five calls with it."""

import importlib
import os
import subprocess
import sys
import urllib.request

from generated import check_calls
from scenario import HELLO, HELLO_ANSWER, TOKEN, URL, program

urllib.request.urlretrieve(f"{URL}/openapi.json", "openapi.json")
made = subprocess.run(
    [program("openapi-python-client"), "generate", "--path", "openapi.json", "--meta", "none", "--output-path", "made"],
    capture_output=True, text=True, check=False,
    env={**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"},
)  # fmt: skip
assert made.returncode == 0, made.stdout + made.stderr
assert "Unable to" not in made.stdout + made.stderr, made.stdout[-4000:]
sys.path.insert(0, os.getcwd())

from made import AuthenticatedClient  # noqa: E402
from made import models  # noqa: E402

client = AuthenticatedClient(base_url=URL, token=TOKEN, raise_on_unexpected_status=True)


def operation(tag, name):
    return importlib.import_module(f"made.api.{tag}.{name}")


def health():
    assert operation("health", "get_health").sync(client=client).status == "ok"


def listing():
    ids = [one.id for one in operation("models", "get_v1_models").sync(client=client).data]
    assert "onyx:main" in ids, ids


def chat():
    body = models.ChatRequest.from_dict({"message": HELLO})
    reply = operation("agent", "post_api_agent_chat").sync(client=client, body=body)
    assert reply.message == HELLO_ANSWER, reply
    return reply.session_id


def query():
    session = chat()
    page = operation("sessions", "get_v1_sessions").sync(client=client, limit=5)
    assert str(session) in [str(one.session_id if hasattr(one, "session_id") else one.id) for one in page.sessions], page


def problem():
    answer = operation("sessions", "get_v1_sessions_id").sync_detailed("00000000-0000-7000-8000-000000000000", client=client)
    assert answer.status_code >= 400 and answer.parsed.code, answer


check_calls({"a plain value": health, "a list": listing, "a body": chat, "a query": query, "an error": problem})
