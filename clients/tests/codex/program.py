"""Codex, asked with `exec`."""

import json

from coding import Program, installed
from scenario import URL


def command(desk, model, token, words):
    provider = (
        f'model_providers.onyx={{name="Onyx",base_url="{URL}/v1",env_key="ONYX_TOKEN",wire_api="responses",'
        "request_max_retries=2,stream_max_retries=1}"
    )
    arguments = [
        installed("codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
        "-c", "model_provider=onyx", "-c", provider, "-m", model, words,
    ]  # fmt: skip
    return arguments, {"CODEX_HOME": str(desk.home), "ONYX_TOKEN": token}


Program("responses", command, lambda _file: ("exec_command", json.dumps({"cmd": "cat hello.txt"}))).check()
