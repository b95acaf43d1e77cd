"""Readers who follow runs through randomly chosen gateways while the faults happen, and go on elsewhere when a stream breaks."""

import collections
import http.client
import json
import threading
import time

from gateway import TOKEN

# What a reader was told of a run, over all streams. `texts`: by turn; `seqs`: the numbers of the events; `status`: how the run
# ended, `None` where the reader never got there.
Told = collections.namedtuple("Told", "run texts seqs status")

PATIENCE = 45


class Reader(threading.Thread):
    def __init__(self, gateways, dice, stop, open_runs):
        super().__init__(daemon=True)
        self.gateways, self.dice, self.stop, self.open_runs = gateways, dice, stop, open_runs
        self.told, self.streams = [], 0

    def run(self):
        while not self.stop.wait(0.3):
            known = {told.run for told in self.told}
            if fresh := [run for run in self.open_runs() if run not in known]:
                self.told.append(self.follow(self.dice.choice(fresh)))

    def follow(self, run):
        texts, seqs, until = {}, [], time.monotonic() + PATIENCE
        while time.monotonic() < until:
            status = self.read(self.dice.choice(self.gateways), run, texts, seqs)
            if status:
                return Told(run, texts, seqs, status)
            time.sleep(0.3)
        return Told(run, texts, seqs, None)

    def read(self, gateway, run, texts, seqs):
        """Reads one stream to its end, or until it breaks. Returns the status of the run, or `None`."""
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=8)
        try:
            after = seqs[-1] if seqs else 0
            connection.request("GET", f"/api/runs/{run}/events?after={after}", headers={"authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            self.streams += 1
            for line in answer if answer.status == 200 else []:
                if not line.startswith(b"data:"):
                    continue
                if not line.endswith(b"\n"):
                    return None
                event = json.loads(line[5:])
                seqs.append(event["seq"])
                fold(texts, event)
                if event["type"] == "done":
                    return event["status"]
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            pass  # The stream broke, and the next one begins after the last event.
        finally:
            connection.close()
        return None


def fold(texts, event):
    if event["type"] == "text_delta":
        texts[event["turn_id"]] = texts.get(event["turn_id"], "") + event["text"]
    if event["type"] == "text_complete":
        texts[event["turn_id"]] = event["text"]


def check_told(told, logs):
    """Checks that a run that was followed to its end has no gap, and ends with the text that its log has."""
    stored, statuses, wrong = collections.defaultdict(dict), {}, []
    in_log = set()
    for lines in logs.values():
        for line in lines:
            run, kind = line.turn.get("run_id"), line.turn["type"]
            in_log.add(run)
            if kind == "assistant_text":
                stored[run][line.turn["id"]] = line.turn["content"]
            if kind == "run_end":
                statuses[run] = line.turn["status"]
    for one in told:
        if one.status is None:
            continue
        if one.seqs != list(range(1, len(one.seqs) + 1)):
            wrong.append(f"run {one.run} was told with the numbers {one.seqs}")
        # A gateway that loses a run before its first line leaves nothing in the log. Whoever closes the run says so in its row.
        if one.run not in in_log and not one.texts and one.status in ("error", "interrupted"):
            continue
        # A gateway that cannot write the end of its run tells an error, and whoever closes the run writes that it was interrupted.
        if (one.status, statuses.get(one.run)) != ("error", "interrupted") and one.status != statuses.get(one.run):
            wrong.append(f"run {one.run} was told as {one.status}, and its log says {statuses.get(one.run)}")
        # What an interrupted run said last may have been told and not stored.
        if one.status == "done" and one.texts != stored[one.run]:
            wrong.append(f"run {one.run} was told as {sorted(one.texts.values())}, and its log has {sorted(stored[one.run].values())}")
    return wrong
