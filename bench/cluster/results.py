"""The file of results: one round a line, so that rounds can be played in pieces."""

import json
import statistics


def read(path):
    return json.loads(path.read_text())["rounds"] if path.exists() else []


def next_seed(rounds):
    return max((played["seed"] for played in rounds), default=0) + 1


def add(path, played):
    rounds = [*read(path), played]
    lines = ",\n    ".join(json.dumps(line) for line in rounds)
    summary = json.dumps(summarise(rounds), indent=2).replace("\n", "\n  ")
    path.write_text(f'{{\n  "summary": {summary},\n  "rounds": [\n    {lines}\n  ]\n}}\n')


def summarise(rounds):
    faults = {}
    for played in rounds:
        for fault, count in played["faults"].items():
            faults[fault] = faults.get(fault, 0) + count
    failovers = [took for played in rounds for took in played["failoverSeconds"]]
    drains = [took for played in rounds for took in played["drainSeconds"]]
    return {
        "rounds": len(rounds),
        "nextSeed": next_seed(rounds),
        "messages": sum(played["messages"] for played in rounds),
        "acknowledged": sum(played["acknowledged"] for played in rounds),
        "violations": sum(played["violations"] for played in rounds),
        "answersLost": sum(played["answersLost"] for played in rounds),
        "faults": dict(sorted(faults.items())),
        "failoverSeconds": spread(failovers),
        "drainSeconds": spread(drains),
    }


def spread(times):
    if not times:
        return None
    return {"measured": len(times), "median": round(statistics.median(times), 1), "longest": max(times)}
