"""The figures as a table to read."""

ROWS = [
    ("turns", "N", "turns", 0),
    ("cpu_per_turn_ms", "CPU per turn", "ms", 2),
    ("first_word_ms", "first word, median", "ms", 1),
    ("start_cpu_ms", "CPU from start to healthy", "ms", 0),
    ("idle_memory_mb", "idle memory (PSS)", "MB", 1),
    ("memory_after_mb", "memory after the turns (PSS)", "MB", 1),
    ("body_bytes", "request body for \"hello\"", "bytes", 0),
]

# Each target: the key, the peer, and how many times Onyx's value the peer's must be at least.
TARGETS = [("cpu_per_turn_ms", "nanobot", 50)]

HOW = """\
How it was measured: the servers run one after the other, each in an empty home, with the same scripted model (it answers
`ok` at once) as its provider, and are asked by the same client (`bench/peers/client.py`), one message after the other,
each in a new session, streamed; Onyx's agent through `/api/agent/chat-stream`, its pass-through and the others through
`/v1/chat/completions`. One that answers anything but the model's word is not measured. CPU is user and system time of
the process with all it started, from `/proc`, over N turns after {warm} to warm up. First word: from sending the
request to the first text of the answer. Idle memory: proportional set size {idle:g} s after it was healthy. The body is
what reached the model. Other work on the machine moves the latencies, hardly the CPU time. Made by `make bench-peers`;
nothing of the peers is in this repository.
"""


def targets(servers):
    """Returns each target with the measured factor and whether it meets the target."""
    against = _ours(servers)
    judged = []
    for key, peer, wanted in TARGETS:
        server = next((server for server in servers if server["name"] == peer), {})
        times = _times(server, against.get(peer, {}), key)
        verdict = "not measured" if times is None else "met" if times >= wanted else "MISSED"
        judged.append({"key": key, "peer": peer, "wanted": wanted, "times": times and round(times, 1), "verdict": verdict})
    return judged


def _ours(servers):
    """Returns the row of Onyx that each peer is compared with: as a proxy for a proxy, as an agent for an agent."""
    named = {server["name"]: server for server in servers}
    agent, proxy = named.get("onyx", {}), named.get("onyx, pass-through", {})
    return {name: proxy if name == "litellm" and proxy else agent for name in named}


def _times(server, ours, key):
    return server[key] / ours[key] if server.get(key) is not None and ours.get(key) else None


def table(report):
    servers = report["servers"]
    ours = _ours(servers)
    verdicts = {(target["key"], target["peer"]): target for target in report["targets"]}
    lines = [
        "# Onyx beside its peers",
        "",
        f"{report['date']}, commit {report['commit']}, {report['machine']}.",
        "In brackets: how many times ours (of LiteLLM: how many times our pass-through).",
        "",
        "| | " + " | ".join(server["name"] for server in servers) + " |",
        "|---|" + "---|" * len(servers),
        "| version | " + " | ".join(server.get("version", "–") for server in servers) + " |",
        "| what it does | " + " | ".join(server["note"] for server in servers) + " |",
    ]
    for key, title, unit, digits in ROWS:
        cells = [_cell(server, ours[server["name"]], key, digits, verdicts) for server in servers]
        lines.append(f"| {title}, {unit} | " + " | ".join(cells) + " |")
    missing = [f"- {server['name']}: not run: {server['not_run']}" for server in servers if "not_run" in server]
    note = [f"Note: {report['note']}", ""] if report.get("note") else []
    how = HOW.format(warm=report["warm_up"], idle=report["idle_seconds"])
    return "\n".join(lines + [""] + missing + ([""] if missing else []) + note + [how])


def _cell(server, ours, key, digits, verdicts):
    target = verdicts.get((key, server["name"]))
    verdict = f"; at least {target['wanted']}×: {target['verdict']}" if target else ""
    if "not_run" in server:
        return f"not run{verdict}"
    if key == "start_cpu_ms" and server[key] < 10:
        return "< 10"
    value = f"{server[key]:,.{digits}f}"
    if key == "turns" or server["name"].startswith("onyx"):
        return value
    times = _times(server, ours, key)
    return f"{value} ({times:,.1f}×{verdict})" if times else f"{value}{verdict}"
