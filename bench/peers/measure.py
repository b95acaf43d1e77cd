"""Measures one server: starts it, lets it rest, asks it, and looks at its CPU time and memory."""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import client
import procs

# The scripted model's default answer.
WORDS = "ok"


def measured_or_why(server, arguments):
    """Returns the server's figures, or the reason why it could not be measured."""
    row = {"name": server.name, "note": server.note}
    print(f"… {server.name}", file=sys.stderr, flush=True)
    try:
        server.install(arguments.scratch)
        row["version"] = server.version()
        with tempfile.TemporaryDirectory(prefix="onyx-bench-") as work, Model(arguments.model) as model:
            row.update(measure(server, Path(work), model, arguments))
    except Exception as error:  # when one server fails, the others are still measured
        row["not_run"] = why(error)
    return row


def why(error):
    said = " ".join(str(error).split())[:300]
    # The message of these errors says what went wrong; that of others is useless without the kind.
    if said and isinstance(error, (RuntimeError, OSError, client.Failed, subprocess.SubprocessError)):
        return said
    return f"{type(error).__name__}: {said}"


def measure(server, work, model, arguments):
    port = free_port()
    command, environment = server.start(work, port, model.url)
    log = work / "bench.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(command, env={**os.environ, **environment}, cwd=work, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output, start_new_session=True)
        try:
            wait_until_healthy(server, process, port, log)
            figures = {"start_cpu_ms": procs.cpu_seconds(process.pid) * 1000}
            time.sleep(arguments.idle_seconds)
            figures["idle_memory_mb"] = procs.memory_bytes(process.pid) / 1e6
            for number in range(arguments.warm_up):
                client.turn(port, *server.ask(number), WORDS)
            figures["turns"] = turns = arguments.turns * server.turns_times
            before = procs.cpu_seconds(process.pid)
            asked = range(arguments.warm_up, arguments.warm_up + turns)
            firsts = [client.turn(port, *server.ask(number), WORDS) for number in asked]
            figures["cpu_per_turn_ms"] = (procs.cpu_seconds(process.pid) - before) * 1000 / turns
            figures["first_word_ms"] = statistics.median(firsts) * 1000
            figures["memory_after_mb"] = procs.memory_bytes(process.pid) / 1e6
            figures["body_bytes"] = model.last_body_bytes()
            return {key: round(value, 3) for key, value in figures.items()}
        finally:
            end(process)


def wait_until_healthy(server, process, port, log):
    deadline = time.monotonic() + server.start_seconds
    while not client.healthy(port, server.health):
        if process.poll() is not None or time.monotonic() > deadline:
            said = log.read_text(errors="replace").strip()[-250:]
            raise RuntimeError(f"it did not become healthy: {said}")
        time.sleep(0.02)


def end(process):
    """Ends the server's process group, which contains no other process."""
    for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            process.wait(patience)
            return
        except ProcessLookupError:
            process.wait()
            return
        except subprocess.TimeoutExpired:
            continue


class Model:
    """The scripted model, a fresh one for each server."""

    def __init__(self, binary):
        self.binary = binary

    def __enter__(self):
        self.process = subprocess.Popen([self.binary], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def last_body_bytes(self):
        address = self.url.removesuffix("/v1") + "/_requests"
        with urllib.request.urlopen(address, timeout=10) as answer:
            headers = dict(json.load(answer)[-1]["headers"])
        return int(headers["content-length"])


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
