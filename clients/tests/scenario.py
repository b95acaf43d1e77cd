"""What every client is asked to do, and against what: the part that the programs of one client each share.

A program gives a function for each column of the table in docs/clients.md. It is called with the name of a model and
raises when what it saw was wrong. `check` calls it for an agent, for a provider of the client's own wire and for one of
another wire, and prints one line of JSON for each.
"""

import asyncio
import contextlib
import inspect
import json
import os
import subprocess
import sys
import time
import traceback
import urllib.request

URL = os.environ["ONYX_URL"]
TOKEN = os.environ["ONYX_TOKEN"]
UPSTREAM = os.environ["UPSTREAM_URL"]
WRONG_TOKEN = "onyx_sk_of_nobody"

TARGETS = {
    "chat": {"agent": "onyx:main", "same wire": "mine/m", "other wire": "claude/m"},
    "responses": {"agent": "onyx:main", "same wire": "resp/m", "other wire": "claude/m"},
    "messages": {"agent": "onyx:main", "same wire": "claude/m", "other wire": "mine/m"},
}

# The messages, and the answers of the scripted provider (see script.py).
HELLO, HELLO_ANSWER = "say hello", "Hello there."
WEATHER, WEATHER_ANSWER = "what is the weather?", "It is sunny."
TOO_MANY = "one question too many"
CUT, CUT_ANSWER = "break off", "half"
WAIT = "never end"
RETRY_AFTER = "45"


def weather(town: str) -> str:
    """The weather of a town.

    Args:
        town: Which town.
    """
    return f"25 degrees in {town}"


WEATHER_SCHEMA = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
WEATHER_TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "The weather of a town", "parameters": WEATHER_SCHEMA},
}


def check(wire, row=None, /, **columns):
    """Runs each column's function against each target of the wire, for the row of that name or the wire's."""
    for kind, target in TARGETS[wire].items():
        for name, function in columns.items():
            column = name.replace("_", " ")
            try:
                outcome = function(target)
                if inspect.isawaitable(outcome):
                    asyncio.run(outcome)
                tell(column, row or wire, kind)
            except BaseException:  # noqa: BLE001 - a failed column must not hide the others
                tell(column, row or wire, kind, traceback.format_exc())


def tell(column, wire, target, error=None):
    print(json.dumps({"column": column, "wire": wire, "target": target, "error": error}), flush=True)


def counts():
    with urllib.request.urlopen(f"{UPSTREAM}/_counts") as answer:
        return json.load(answer)


def wait_until(what, holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"in vain waited for {what}"
        time.sleep(0.05)


@contextlib.contextmanager
def reaches_the_provider():
    """Checks that the cancellation inside ends the provider's answer, which would otherwise never end."""
    before = counts()
    yield
    wait_until("the provider's answer to be dropped", lambda: counts()["abandoned"] > before["abandoned"])
    assert counts()["answering"] == 0, "an answer of the provider goes on"


@contextlib.contextmanager
def raises(*kinds):
    """Checks that an error of these kinds is raised inside, and returns it as `.value`."""
    caught = type("Caught", (), {"value": None})()
    try:
        yield caught
    except kinds as error:
        caught.value = error
        return
    names = ", ".join(kind.__name__ for kind in kinds)
    raise AssertionError(f"nothing was raised, but {names} was to be")


def ended_early(code, *arguments):
    """Cancels by ending the program that reads the answer, for libraries that have no other way. `code` prints a line
    once the answer has begun."""
    with reaches_the_provider():
        command = [sys.executable, "-c", code, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            said = iter(child.stdout.readline, "")
            begun = any(line.strip() == "begun" for line in said)
            child.terminate()
        assert begun, "it did not begin"


def refused_before_the_provider(call, *kinds):
    """Checks that a wrong key is refused with the client's own error and without a request to the provider."""
    before = counts()["received"]
    with raises(*kinds) as caught:
        call()
    assert counts()["received"] == before, "the provider was asked"
    return caught.value


def load_script(script):
    """Gives the provider another script."""
    request = urllib.request.Request(f"{UPSTREAM}/_script", json.dumps(script).encode(), method="POST")
    urllib.request.urlopen(request).close()


def program(name):
    """Returns the path of a command that was installed beside this Python."""
    return os.path.join(os.path.dirname(sys.executable), name)
