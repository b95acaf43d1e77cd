"""Runs other makers' programs and libraries against Onyx: run.py [NAME...], all that are not heavy without a name.

Each client is installed at its pinned version in an environment of its own, and has a server and a scripted provider of
its own. What was seen goes into seen.json, from which scripts/clients-table makes the table of docs/clients.md.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from script import script

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
SEEN = HERE / "seen.json"
TOKEN = "onyx_sk_clients"
LIMIT_SECONDS = 900
SHARED = ["scenario.py", "script.py", "coding.py", "generated.py"]

CLIENTS = [
    "claude_code", "codex", "opencode", "aider", "llm", "openai_python", "openai_js", "anthropic_python", "anthropic_js",
    "ai_sdk", "use_chat", "langchain", "llama_index", "pydantic_ai", "openai_agents", "smolagents", "litellm",
    "openapi_python_client", "openapi_typescript", "openapi_generator",
]  # fmt: skip
# Whole applications, which take long to install and to start. They run only when they are named.
HEAVY = ["open_webui"]


def binary(name):
    folder = pathlib.Path(os.environ.get("ONYX_BINARIES", ROOT / "target" / "debug"))
    return str(folder / name)


@contextlib.contextmanager
def process(command, log, environment=None):
    with open(log, "w") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def found(child, log, pattern, good=lambda _: True):
    """Returns the first match in what a process has printed for which `good` is true."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for match in re.findall(pattern, log.read_text()):
            if good(match):
                return match
        if child.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"it did not start:\n{log.read_text()}")


def healthy(base):
    try:
        return urllib.request.urlopen(f"{base}/health", timeout=5).status == 200
    except OSError:
        return False


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def config(upstream, page_port):
    wires = {"mine": "openai", "claude": "anthropic", "resp": "openai-responses", "gem": "gemini"}
    base = {"mine": f"{upstream}/v1", "resp": f"{upstream}/v1"}
    price = {"input": 0, "output": 0}
    models = [{"id": name, "price": price} for name in ("m", "some-model")]
    providers = {
        name: {"kind": kind, "baseUrl": base.get(name, upstream), "apiKey": "k", "models": models}
        for name, kind in wires.items()
    }
    agent = {"id": "main", "default": True, "model": "mine/some-model", "tier": "act"}
    return {
        "gateway": {
            "port": 0,
            "auth": {"mode": "token", "token": TOKEN},
            "cors": {"origins": [f"http://127.0.0.1:{page_port}"]},
        },
        "providers": providers,
        "agents": {"list": [agent]},
    }


@contextlib.contextmanager
def onyx(folder, page_port):
    """Starts a scripted provider and Onyx in front of it. Onyx accepts requests of pages on that port."""
    (folder / "script.json").write_text(json.dumps(script()))
    scripted = [binary("scripted-model"), "--script", str(folder / "script.json")]
    with process(scripted, folder / "upstream.log") as child:
        upstream = found(child, folder / "upstream.log", r"(http://127\.0\.0\.1:\d+)/v1\n")
        home = folder / "home"
        home.mkdir()
        (home / "onyx.json").write_text(json.dumps(config(upstream, page_port), indent=2))
        environment = {**os.environ, "ONYX_HOME": str(home), "ONYX_KEYS": str(folder / "keys")}
        with process([binary("onyx"), "serve"], folder / "onyx.log", environment) as child:
            base = found(child, folder / "onyx.log", r"http://127\.0\.0\.1:\d+", lambda one: one != upstream and healthy(one))
            yield upstream, base


def installed(name):
    ran = subprocess.run([ROOT / "scripts" / "clients", name], stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(ran.stdout.strip())


def command(name, environment, work):
    """Returns the command that runs the client's program with the interpreter of its packages."""
    folder = HERE / name
    if (folder / "program.mjs").exists():
        # Node searches for modules beside the program.
        shutil.copytree(folder, work / name)
        shutil.copy(HERE / "scenario.mjs", work)
        (work / "node_modules").symlink_to(environment / "js" / "node_modules")
        return ["node", str(work / name / "program.mjs")]
    own = environment / "python" / "bin" / "python"
    return [str(own) if own.exists() else sys.executable, "-B", str(folder / "program.py")]


def run(name):
    """Runs one client and returns what it saw: one entry for each check."""
    where, page_port = installed(name), free_port()
    with tempfile.TemporaryDirectory(prefix=f"onyx-{name}-") as folder:
        folder = pathlib.Path(folder)
        with onyx(folder, page_port) as (upstream, base):
            (folder / "person").mkdir()
            shared = folder / "shared"
            shared.mkdir()
            # These files get a folder of their own, because beside them a client's folder would be
            # taken for a package of its name.
            for module in SHARED:
                shutil.copy(HERE / module, shared)
            environment = {
                **os.environ,
                "ONYX_URL": base,
                "ONYX_TOKEN": TOKEN,
                "UPSTREAM_URL": upstream,
                "CLIENT_FOLDER": str(where),
                "PAGE_PORT": str(page_port),
                "SCRIPT": json.dumps(script()),
                "PYTHONPATH": str(shared),
                "NO_PROXY": "127.0.0.1,localhost",
                # What the program would download at its start is in its package too.
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "HOME": str(folder / "person"),
            }
            ran = subprocess.run(
                command(name, where, folder), env=environment, cwd=folder / "person", stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False,
            )  # fmt: skip
            log = (folder / "onyx.log").read_text()
    lines = [line for line in ran.stdout.splitlines() if line.startswith('{"column"')]
    checks = [json.loads(line) for line in lines]
    wrong = [one for one in checks if one["error"]]
    if ran.returncode != 0 or wrong or not checks:
        rest = "\n".join(line for line in ran.stdout.splitlines() if line not in lines)
        print(f"--- {name}: ended with {ran.returncode}\n{rest[-4000:]}")
        for one in wrong:
            print(f"--- {name}: {one['column']}, {one['wire']}, {one['target']}:\n{one['error'][-3000:]}")
        if os.environ.get("ONYX_CLIENT_LOG"):
            print(f"--- log of Onyx:\n{log[-6000:]}")
    return checks, ran.returncode == 0 and bool(checks) and not wrong


def main():
    names = sys.argv[1:] or CLIENTS
    unknown = set(names) - {*CLIENTS, *HEAVY}
    if unknown:
        raise SystemExit(f"no client is called {', '.join(sorted(unknown))}")
    seen = json.loads(SEEN.read_text()) if SEEN.exists() else {}
    failed = []
    for name in names:
        began = time.monotonic()
        checks, good = run(name)
        entry = {}
        for one in checks:
            if not one["error"]:
                entry.setdefault(one["wire"], {}).setdefault(one["column"], []).append(one["target"])
        seen[name] = entry
        SEEN.write_text(json.dumps(seen, indent=1, sort_keys=True) + "\n")
        right = sum(not one["error"] for one in checks)
        print(f"{name}: {right} of {len(checks)} checks in {time.monotonic() - began:.0f} s", flush=True)
        if not good:
            failed.append(name)
    if failed:
        raise SystemExit(f"not as it should be: {', '.join(failed)}")


main()
