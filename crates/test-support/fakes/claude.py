#!/usr/bin/env python3
"""Stands in for the Claude Code CLI and answers by a script, with stream-json, control requests and faults.

Its folder contains `script.json` (the answers in order, whichever process is asked), `taken` (how many answers were
given) and `heard.jsonl` (how each process was started, and what it was sent). If the script contains `upstream`, the
model at that address answers instead of the script."""

import fcntl
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
SESSION = "00000000-0000-4000-8000-000000000001"


def note(**what):
    with open(os.path.join(HERE, "heard.jsonl"), "a") as log:
        log.write(json.dumps({"pid": os.getpid(), **what}) + "\n")


def say(**line):
    sys.stdout.write(json.dumps({"session_id": SESSION, **line}) + "\n")
    sys.stdout.flush()


def event(kind, **fields):
    say(type="stream_event", parent_tool_use_id=None, event={"type": kind, **fields})


def next_answer():
    with open(os.path.join(HERE, "taken"), "a+") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        taken.seek(0)
        count = int(taken.read() or 0)
        taken.truncate(0)
        taken.write(str(count + 1))
    answers = SCRIPT["answers"]
    return answers[count] if count < len(answers) else {"text": "ok"}


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    line = json.loads(line)
    note(line=line)
    return line


class Cli:
    def __init__(self):
        self.asked = 0
        # The conversation is kept for the model that answers if the script contains `upstream`.
        self.history, self.tools = [], []
        # These lines came while the program waited for something else, and are handled afterwards.
        self.later = []

    def ask_host(self, message):
        self.asked += 1
        request_id = f"ask-{self.asked}"
        say(type="control_request", request_id=request_id,
            request={"subtype": "mcp_message", "server_name": "host", "message": {"jsonrpc": "2.0", **message}})
        return request_id

    def reply_to(self, *request_ids):
        """Returns the answers to these requests in order, and keeps all other lines for later."""
        replies = {}
        while any(request_id not in replies for request_id in request_ids):
            line = hear()
            if line["type"] == "control_response":
                replies[line["response"]["request_id"]] = line["response"]
            else:
                self.later.append(line)
        return [replies[request_id]["response"]["mcp_response"] for request_id in request_ids]

    def run(self):
        while True:
            line = self.later.pop(0) if self.later else hear()
            if line["type"] == "control_request":
                self.initialize(line)
            elif line["type"] == "user":
                self.turn(line["message"]["content"])

    def initialize(self, line):
        if SCRIPT.get("start") == "refuses":
            say(type="control_response", response={
                "subtype": "error", "request_id": line["request_id"], "error": "unknown control request"})
            return
        self.history.append({"role": "system", "content": line["request"].get("systemPrompt") or ""})
        first = self.ask_host({"method": "initialize", "id": 0, "params": {"protocolVersion": "2025-11-25"}})
        self.reply_to(first)
        say(type="control_response", response={"subtype": "success", "request_id": line["request_id"], "response": {
            "commands": [], "account": {"email": "jo@example.org", "subscriptionType": "max"}}})
        self.ask_host({"method": "notifications/initialized"})
        listing = self.ask_host({"method": "tools/list", "id": 1})
        (listed,) = self.reply_to(listing)
        tools = listed["result"]["tools"]
        note(tools=[tool["name"] for tool in tools])
        self.tools = [{"name": tool["name"], "description": tool.get("description"),
                       "parameters": tool.get("inputSchema")} for tool in tools]

    def turn(self, content):
        typed = content if isinstance(content, str) else content[-1].get("text", "")
        # The real CLI expands commands and file references that it takes for typed at its prompt.
        if typed.startswith("/") or "@/" in typed:
            note(expanded=typed)
        say(type="system", subtype="init", claude_code_version=SCRIPT.get("version", "2.1.325"), tools=[])
        texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
        self.history.append({"role": "user", "content": "\n".join(texts)})
        while True:
            answer = ask_upstream(SCRIPT["upstream"], self.history, self.tools) if "upstream" in SCRIPT else next_answer()
            if not self.message(answer):
                return

    def message(self, answer):
        """Sends a message, and returns whether another one follows in the same turn."""
        fault = answer.get("fault")
        if fault in FAILURES:
            self.fail(**FAILURES[fault], limit=answer.get("limit"))
            return False
        if fault == "ends_without_answer":
            say(type="result", subtype="success", is_error=False, result="")
            return False
        if fault == "dies_first":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "garbage":
            sys.stdout.write("not json\n[1, 2]\n\n{\"type\": \"from_the_future\", \"x\": {}}\n{\"type\": \"result\"")
            sys.stdout.write("\n{\"type\": \"control_request\"}\n")
        if fault == "calls_unasked":
            self.ask_host({"method": "tools/call", "id": 90, "params": {"name": "write_file", "arguments": {}}})
        if "quota" in answer:
            say(type="rate_limit_event", rate_limit_info={"status": "allowed", **answer["quota"]})
        event("message_start", message={"role": "assistant", "content": [], "usage": {"input_tokens": 10}})
        text = answer.get("text", "") * (1024 * 1024 // 4 if fault == "huge" else 1)
        if text:
            event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
            if fault == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if fault == "hangs":
                time.sleep(600)
            if fault == "begins_again":
                event("message_start", message={"role": "assistant", "content": []})
            event("content_block_stop", index=0)
        calls = answer.get("calls", [])
        requests = []
        for index, call in enumerate(calls, 1):
            event("content_block_start", index=index, content_block={
                "type": "tool_use", "id": call["id"], "name": "mcp__host__" + call["name"], "input": {}})
            event("content_block_delta", index=index, delta={
                "type": "input_json_delta", "partial_json": json.dumps(call["arguments"])})
            # The real CLI calls the first tool before it passes on the end of that block.
            if index == 1:
                requests.append(self.call(call, answer))
            event("content_block_stop", index=index)
        reason = "tool_use" if calls else "end_turn"
        event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 5})
        event("message_stop")
        if calls:
            # The other tools are called one after the other, as the real CLI does if they may change something.
            results = self.reply_to(requests[0])
            for call in calls[1:]:
                results += self.reply_to(self.call(call, answer))
            note(results=[result["result"] for result in results])
            self.history.append(asked_for(text, calls))
            for call, result in zip(calls, results):
                said = "".join(part.get("text", "") for part in result["result"]["content"])
                self.history.append({"role": "tool", "tool_call_id": call["id"], "content": said})
            return True
        self.history.append(asked_for(text, []))
        say(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})
        say(type="result", subtype="success", is_error=False, result=text)
        return False

    def call(self, call, answer):
        meta = {} if answer.get("nameless") else {"_meta": {"claudecode/toolUseId": call["id"]}}
        return self.ask_host({"method": "tools/call", "id": 10 + self.asked, "params": {
            "name": call["name"], "arguments": call["arguments"], **meta}})

    def fail(self, error, status, words, limit=None):
        if limit:
            say(type="rate_limit_event", rate_limit_info={"status": "rejected", **limit})
        say(type="assistant", error=error, message={"role": "assistant", "content": [{"type": "text", "text": words}]})
        say(type="result", subtype="success", is_error=True, api_error_status=status, result=words)


FAILURES = {
    "limit": {"error": "rate_limit", "status": 429, "words": "You've hit your limit"},
    "login_expired": {"error": "authentication_failed", "status": 401, "words": "OAuth token has expired"},
    "overloaded": {"error": "server_error", "status": 529, "words": "API Error: 529 Overloaded"},
    "too_long": {"error": "invalid_request", "status": 413, "words": "Prompt is too long"},
}

if __name__ == "__main__":
    note(argv=sys.argv[1:], env=dict(os.environ))
    if sys.argv[1:3] == ["auth", "status"]:
        signed_in = SCRIPT.get("auth", {"loggedIn": True, "email": "jo@example.org", "subscriptionType": "max"})
        print(json.dumps(signed_in))
        sys.exit(0 if signed_in["loggedIn"] else 1)
    if SCRIPT.get("start") == "unknown_option":
        sys.stderr.write("error: unknown option '--setting-sources'\n")
        sys.exit(1)
    Cli().run()
