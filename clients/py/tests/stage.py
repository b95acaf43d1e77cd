"""The real binary with the scripted model behind it."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TOKEN = "onyx_sk_py"
ROOT = Path(__file__).resolve().parents[3]
BINARIES = Path(os.environ.get("ONYX_BIN_DIR") or ROOT / "target" / "debug")
START_LIMIT = 60.0
AGENTS = [
    {"id": "main", "name": "Main", "default": True, "model": "mine/some-model", "tier": "act"},
    {"id": "careful", "name": "Careful", "model": "mine/some-model", "tier": "suggest"},
]


def say(*texts: str, delay_ms: int = 0) -> dict[str, Any]:
    """Returns an answer of the model that is text."""
    return _script([{"text": text} for text in texts], "stop", delay_ms)


def call(name: str, **arguments: object) -> dict[str, Any]:
    """Returns an answer of the model that calls a tool."""
    pieces = [json.dumps(arguments)]
    return _script([{"tool_calls": [{"id": "a", "name": name, "pieces": pieces}]}], "tool_calls", 0)


def refuse(status: int) -> dict[str, Any]:
    return {"status": {"code": status, "body": "{}"}}


def _script(steps: list[dict[str, Any]], finish: str, delay_ms: int) -> dict[str, Any]:
    end: list[dict[str, Any]] = [{"usage": {"input": 1200, "output": 300}}, {"finish": finish}]
    return {"script": {"steps": [*steps, *end]}, "delivery": {"delay_ms": delay_ms}}


class Stage:
    """A server on a port and a home of its own."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="onyx-py-"))
        self.home = self.folder / "home"
        self._model: subprocess.Popen[bytes] | None = None
        self._model_port = 0
        self.script([])
        for path, text in files.items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_text(text)
        self.home.mkdir(exist_ok=True)
        (self.home / "onyx.json").write_text(json.dumps(self._config()))
        environment = {
            **os.environ,
            "ONYX_HOME": str(self.home),
            "ONYX_KEYS": str(self.folder / "keys"),
            "ONYX_LOCAL_PORTS": "ollama=9,lmstudio=9,vllm=9,llama.cpp=9,llamacpp=9",
        }
        self._server = self._begin(["onyx", "serve"], environment)
        self.url = self._says(self._server, r"(http://127\.0\.0\.1:\d+)\b(?!/v1)")
        self._healthy()

    def script(self, answers: Sequence[Mapping[str, Any]], default: Mapping[str, Any] | None = None) -> None:
        """Sets what the model answers from now on: these answers in order, then always the default."""
        if self._model is not None:
            _end(self._model)
        file = self.folder / "script.json"
        file.write_text(json.dumps({"answers": list(answers), "default": default or say("ok")}))
        self._model_port = self._model_port or random.randint(15_000, 30_000)
        words = ["scripted-model", "--script", str(file), "--port", str(self._model_port)]
        self._model = self._begin(words, dict(os.environ))
        self.model_url = self._says(self._model, r"(http:\S+)")

    def model_requests(self) -> str:
        """Returns the requests to the model, as text."""
        with urllib.request.urlopen(re.sub(r"/v1$", "/_requests", self.model_url)) as answer:
            return str(answer.read().decode())

    def end(self) -> None:
        for child in (self._server, self._model):
            if child is not None:
                _end(child)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _config(self) -> dict[str, Any]:
        model = {"id": "some-model", "price": {"input": 0, "output": 0}}
        provider = {"kind": "openai", "baseUrl": self.model_url, "apiKey": "k", "models": [model]}
        return {
            "gateway": {"port": 0, "auth": {"mode": "token", "token": TOKEN}},
            "providers": {"mine": provider},
            "agents": {"defaults": {"titles": "words"}, "list": AGENTS},
        }

    def _begin(self, words: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        program = str(BINARIES / words[0])
        log = (self.folder / f"{words[0]}.log").open("wb")
        return subprocess.Popen([program, *words[1:]], env=environment, stdout=log, stderr=subprocess.STDOUT)

    def _says(self, child: subprocess.Popen[bytes], wanted: str) -> str:
        name = Path(str(child.args[0] if isinstance(child.args, list) else child.args)).name
        log = self.folder / f"{name}.log"
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end:
            said = log.read_text(errors="replace")
            match = re.search(wanted + r".*\n", said)
            if match:
                return match.group(1)
            if child.poll() is not None:
                raise RuntimeError(f"{name} ended with {child.returncode}: {said}")
            time.sleep(0.02)
        raise RuntimeError(f"{name} did not start: {log.read_text(errors='replace')}")

    def _healthy(self) -> None:
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/health"):
                    return
            except OSError:
                time.sleep(0.03)
        raise RuntimeError("the server is not healthy")


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
