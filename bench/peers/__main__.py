"""Measures Onyx and its peers alike and prints a table: `python3 bench/peers --onyx BIN --model BIN`."""

import argparse
import datetime
import json
import os
import platform
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
import report
import servers

IDLE_SECONDS = 5


def main():
    arguments = parse()
    ours = [kind(arguments.onyx, arguments.commit) for kind in (servers.Onyx, servers.OnyxPassThrough)]
    everybody = [*ours, servers.Nanobot(), servers.LiteLlm(), servers.OpenClaw()]
    wanted = arguments.only.split(",") if arguments.only else None
    chosen = [server for server in everybody if wanted is None or server.name.split(",")[0] in wanted]
    measured = [measured_or_why(server, arguments) for server in chosen]
    result = {
        "date": datetime.date.today().isoformat(),
        "commit": arguments.commit,
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "turns": arguments.turns,
        "warm_up": arguments.warm_up,
        "idle_seconds": IDLE_SECONDS,
        "note": arguments.note,
        "servers": measured,
    }
    text = report.table(result)
    print(text)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "peers.json").write_text(json.dumps(result, indent=2) + "\n")
        (arguments.out / "peers.md").write_text(text)
    # A peer that does not run is told; ours must.
    return int(any(row["name"].startswith("onyx") and "not_run" in row for row in measured))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--onyx", required=True, help="the release binary")
    parser.add_argument("--model", required=True, help="the scripted-model binary")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "onyx-bench-peers",
                        help="where peers are installed; never inside the repository")
    parser.add_argument("--only", help="names with commas between; everybody unless given")
    parser.add_argument("--note", help="what a reader must know of this run")
    parser.add_argument("--out", type=Path, help="where peers.json and peers.md are written")
    arguments = parser.parse_args()
    # Each server starts in a folder of its own.
    arguments.onyx, arguments.model = os.path.abspath(arguments.onyx), os.path.abspath(arguments.model)
    return arguments


def measured_or_why(server, arguments):
    """Its figures; or, where it could not be measured, why."""
    row = {"name": server.name, "note": server.note}
    print(f"… {server.name}", file=sys.stderr, flush=True)
    try:
        server.install(arguments.scratch)
        row["version"] = server.version()
        with tempfile.TemporaryDirectory(prefix="onyx-bench-") as work, Model(arguments.model) as model:
            row.update(measure(server, Path(work), model, arguments))
    except (RuntimeError, OSError, client.Failed, subprocess.SubprocessError) as error:
        row["not_run"] = " ".join(str(error).split())[:300]
    return row


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
            time.sleep(IDLE_SECONDS)
            figures["idle_memory_mb"] = procs.memory_bytes(process.pid) / 1e6
            for number in range(arguments.warm_up):
                client.turn(port, *server.ask(number))
            figures["turns"] = turns = arguments.turns * server.turns_times
            before = procs.cpu_seconds(process.pid)
            firsts = [client.turn(port, *server.ask(arguments.warm_up + number))[0] for number in range(turns)]
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
    """Its whole process group, which nobody else is in."""
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


if __name__ == "__main__":
    sys.exit(main())
