"""Connects a plugin with Onyx. One file without dependencies: copy it into your package.

    from onyx_plugin import Plugin, Veto

    plugin = Plugin()

    @plugin.hook("before_tool")
    def look(event):
        if "secret" in json.dumps(event.get("arguments")):
            raise Veto("it holds a secret")

    plugin.run()
"""

import json
import os
import sys
import threading
import traceback

PROTOCOL = 1
RESEND_SECONDS = 10


class Veto(Exception):
    """Raised by a hook that may veto; the message is the reason."""


class Refused(Exception):
    """Raised by a sender for a message that can never be sent."""


class Plugin:
    def __init__(self):
        self.config, self.secrets = {}, {}
        self._hooks, self._senders, self._typing = {}, {}, None
        self._started = []
        self._lock, self._next, self._waiting = threading.Lock(), 0, {}

    def hook(self, event):
        """Calls the function with each event. It returns nothing, or a text as a note."""
        return lambda function: self._hooks.setdefault(f"hook.{event}", function)

    def connector(self, name):
        """Calls the function with a message to send. It returns the network's id of it."""
        return lambda function: self._senders.setdefault(name, function)

    def typing(self, function):
        self._typing = function
        return function

    def on_started(self, function):
        """Calls the function in its own thread once the config has arrived."""
        self._started.append(function)
        return function

    def deliver(self, connector, message):
        """Delivers a message {id, peer, text, …}; returns when Onyx has stored it. Do not call it in a hook."""
        params = {"connector": connector, **message}
        while True:
            answer, came = {}, threading.Event()
            with self._lock:
                self._next += 1
                number = self._next
                self._waiting[number] = (answer, came)
            self._write({"id": number, "method": "message.in", "params": params})
            if came.wait(RESEND_SECONDS) and answer.get("ok"):
                return
            if answer.get("error"):
                raise ValueError(answer["error"])
            with self._lock:
                self._waiting.pop(number, None)

    def run(self):
        """Answers until Onyx stops the plugin."""
        for line in sys.stdin:
            message = json.loads(line)
            if "method" in message:
                self._answer(message)
            else:
                self._settle(message)

    def _answer(self, message):
        try:
            reply = {"result": self._handle(message["method"], message.get("params") or {})}
        except Veto as veto:
            reply = {"result": {"veto": str(veto)}}
        except Refused as refused:
            reply = {"error": {"code": -32602, "message": str(refused)}}
        except Exception as error:  # Onyx gets the error, and the program continues.
            traceback.print_exc()
            reply = {"error": {"code": -32603, "message": str(error)}}
        if "id" in message:
            self._write({"id": message["id"], **reply})
        if message["method"] == "stop":
            os._exit(0)

    def _handle(self, method, params):
        if method == "start":
            self.config, self.secrets = params["config"], params["secrets"]
            for function in self._started:
                threading.Thread(target=function, daemon=True).start()
            return {"protocol": PROTOCOL, **_identity()}
        if method == "message.send":
            sender = self._senders.get(params["connector"])
            if sender is None:
                raise Refused("there is no such connector")
            return {"id": sender(params)}
        if method == "typing" and self._typing:
            self._typing(params)
        if method in self._hooks:
            note = self._hooks[method](params)
            return {"annotate": note} if note else {}
        return {}

    def _settle(self, message):
        with self._lock:
            answer, came = self._waiting.pop(message.get("id"), ({}, threading.Event()))
        answer.update(message.get("result") or {})
        # An error of the connection says nothing about the message, so it is delivered again.
        if "result" in message:
            came.set()

    def _write(self, message):
        with self._lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()


def _identity():
    """The package's manifest, which Onyx compares with the accepted one."""
    with open(os.path.join(os.environ.get("PLUGIN_ROOT", "."), "plugin.json")) as file:
        manifest = json.load(file)
    return {"name": manifest["name"], "version": manifest.get("version")}
