"""opencode, asked with `run`, through the AI SDK's OpenAI-compatible provider."""

import json

from coding import Program, installed
from scenario import TARGETS, URL


def command(desk, model, token, words):
    models = {name: {"name": name} for name in TARGETS["chat"].values()}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Onyx",
        "options": {"baseURL": f"{URL}/v1", "apiKey": token},
        "models": models,
    }
    config = {"provider": {"onyx": provider}, "autoupdate": False, "share": "disabled"}
    (desk.work / "opencode.json").write_text(json.dumps(config))
    environment = {"XDG_DATA_HOME": str(desk.home / "data"), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    return [installed("opencode"), "run", "--model", f"onyx/{model}", words], environment


Program("chat", command, lambda file: ("read", json.dumps({"filePath": str(file)}))).check()
