"""A server that streams what it is told to: `peer.py PORT LINE…`."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(b"fine")

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.answer("\n\n".join(sys.argv[2:]).encode())

    def answer(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
