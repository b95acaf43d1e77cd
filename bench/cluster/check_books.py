"""Checks the books of runs: what they cost, and that nothing of a run happens after its end."""

import json

from model import INPUT, OUTPUT

# A gateway looks at its life immediately before an effect; this is how long an effect may take from there to its record.
SLACK = 2_000


def check_budgets(sent, books, given):
    """Checks that tokens are counted once: those of each run are those that the model gave, and people's sums are those of runs."""
    wrong, runs = [], {run["run"]: run for run in books.runs}
    for message in sent:
        run = runs.get(message.run)
        if message.kind == "file" or run is None:
            continue
        counted, told = (run["input"], run["output"]), (INPUT * given[message.word], OUTPUT * given[message.word])
        if counted > told or (message.acknowledged and counted != told):
            wrong.append(f"run {message.run} of {message.word} counts {counted} tokens, and the model gave {told}")
    for kind in ("input", "output"):
        booked, ran = sum(row[kind] for row in books.usage), sum(run[kind] for run in books.runs if run["status"])
        if booked != ran:
            wrong.append(f"{booked} tokens of {kind} are booked, and runs count {ran}")
    return wrong


def check_fences(logs, books, calls):
    """Checks that a run whose end is written does nothing more: no line, no call of a tool, no row of the audit."""
    ends = {run["run"]: run["ended_at"] for run in books.runs if run["ended_at"]}
    wrong, run_of = [], {}
    for lines in logs.values():
        for line in lines:
            run = line.turn.get("run_id")
            if line.turn["type"] == "tool_call" and run in ends:
                run_of[key_of(line.turn)] = run
    for call in calls:
        end = ends.get(run_of.get(call.key))
        # A person may approve a draft long after its run.
        if call.tool == "tally" and end is not None and call.at > end + SLACK:
            wrong.append(f"{call.key} was done {call.at - end} ms after the end of its run {run_of[call.key]}")
    for row in books.audit:
        end = ends.get(row["run"])
        by_itself = row["decision"] == "allow" and not row["tool"].endswith("/send")
        if end is not None and by_itself and row["ts"] > end + SLACK:
            wrong.append(f"run {row['run']} used {row['tool']} {row['ts'] - end} ms after its end: row {row['seq']} of the audit")
    return wrong


def key_of(turn):
    arguments = turn.get("input")
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    return (arguments or {}).get("key")


def check_audit(gateways, asked):
    """Checks that every gateway finds every chain of the audit whole."""
    wrong = []
    for gateway in gateways:
        status, text = asked(gateway, "/api/admin/audit/verify")
        if status != 200:
            wrong.append(f"{gateway.name} cannot verify the audit: {status} {text}")
            continue
        broken = [chain for chain in json.loads(text)["chains"] if not chain["whole"]]
        wrong += [f"the audit of {chain['person']} is broken at {chain.get('broken_at')} through {gateway.name}" for chain in broken]
    return wrong
