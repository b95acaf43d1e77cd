"""Claude Code, asked with `-p`."""

import json

from coding import Program, installed
from scenario import URL


def command(_desk, model, token, words):
    environment = {
        "ANTHROPIC_BASE_URL": URL,
        "ANTHROPIC_AUTH_TOKEN": token,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
    }
    return [installed("claude"), "--model", model, "--allowedTools", "Read", "-p", words], environment


Program("messages", command, lambda file: ("Read", json.dumps({"file_path": str(file)}))).check()
