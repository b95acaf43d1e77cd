"""Checks the conversations and the files after every round."""

import collections
import json
import time

from client import content

# Turns that may follow the end of the run that they are about.
AFTERWARDS = {"feedback", "decision", "summary"}


def check(sent, found):
    """Returns the violations as sentences, each once."""
    wrong = [f"run {run} has no end" for run in found.open_runs]
    for session, lines in found.logs.items():
        wrong += check_log(session, lines, found.ends.get(session))
    said = [json.dumps(line.turn) for lines in found.logs.values() for line in lines if line.turn["type"] == "user"]
    for message in sent:
        if message.kind == "file":
            continue
        times, noted = sum(message.word in text for text in said), found.memory.count(f"kept-{message.word}")
        if message.acknowledged and times != 1:
            wrong.append(f"{message.word} was acknowledged and is there {times} times")
        if message.kind in ("word", "note") and message.acknowledged and message.wrote is not None and noted != message.wrote:
            wrong.append(f"{message.word} was acknowledged and its tool wrote {noted} times")
        if times > 1 or noted > 1:
            wrong.append(f"{message.word} is there {times} times and was written {noted} times")
    return sorted(set(wrong))


def check_log(session, lines, end):
    """Checks that lines follow each other without a gap, once each, and that a run writes nothing after its end."""
    wrong = []
    for before, line in zip(lines, lines[1:]):
        if (line.seq, line.pos) != (before.seq + 1, before.pos + before.size):
            wrong.append(f"in {session} line {line.seq} at {line.pos} follows line {before.seq} at {before.pos} of {before.size} bytes")
    last = lines[-1]
    if end != (last.seq + 1, last.pos + last.size):
        wrong.append(f"{session} ends after line {last.seq}, and the database says {end}")
    for turn, times in collections.Counter(line.turn["id"] for line in lines).items():
        if times > 1:
            wrong.append(f"in {session} turn {turn} is there {times} times")
    ended = set()
    for line in lines:
        run, kind = line.turn.get("run_id"), line.turn["type"]
        if run in ended and kind not in AFTERWARDS:
            wrong.append(f"in {session} run {run} wrote {kind} after its end")
        if kind == "run_end" and run:
            ended.add(run)
    return wrong


def asked(gateway, path, patience=20, method="GET"):
    """Returns the answer of a gateway; one that is just starting again is asked again."""
    until = time.monotonic() + patience
    while True:
        status, text = gateway.request(method, path)
        if status not in (0, 503) or time.monotonic() > until:
            return status, text
        time.sleep(0.5)


def same_everywhere(gateways, sent):
    """Checks that every gateway gives the same events of some finished runs and the same content of files."""
    wrong = []
    told = [message for message in sent if message.acknowledged and message.run][-10:]
    for message in told:
        texts, answer = set(), f"said-{message.word}"
        for gateway in gateways:
            status, text = asked(gateway, f"/api/runs/{message.run}/events")
            # A gateway that no longer keeps a run's events answers with another status.
            if status == 200:
                events = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")]
                said = "".join(event.get("text", "") for event in events if event["type"] == "text_delta")
                # Events that are rebuilt from the log hold the whole answer in one piece.
                texts.add(answer if not said and answer in text else said)
        if texts - {answer}:
            wrong.append(f"run {message.run} of {message.word} is told as {sorted(texts)}")
    for message in [message for message in sent if message.kind == "file"]:
        for gateway in gateways if message.acknowledged else gateways[:1]:
            status, text = asked(gateway, f"/v1/memory/files/vault/cluster/{message.word}.md")
            if status == 200 and text.encode() != content(message.word):
                wrong.append(f"the file of {message.word} has other content through {gateway.name}")
            if status != 200 and message.acknowledged:
                wrong.append(f"the file of {message.word} was acknowledged and is not there through {gateway.name}: {status}")
    return wrong
