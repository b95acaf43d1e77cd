"""The command `llm`, with Onyx among its OpenAI-compatible models."""

import os
import pathlib
import subprocess
import sys
import tempfile

from scenario import TARGETS, TOKEN, URL, seen

home = pathlib.Path(tempfile.mkdtemp())
models = "".join(
    f"- model_id: onyx-{index}\n  model_name: {target!r}\n  api_base: {URL}/v1\n  api_key_name: onyx\n"
    for index, target in enumerate(TARGETS)
)
(home / "extra-openai-models.yaml").write_text(models)
program = str(pathlib.Path(sys.executable).parent / "llm")


def ask(index, *options, token=TOKEN):
    command = [program, "-m", f"onyx-{index}", "--key", token, *options, "hi"]
    environment = {**os.environ, "LLM_USER_PATH": str(home)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


for index, target in enumerate(TARGETS):
    whole = ask(index, "--no-stream")
    assert whole.stdout.strip() == "Hello there.", whole
    seen("plain", target)
    streamed = ask(index)
    assert streamed.stdout.strip() == "Hello there.", streamed
    seen("stream", target)
    refused = ask(index, token="wrong")
    assert refused.returncode != 0 and "401" in refused.stderr, refused
    seen("refused key", target)
