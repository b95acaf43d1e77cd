"""A model that answers with the requested word, in pieces; where asked, it first calls a tool: one that writes the word down,
or one with an effect outside."""

import collections
import http.server
import itertools
import json
import re
import threading
import time

# The tool that a message of each kind asks for, by the beginning of the name under which it is offered. `beat` is the job's: each of its firings gets a key.
TOOLS = {"note": "memory_write", "tally": "mcp_outside_tally", "send": "mcp_outside_send", "beat": "mcp_outside_tally"}
# The tokens that every streamed answer reports.
INPUT, OUTPUT = 7, 3
# How many streamed answers there were with their tokens, by word.
GIVEN = collections.Counter()
BEATS = itertools.count()


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.whole({"object": "list", "data": [{"id": "some-model", "object": "model"}]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages = request["messages"]
        last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=0)
        asked = re.findall(r"(word|note|tally|send|beat)-(\w+)-(\d+)", json.dumps(messages[last]))
        wrote = any(message["role"] == "tool" for message in messages[last:])
        kind, word, pause = asked[-1] if asked else ("word", "none", "0")
        if not request.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": "A title"}, "finish_reason": "stop"}
            return self.whole({"id": "m", "object": "chat.completion", "choices": [choice]})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        try:
            if kind in TOOLS and not wrote and (name := tool_name(request, TOOLS[kind])):
                key = f"beat{next(BEATS)}" if kind == "beat" else word
                arguments = json.dumps({"text": f"kept-{word}", "heading": "Facts"} if kind == "note" else {"key": key})
                call = {"index": 0, "id": f"call_{key}", "type": "function"}
                self.event({"tool_calls": [{**call, "function": {"name": name, "arguments": arguments}}]})
                self.event({}, "tool_calls")
            else:
                for piece in ["said-", word[: len(word) // 2], word[len(word) // 2 :]]:
                    self.event({"content": piece})
                    time.sleep(int(pause) / 1000)
                self.event({}, "stop")
            self.tokens(word)
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass  # The process that asked was killed.
        self.close_connection = True

    def whole(self, answer):
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def event(self, delta, finish=None):
        chunk = {"id": "m", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def tokens(self, word):
        # Counted before they are sent: what a gateway counts was given.
        GIVEN[word] += 1
        usage = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
        chunk = {"id": "m", "object": "chat.completion.chunk", "choices": [], "usage": usage}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())


def tool_name(request, beginning):
    """Returns the name under which the request offers a tool, or `None`. Names of servers' tools end with a mark."""
    names = [tool["function"]["name"] for tool in request.get("tools") or []]
    return next((name for name in names if name.startswith(beginning)), None)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # The process that asked was killed.


def start():
    """Starts a model and returns its base URL."""
    server = Server(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"
