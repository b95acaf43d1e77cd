"""Checks what was done outside: by calls of tools, by drafts that a person decided, and by the times of a job."""

import collections
import json

# Drafts that were approved: what they hold was done, or may have been.
APPROVED = {"applying", "applied", "failed", "unknown"}
# What a time of a job may be after everything has come to rest. It fired where it has a run.
AT_REST = {"done", "nothing", "failed", "interrupted", "replaced", "skipped", "missed"}


def check_kinds(sent, enough=15):
    """Checks that something of each kind was acknowledged: a kind that always fails tests nothing."""
    times = collections.Counter(message.kind for message in sent)
    worked = {message.kind for message in sent if message.acknowledged}
    return [f"none of {count} messages of the kind {kind} was acknowledged" for kind, count in times.items() if count >= enough and kind not in worked]


def check_calls(sent, calls):
    """Checks that no tool was called twice, and that what a client was told was done, was done."""
    times = collections.Counter(call.key for call in calls)
    wrong = [f"{key} was done {count} times" for key, count in times.items() if count > 1]
    for message in sent:
        if message.kind in ("tally", "send") and message.acknowledged and message.wrote and times[message.word] != 1:
            wrong.append(f"{message.word} was told as done, and was done {times[message.word]} times")
    return wrong


def check_drafts(decisions, drafts, calls):
    """Checks that each draft was decided once, and that what it holds was done only after an approval."""
    wrong, by_draft = [], collections.defaultdict(set)
    for decision in decisions:
        if decision.acknowledged:
            by_draft[decision.draft].add((decision.verdict, decision.decider))
    done = collections.Counter(call.key for call in calls if call.tool == "send")
    known = {row["draft"] for row in drafts}
    wrong += [f"draft {draft} was decided and is not there" for draft in by_draft if draft not in known]
    approved = set()
    for row in drafts:
        draft, state, key = row["draft"], row["state"], json.loads(row["input"] or "{}").get("key")
        told = by_draft[draft]
        if len(told) > 1:
            wrong.append(f"draft {draft} was decided {len(told)} times: {sorted(told)}")
        if state == "applying":
            wrong.append(f"draft {draft} of {key} is still being applied")
        if any(verdict == "reject" for verdict, _ in told) and state != "rejected":
            wrong.append(f"draft {draft} was rejected and is {state}")
        if any(verdict == "approve" for verdict, _ in told) and state not in APPROVED:
            wrong.append(f"draft {draft} was approved and is {state}")
        if state in APPROVED:
            approved.add(key)
        if state == "applied" and done[key] != 1:
            wrong.append(f"draft {draft} is applied and {key} was done {done[key]} times")
    wrong += [f"{key} was done without an approval" for key in done if key not in approved]
    return wrong


def check_slots(slots, runs, calls):
    """Checks that each time of a job fired at most once, and that nothing fired beside them."""
    wrong, fired = [], collections.Counter(slot["run"] for slot in slots if slot["run"])
    wrong += [f"run {run} is of {count} times of a job" for run, count in fired.items() if count > 1]
    for slot in slots:
        if slot["state"] not in AT_REST:
            wrong.append(f"{slot['job']} at {slot['scheduled_at']} is still {slot['state']}")
    times = collections.Counter((slot["job"], slot["scheduled_at"]) for slot in slots)
    wrong += [f"{job} at {at} is there {count} times" for (job, at), count in times.items() if count > 1]
    wrong += [f"run {run['run']} of a job is of none of its times" for run in runs if run["origin"] == "job" and run["run"] not in fired]
    beats = [call for call in calls if call.key.startswith("beat")]
    if len(beats) > len(fired):
        wrong.append(f"the job's tool was called {len(beats)} times, and {len(fired)} of its times fired")
    return wrong
