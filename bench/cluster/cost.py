"""What a turn costs: CPU of gateways and of the database, time, and round trips to the database."""

import os
import pathlib
import statistics
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")
# Messages of a client that the server answers before the client continues: Sync and a simple Query.
ANSWERED = b"SQ"
# The server's message that everything is answered.
READY = b"Z"


def cpu_of(pid):
    """Returns the seconds of CPU that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu_of_family(pid):
    """Returns the seconds of CPU of a process and all its descendants, including those that have ended."""
    total, fields = 0, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    total += sum(map(int, fields[11:15])) / TICKS
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            total += cpu_of(child)
        except OSError:
            pass  # The process ended meanwhile and counts with its parent.
    return total


class Trips:
    """Counts trips over a link to PostgreSQL. A message that is sent while no answer is awaited begins a trip; messages that are
    sent before its answer belong to the same trip."""

    def __init__(self, link):
        self.count = self.statements = 0
        link.watcher, link.answer_watcher = self.sent, self.answered

    def sent(self, connection, piece):
        for kind in messages(connection.asked, piece):
            if kind and kind in ANSWERED:
                self.statements += 1
                self.count += connection.awaited == 0
                connection.awaited += 1

    def answered(self, connection, piece):
        for kind in messages(connection.answered, piece):
            if kind == READY:
                connection.awaited = max(0, connection.awaited - 1)


def messages(seen, piece):
    """Yields the letters of the messages that have arrived completely; the rest stays in `seen`."""
    seen += piece
    while seen:
        # The first message of a client has no letter; it begins with its length, whose first byte is zero.
        start = 0 if seen[:1] == b"\0" else 1
        if len(seen) < start + 4:
            return
        length = start + int.from_bytes(seen[start : start + 4], "big")
        if len(seen) < length:
            return
        kind = bytes(seen[:start])
        del seen[:length]
        yield kind


class Talker(threading.Thread):
    """Sends messages one after the other, each in the next of its conversations; with `every`, at that interval."""

    def __init__(self, gateways, turns, sessions, begin=None, every=None):
        super().__init__(daemon=True)
        self.gateways, self.turns, self.sessions = gateways, turns, list(sessions)
        self.begin, self.every, self.times, self.failed = begin, every, [], 0

    def run(self):
        for number in range(self.turns):
            if self.every:
                time.sleep(max(0, self.begin + number * self.every - time.monotonic()))
            gateway = self.gateways[number % len(self.gateways)]
            body = {"message": "Please: word-hello-0", "session_id": self.sessions[number % len(self.sessions)]}
            begun = time.monotonic()
            status, text = gateway.request("POST", "/api/agent/chat-stream", body, 60)
            self.times.append(time.monotonic() - begun)
            self.failed += not (status == 200 and '"status":"done"' in text.replace(" ", ""))


def new_sessions(gateway, count):
    import json

    found = []
    for _ in range(count):
        status, text = gateway.request("POST", "/api/agent/chat-stream", {"message": "Please: word-first-0"}, 60)
        assert status == 200, (status, text)
        found.append(next(event["session_id"] for event in map(json.loads, text.split("\n")[:1])))
    return found


def settle(gateways, patience=120):
    """Waits until the gateways only watch each other, and returns the CPU seconds per second that this takes."""
    until = time.monotonic() + patience
    while True:
        before = sum(cpu_of(gateway.process.pid) for gateway in gateways)
        time.sleep(3)
        idle = (sum(cpu_of(gateway.process.pid) for gateway in gateways) - before) / 3
        if idle < 0.05 * len(gateways) or time.monotonic() > until:
            return idle


def measure(gateways, database, sessions, turns, rate=None):
    """Measures turns. With a rate, four talkers send so many per second; without one, turns follow each other."""
    postmaster = int((database.folder / "one/postmaster.pid").read_text().split()[0]) if database else None
    before = [cpu_of(gateway.process.pid) for gateway in gateways]
    database_before = cpu_of_family(postmaster) if postmaster else 0
    begun = time.monotonic()
    if rate:
        parts = [sessions[part::4] for part in range(4)]
        talkers = [Talker(gateways[part % len(gateways) :] + gateways[: part % len(gateways)], turns // 4, own, begun + part / rate, 4 / rate)
                   for part, own in enumerate(parts)]  # fmt: skip
    else:
        talkers = [Talker(gateways, turns, sessions)]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join()
    took = time.monotonic() - begun
    times = [time for talker in talkers for time in talker.times]
    failed = sum(talker.failed for talker in talkers)
    assert not failed, f"{failed} of {len(times)} turns failed"
    used = [cpu_of(gateway.process.pid) - was for gateway, was in zip(gateways, before)]
    return {
        "turns": len(times),
        "seconds": round(took, 1),
        "cpu": round(1000 * sum(used) / len(times), 2),
        "databaseCpu": round(1000 * (cpu_of_family(postmaster) - database_before) / len(times), 2) if postmaster else None,
        "p50": round(1000 * statistics.median(times), 1),
        "p95": round(1000 * sorted(times)[int(0.95 * len(times))], 1),
    }
