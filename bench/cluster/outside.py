"""The world outside of the gateways: an MCP server whose tools have effects. It counts what was done, by key."""

import collections
import http.server
import json
import threading
import time

# What was done: the key that the model gave the call, the tool, and the time in milliseconds.
Call = collections.namedtuple("Call", "key tool at")

# `tally` is done at once; `send` waits for a person's approval.
TOOLS = ["tally", "send"]
ARGUMENTS = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"], "additionalProperties": False}


class Outside:
    """Runs the server for as long as the process runs. One is enough for all rounds: keys are never used again."""

    def __init__(self):
        self.lock, self.calls = threading.Lock(), []
        outside = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer(405)

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if "id" not in message:
                    return self.answer(202)
                self.answer(200, {"jsonrpc": "2.0", "id": message["id"], **outside.reply(message)})

            def answer(self, status, value=None):
                body = b"" if value is None else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass  # The gateway that asked was killed.

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):
                pass  # The gateway that asked was killed.

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"

    def reply(self, message):
        """Returns the result of a request, or an error where its method is not known."""
        params = message.get("params") or {}
        match message["method"]:
            case "initialize":
                about = {"serverInfo": {"name": "outside", "version": "1"}, "capabilities": {"tools": {}}}
                return {"result": {"protocolVersion": params["protocolVersion"], **about}}
            case "ping":
                return {"result": {}}
            case "tools/list":
                tools = [{"name": name, "description": f"Does a {name} that can be counted.", "inputSchema": ARGUMENTS} for name in TOOLS]
                return {"result": {"tools": tools}}
            case "tools/call" if params["name"] in TOOLS:
                return {"result": {"content": [{"type": "text", "text": self.perform(params["arguments"]["key"], params["name"])}]}}
        return {"error": {"code": -32601, "message": "method not found"}}

    def perform(self, key, tool):
        with self.lock:
            self.calls.append(Call(key, tool, int(time.time() * 1000)))
        return f"did-{key}"

    def done(self):
        with self.lock:
            return list(self.calls)


def accept(gateway):
    """Lets agents use the tools, as a person does: each is accepted as it describes itself."""
    status, text = gateway.request("POST", "/api/admin/mcp/outside/test", {}, 30)
    assert status == 200, f"the tools outside cannot be asked for: {status} {text}"
    hashes = {tool["name"]: tool["hash"] for tool in json.loads(text)["tools"]}
    assert sorted(hashes) == sorted(TOOLS), text
    status, text = gateway.request("POST", "/api/admin/mcp/outside/accept", {"tools": hashes})
    assert status == 200, f"the tools outside cannot be accepted: {status} {text}"
