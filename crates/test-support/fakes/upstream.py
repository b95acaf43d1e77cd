"""Asks a model, for the programs of this folder whose script says that a model answers instead of it."""

import json
import urllib.request


def ask_upstream(address, messages, tools):
    """Returns the answer of a model with OpenAI's chat API, so that the same model can answer through every runtime."""
    offers = [{"type": "function", "function": tool} for tool in tools]
    body = json.dumps({"model": "m", "stream": True, "messages": messages, "tools": offers}).encode()
    request = urllib.request.Request(address + "/chat/completions", body, {"content-type": "application/json"})
    text, calls = "", {}
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        for line in answer:
            line = line.decode().strip()
            if not line.startswith("data: {"):
                continue
            delta = (json.loads(line[6:]).get("choices") or [{}])[0].get("delta") or {}
            text += delta.get("content") or ""
            for piece in delta.get("tool_calls") or []:
                call = calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] += piece.get("id") or ""
                for field in ("name", "arguments"):
                    call[field] += piece["function"].get(field) or ""
    found = [{**call, "arguments": json.loads(call["arguments"] or "{}")} for call in calls.values()]
    return {"text": text, "calls": found}


def asked_for(text, calls):
    """Returns an earlier answer of the model as a message of the conversation."""
    wire = [{"id": call["id"], "type": "function",
             "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}} for call in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": wire} if wire else {})}
