"""Measures Onyx and its peers alike and prints a table: `python3 bench/peers --onyx BIN --model BIN`."""

import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

import measure
import report
import servers


def main():
    arguments = parse()
    ours = [kind(arguments.onyx, arguments.commit) for kind in (servers.Onyx, servers.OnyxPassThrough)]
    everybody = [*ours, servers.Nanobot(), servers.LiteLlm(), servers.OpenClaw()]
    wanted = arguments.only.split(",") if arguments.only else None
    chosen = [server for server in everybody if wanted is None or server.name.split(",")[0] in wanted]
    result = measured(chosen, arguments)
    text = report.table(result)
    print(text)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "peers.json").write_text(json.dumps(result, indent=2) + "\n")
        (arguments.out / "peers.md").write_text(text)
    # A peer that does not run is reported; Onyx must run.
    return int(any(row["name"].startswith("onyx") and "not_run" in row for row in result["servers"]))


def measured(chosen, arguments):
    rows = [measure.measured_or_why(server, arguments) for server in chosen]
    return {
        "date": datetime.date.today().isoformat(),
        "commit": arguments.commit,
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "turns": arguments.turns,
        "warm_up": arguments.warm_up,
        "idle_seconds": arguments.idle_seconds,
        "note": arguments.note,
        "servers": rows,
        "targets": report.targets(rows),
    }


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--onyx", required=True, help="the release binary")
    parser.add_argument("--model", required=True, help="the scripted-model binary")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--idle-seconds", type=float, default=5, help="from healthy to the look at its memory")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "onyx-bench-peers",
                        help="where peers are installed; never inside the repository")
    parser.add_argument("--only", help="names with commas between; everybody unless given")
    parser.add_argument("--note", help="what a reader must know of this run")
    parser.add_argument("--out", type=Path, help="where peers.json and peers.md are written")
    arguments = parser.parse_args()
    # Each server starts in a folder of its own.
    arguments.onyx, arguments.model = os.path.abspath(arguments.onyx), os.path.abspath(arguments.model)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
