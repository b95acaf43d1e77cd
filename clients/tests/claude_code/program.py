"""Claude Code, asked with `-p`, and as a person uses it, in a terminal."""

import json

from coding import LIMIT_SECONDS, SECRET, Desk, Program, installed, script
from scenario import CUT, HELLO, HELLO_ANSWER, TOKEN, URL, WAIT, counts, load_script, reaches_the_provider, wait_until
from script import CUT_OFF, rule, text
from terminal import Terminal

ESCAPE = "\x1b"
PROMPT, WORKING = "❯", "esc to interrupt"
WHOLE = "Here is all of it."


def environment(token):
    return {
        "ANTHROPIC_BASE_URL": URL,
        "ANTHROPIC_AUTH_TOKEN": token,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
    }


def command(_desk, model, token, words):
    return [installed("claude"), "--model", model, "--allowedTools", "Read", "-p", words], environment(token)


def reading(file):
    return "Read", json.dumps({"file_path": str(file)})


class Interactive(Program):
    """Claude Code in a terminal. A question is answered when the last words of the answer are on the screen."""

    def __init__(self):
        super().__init__("messages", command, reading, row="messages, in a terminal")

    def open(self, model, token=TOKEN, desk=None):
        desk = desk or Desk()
        # The settings for which Claude Code asks once, when it is first started in a folder.
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        settings = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(desk.work): project}}
        (desk.home / ".claude.json").write_text(json.dumps(settings))
        arguments = [installed("claude"), "--model", model, "--allowedTools", "Read"]
        terminal = Terminal(arguments, desk.environment(**environment(token)), desk.work)
        terminal.wait_for("the prompt", lambda words: PROMPT in words, 90)
        # Claude Code accepts keys a moment after it has drawn its screen.
        terminal.read(1)
        return terminal

    def say(self, terminal, words):
        """Types the words and presses Enter. What was drawn before is dropped."""
        terminal.type(words)
        terminal.wait_for("what was typed", lambda drawn: words.split()[-1] in drawn, 30)
        terminal.drawn = b""
        terminal.type("\r")

    def asked(self, model, words, *ends, token=TOKEN, desk=None):
        terminal = self.open(model, token, desk)
        try:
            self.say(terminal, words)
            terminal.wait_for(" or ".join(ends), lambda drawn: any(end in drawn for end in ends), LIMIT_SECONDS)
            return terminal.words()
        finally:
            terminal.close()

    def ask(self, model, words, token=TOKEN, desk=None):
        ends = [HELLO_ANSWER, SECRET, "401"]
        return 0, self.asked(model, words, *ends, token=token, desk=desk), ""

    def cut_stream(self, model):
        load_script(script(rule(CUT_OFF, CUT, times=1), rule(text(WHOLE), CUT)))
        self.asked(model, CUT, WHOLE, "Error", "error")

    def cancel(self, model):
        """Checks that Escape ends the answer, and that the next question is answered in the same conversation."""
        load_script(script())
        before = counts()["received"]
        terminal = self.open(model)
        try:
            with reaches_the_provider():
                self.say(terminal, WAIT)
                wait_until("its question", lambda: counts()["received"] > before, 90)
                wait_until("the answer to begin", lambda: counts()["answering"] > 0, 30)
                terminal.wait_for(WORKING, lambda drawn: WORKING in drawn, 30)
                terminal.type(ESCAPE)
            terminal.wait_for("Interrupted", lambda drawn: "Interrupted" in drawn, 30)
            terminal.read(1)
            # The stopped question is still in the conversation and may be in the prompt.
            load_script(script(rule(text(HELLO_ANSWER), HELLO)))
            terminal.type("\x15")
            self.say(terminal, HELLO)
            terminal.wait_for(HELLO_ANSWER, lambda drawn: HELLO_ANSWER in drawn, LIMIT_SECONDS)
        finally:
            terminal.close()


Program("messages", command, reading).check()
Interactive().check()
