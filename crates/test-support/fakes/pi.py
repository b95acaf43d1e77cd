#!/usr/bin/env python3
"""Stands in for the Pi sidecar and answers by a script.

Its folder contains `script.json` (the answers in order) and `heard.jsonl` (what the program was sent). If the script
contains `upstream`, the model at that address answers instead of the script."""

import json
import os
import signal
import sys
import time

# The folder contains `upstream.py`, and importing it must not write a bytecode cache there.
sys.dont_write_bytecode = True
from upstream import ask_upstream, asked_for

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = json.load(open(os.path.join(HERE, "script.json")))


def note(**what):
    with open(os.path.join(HERE, "heard.jsonl"), "a") as log:
        log.write(json.dumps({"pid": os.getpid(), **what}) + "\n")


def say(**reply):
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


def take():
    path = os.path.join(HERE, "taken")
    count = int(open(path).read()) if os.path.exists(path) else 0
    open(path, "w").write(str(count + 1))
    answers = SCRIPT["answers"]
    return answers[count] if count < len(answers) else {"text": "ok"}


def through_upstream(order):
    """Sends the order to the model in the format of the chat API, and returns its answer."""
    messages = [{"role": "system", "content": order["system"]}]
    for message in order["messages"]:
        if message["role"] == "user":
            texts = [part.get("text", "") for part in message["content"]]
            messages.append({"role": "user", "content": "\n".join(texts)})
        elif message["role"] == "assistant":
            messages.append(asked_for(message["text"], message["calls"]))
        else:
            for result in message["results"]:
                said = result.get("content", result.get("error", ""))
                messages.append({"role": "tool", "tool_call_id": result["id"], "content": said})
    return ask_upstream(SCRIPT["upstream"], messages, order["tools"])


def ask(order):
    answer = through_upstream(order) if "upstream" in SCRIPT else take()
    asked = order["id"]
    fault = answer.get("fault")
    if fault == "dies_first":
        os.kill(os.getpid(), signal.SIGKILL)
    if "trouble" in answer:
        say(type="failed", id=asked, message="scripted", **answer)
        return
    if fault == "garbage":
        sys.stdout.write('no json\n{"type": "from_the_future", "id": 1}\n{"type": "text", "id": 999, "delta": "x"}\n')
    if answer.get("text"):
        say(type="text", id=asked, delta=answer["text"] * (1024 * 1024 // 4 if fault == "huge" else 1))
    if fault == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "hangs":
        return
    for call in answer.get("calls", []):
        say(type="call", id=asked, call=call)
    usage = {"input": 10, "output": 5, "cache_read": 2, "cache_write": 1}
    say(type="done", id=asked, reason="tool_calls" if answer.get("calls") else "stop", usage=usage)


note(argv=sys.argv[1:], env=dict(os.environ))
if SCRIPT.get("start") == "fails":
    sys.stderr.write("Error: Cannot find module '@earendil-works/pi-ai'\n")
    sys.exit(1)
if SCRIPT.get("start") == "slow":
    time.sleep(600)
say(type="ready", version=SCRIPT.get("version", 1))
for line in sys.stdin:
    order = json.loads(line)
    note(order=order)
    if order["type"] == "ask":
        ask(order)
    elif order["type"] == "status":
        signed_in = SCRIPT.get("sign_ins", ["anthropic", "github-copilot"])
        say(type="status", id=order["id"], sign_ins=[{"provider": one, "expires_at": 0} for one in signed_in])
