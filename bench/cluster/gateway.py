"""A gateway as a process with a home of its own."""

import http.client
import json
import os
import signal
import subprocess
import time

from servers import free_port

MASTER_KEY = "5e1f0000000000000000000000000000000000000000000000000000000000aa"
TOKEN = "onyx_sk_of_the_cluster"


def config(model, outside=None):
    """Returns the part of the config that all gateways of a round share, with the tools of an address where one is given."""
    tools = {"mcp": {"servers": {"outside": {"url": outside, "effects": {"tally": "write"}}}}} if outside else {}
    return {
        "gateway": {"auth": {"mode": "token", "token": TOKEN}},
        "providers": {"mine": {"kind": "openai", "baseUrl": model, "apiKey": "${MY_KEY}",
                               "models": [{"id": "some-model", "price": {"input": 0, "output": 0}}]}},
        "agents": {"list": [{"id": "main", "default": True, "model": "mine/some-model", "tier": "act"}]},
        **tools,
    }  # fmt: skip


def storage(database, bucket, objects_port):
    """Returns `storage` of a config; the addresses may be those of links."""
    s3 = {"endpoint": f"http://127.0.0.1:{objects_port}", "accessKeyId": "test", "secretAccessKey": "test", "pathStyle": True}
    return {"database": database + "?sslmode=disable", "objects": f"s3://{bucket}/onyx", "s3": s3}


class Gateway:
    def __init__(self, name, folder, config, binary):
        self.name, self.folder, self.binary = name, folder, binary
        self.port = free_port()
        self.home = folder / name
        self.home.mkdir(mode=0o700)
        config = json.loads(json.dumps(config))
        config["gateway"] |= {"id": name, "port": self.port}
        (self.home / "onyx.json").write_text(json.dumps(config))
        self.environment = os.environ | {
            "ONYX_HOME": str(self.home), "ONYX_KEYS": str(folder / "keys"), "ONYX_MASTER_KEY": MASTER_KEY, "MY_KEY": "k",
        }  # fmt: skip
        self.process = None
        self.log = folder / f"{name}.log"

    def run(self, *arguments):
        told = subprocess.run([self.binary, *arguments], env=self.environment, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr

    def start(self, patience=30):
        """Starts the gateway, which must answer in time. A start that fails because a server is away is repeated."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if self.process is None or self.process.poll() is not None:
                with open(self.log, "a", encoding="utf-8") as log:
                    command = [self.binary, "serve"]
                    self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            if self.request("GET", "/ready")[0] == 200:
                return
            time.sleep(0.1)
        raise RuntimeError(f"gateway {self.name} did not start: {self.log.read_text()[-2000:]}")

    def request(self, method, path, body=None, limit=10):
        """Returns status and text; status 0 if the answer did not end. Bytes are sent as they are, other bodies as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit)
        try:
            headers = {"authorization": f"Bearer {TOKEN}"}
            if body is not None and not isinstance(body, bytes):
                body, headers["content-type"] = json.dumps(body), "application/json"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()
