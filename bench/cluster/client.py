"""Clients that talk through randomly chosen gateways and record the answers."""

import collections
import json
import threading
import time

# What was sent or stored under a word, and what came back.
#   kind          word, note (a tool writes it down), tally (a tool does something outside), send (the same, after a person
#                 approved it) or file (a file larger than a row holds)
#   wrote         the tool said that it did; None where it said that it does not know
#   acknowledged  the client got the answer to its end
Sent = collections.namedtuple("Sent", "word kind wrote run acknowledged")

FILE_BYTES = 40_000
KINDS = ["word", "word", "word", "note", "note", "note", "tally", "tally", "send", "file"]
# What tools outside answer with counts as foreign, and then more is asked of a person: these messages have sessions of their own.
OUTSIDE = {"tally", "send"}


def content(word):
    """The content of a word's file; larger than a row of the database holds."""
    line = f"file-{word}\n"
    return (line * (FILE_BYTES // len(line) + 1)).encode()


class Client(threading.Thread):
    """Sends one message after the other in one conversation, and writes files."""

    def __init__(self, number, gateways, dice, stop):
        super().__init__(daemon=True)
        self.number, self.gateways, self.dice, self.stop = number, gateways, dice, stop
        self.session, self.sent = None, []

    def run(self):
        while not self.stop.is_set():
            kind = self.dice.choice(KINDS)
            word = f"{self.number}x{len(self.sent)}y{self.dice.randrange(16**8):08x}"
            gateway = self.dice.choice(self.gateways)
            sent = self.put(gateway, word) if kind == "file" else self.say(gateway, kind, word)
            self.sent.append(sent)
            if not sent.acknowledged:
                time.sleep(0.2)

    def put(self, gateway, word):
        status, _ = gateway.request("PUT", f"/v1/memory/files/vault/cluster/{word}.md", content(word), 40)
        return Sent(word, "file", False, None, status in (200, 201, 204))

    def say(self, gateway, kind, word):
        body = {"message": f"Please: {kind}-{word}-{self.dice.choice([0, 20, 400])}"}
        if self.session and kind not in OUTSIDE:
            body["session_id"] = self.session
        status, text = gateway.request("POST", "/api/agent/chat-stream", body, 40)
        events = [json.loads(line) for line in text.splitlines() if line.endswith("}")] if status == 200 else []
        start = next((event for event in events if event.get("type") == "start"), {})
        done = events[-1] if events else {}
        acknowledged = done.get("type") == "done" and done.get("status") == "done"
        if kind not in OUTSIDE:
            self.session = self.session or (start.get("session_id") if acknowledged else None)
        # A tool may say that it could not write, because another client wrote the same file at the same moment.
        results = [event for event in events if event.get("type") == "tool_result"]
        wrote = any(event.get("ok") for event in results)
        # After a failover to another database the outcome of an unanswered commit is unknown.
        unsure = any("it is not known whether" in (event.get("output") or "") for event in results)
        return Sent(word, kind, None if unsure else wrote, start.get("run_id"), acknowledged)
