"""The client that asks every server in the same way: a message, streamed, in a session of its own."""

import http.client
import json
import time


class Failed(Exception):
    pass


def healthy(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except OSError:
        return False
    finally:
        connection.close()


def turn(port, path, headers, body, expected):
    """Sends one message; returns the seconds to the first word of the answer. The answer must be what the model said,
    because an error that is reported as text is no turn."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=180)
    began = time.perf_counter()
    first, words = None, []
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json", **headers})
        response = connection.getresponse()
        if response.status != 200:
            raise Failed(f"HTTP {response.status}: {response.read(300).decode(errors='replace')}")
        for line in response:
            word = _word(line.strip())
            if word:
                first = first or time.perf_counter() - began
                words.append(word)
    except OSError as error:
        raise Failed(f"no answer: {error}") from error
    finally:
        connection.close()
    if first is None:
        raise Failed("the answer had no words")
    said = "".join(words).strip()
    if said != expected:
        raise Failed(f"it answered {said!r} where the model had said {expected!r}")
    return first


def _word(line):
    """Returns the text of an OpenAI chunk or of an NDJSON line, if it has any."""
    if line.startswith(b"data:"):
        line = line[5:].strip()
    if not line.startswith(b"{"):
        return None
    event = json.loads(line)
    if "choices" in event:
        choices = event["choices"]
        return choices[0].get("delta", {}).get("content") if choices else None
    return event.get("delta") if event.get("type") == "text" else None
