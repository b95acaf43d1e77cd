"""The script of the provider behind Onyx: each rule answers requests whose body holds its words."""

import copy

TAIL = " and what follows never arrives" * 200


def text(*pieces):
    steps = [{"text": piece} for piece in pieces]
    usage = {"usage": {"input": 10, "output": 5}}
    return {"script": {"steps": [*steps, usage, {"finish": "stop"}]}}


def call(name, arguments, *, identity="call_1"):
    """Returns a tool call whose arguments come in two pieces."""
    middle = len(arguments) // 2
    calls = [{"id": identity, "name": name, "pieces": [arguments[:middle], arguments[middle:]]}]
    usage = {"usage": {"input": 10, "output": 5}}
    return {"script": {"steps": [{"tool_calls": calls}, usage, {"finish": "tool_calls"}]}}


def limited(seconds):
    error = {"kind": "rate_limited", "message": "Too many requests for this model."}
    return {"error": error, "headers": [["retry-after", str(seconds)], ["x-ratelimit-remaining-requests", "0"]]}


CUT_OFF = {"script": {"steps": [{"text": "half"}, {"text": TAIL}]}, "fault": {"close_at": 4000}}
ENDLESS = {"script": {"steps": [{"text": "Hel"}, "hang"]}}


def rule(answer, *contains, times=None):
    return {"contains": list(contains), "answer": answer, "times": times}


# The first rule that fits decides. A tool's result is in the same request as its question.
RULES = [
    rule(text("It is sunny."), "25 degrees"),
    rule(call("weather", '{"town":"Rome"}'), "what is the weather?"),
    rule(limited(45), "one question too many"),
    rule(CUT_OFF, "break off"),
    rule(ENDLESS, "never end"),
]


def script(*rules):
    """Returns a script with these rules first, then those of all clients."""
    return copy.deepcopy({"rules": [*rules, *RULES], "default": text("Hel", "lo ", "there.")})
