"""A model that answers with the requested word, in pieces; where asked, it first calls a tool that writes the word down."""

import http.server
import json
import re
import threading
import time


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
        asked = re.findall(r"(word|note)-(\w+)-(\d+)", json.dumps(messages[last]))
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
            if kind == "note" and not wrote and request.get("tools"):
                arguments = json.dumps({"text": f"kept-{word}", "heading": "Facts"})
                call = {"index": 0, "id": f"call_{word}", "type": "function"}
                self.event({"tool_calls": [{**call, "function": {"name": "memory_write", "arguments": arguments}}]})
                self.event({}, "tool_calls")
            else:
                for piece in ["said-", word[: len(word) // 2], word[len(word) // 2 :]]:
                    self.event({"content": piece})
                    time.sleep(int(pause) / 1000)
                self.event({}, "stop")
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
