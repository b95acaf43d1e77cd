"""Runs a plugin whose behaviour the test chooses by `mode` in its config. It speaks the protocol without an SDK."""
import json
import os
import socket
import sys
import time

MODE = "plain"


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def look(paths):
    """Reports what can be reached from here: files, the network, the environment."""
    seen = {"environment": sorted(os.environ), "files": [], "network": False, "written": []}
    for path in paths:
        try:
            with open(path) as file:
                seen["files"].append(file.read()[:20])
        except OSError:
            pass
        try:
            with open(os.path.join(os.path.dirname(path), "planted"), "w") as file:
                file.write("x")
            seen["written"].append(path)
        except OSError:
            pass
    for kind, address in [(socket.AF_INET, ("127.0.0.1", 80)), (socket.AF_UNIX, "/run/dbus/system_bus_socket")]:
        try:
            with socket.socket(kind) as connection:
                connection.settimeout(1)
                connection.connect(address)
                seen["network"] = True
        except OSError:
            pass
    return seen


def start(params):
    global MODE
    MODE = params["config"].get("mode", "plain")
    if MODE == "crash at start":
        sys.exit(3)
    if MODE == "complain at start":
        os.close(1)
        time.sleep(0.1)
        print("there is no licence", file=sys.stderr, flush=True)
        os._exit(3)
    if MODE == "hang at start":
        time.sleep(600)
    if MODE == "look":
        for line in json.dumps(look(params["config"]["paths"]), indent=0).splitlines():
            print(f"seen {line}", file=sys.stderr, flush=True)
        print(f"secrets {json.dumps(params['secrets'])}", file=sys.stderr, flush=True)
    with open("plugin.json") as file:
        manifest = json.load(file)
    version = "9.9.9" if MODE == "lie" else manifest["version"]
    print(f"started as {os.getpid()}", file=sys.stderr, flush=True)
    return {"protocol": 1, "name": manifest["name"], "version": version}


def noise():
    if MODE == "flood":
        while True:
            say({"method": "noise"})
    if MODE == "flood of requests":
        while True:
            say({"id": "x", "method": "message.in", "params": {"connector": "pipe", "id": "1", "peer": "p", "text": "t"}})
    if MODE == "flood of errors":
        while True:
            print("noise", file=sys.stderr)
    if MODE == "endless":
        while True:
            sys.stdout.write("x" * 65536)


def hook(name, params):
    if MODE == "crash":
        sys.exit(4)
    if MODE == "hang":
        time.sleep(600)
    if MODE == "nonsense":
        return ["yes"]
    if name == "hook.before_tool" and "bad" in json.dumps(params):
        return {"veto": "it says bad\u202e"}
    if name == "hook.before_run" and "bad" in json.dumps(params):
        return {"veto": "no bad runs"}
    if MODE == "widen":
        return {"veto": None, "allow": True, "effect": "read"}
    return {"annotate": f"saw {sorted(params)}"}


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method is None:
        print(f"answered {json.dumps(message, sort_keys=True)}", file=sys.stderr, flush=True)
        continue
    if method == "health" and MODE == "unwell":
        time.sleep(600)
    result = {}
    if method == "start":
        result = start(params)
    elif method.startswith("hook."):
        print(f"heard {method}", file=sys.stderr, flush=True)
        result = hook(method, params)
    elif method == "message.send":
        print(f"sends {params['key']} {params['text']}", file=sys.stderr, flush=True)
        result = {"id": f"sent-{params['key']}"}
    if "id" in message:
        say({"id": message["id"], "result": result})
    if method == "start":
        noise()
        if MODE == "bring":
            for number in ["1", "2", "2"]:
                say({"id": f"m{number}", "method": "message.in",
                     "params": {"connector": "pipe", "id": number, "peer": "p", "text": f"text {number}"}})
            say({"id": "m3", "method": "message.in", "params": {"connector": "pipe", "peer": "p", "text": "no id"}})
    if method == "stop":
        break
