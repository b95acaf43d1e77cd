"""What coding agents on the command line are asked to do: greet, read a file with a tool of their own, meet trouble.

Each is a program that prints its answer, so that a column is checked by what it prints and by what reached the provider.
"""

import os
import pathlib
import subprocess
import tempfile

from scenario import (
    CUT, HELLO, HELLO_ANSWER, TOKEN, TOO_MANY, WAIT, WRONG_TOKEN, check, counts, load_script, reaches_the_provider,
    wait_until,
)  # fmt: skip
from script import CUT_OFF, call, limited, rule, text
from script import script as rules

SECRET = "the word is heliotrope"
QUESTION = "what does hello.txt say?"
LIMIT_SECONDS = 150
WHOLE = "Here is all of it."
# Some programs ask for a title with the words of the question. That request must not use up the question's answer.
TITLE = rule(text("A title"), "title generator")


def script(*more):
    return rules(TITLE, *more)


class Desk:
    """A folder with a file in it, and an empty home, so that the program finds nobody's settings."""

    def __init__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="onyx-desk-"))
        self.work = self.home / "work"
        self.work.mkdir()
        (self.work / "hello.txt").write_text(SECRET)

    def environment(self, **more):
        kept = {name: os.environ[name] for name in ("PATH", "NO_PROXY", "TMPDIR", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.home), **more}


class Program:
    """One program: `command(desk, model, token, words)` gives its arguments and its environment."""

    def __init__(self, wire, command, reading, row=None):
        self.wire, self.command, self.reading, self.row = wire, command, reading, row

    def start(self, model, words, token=TOKEN, desk=None):
        desk = desk or Desk()
        arguments, environment = self.command(desk, model, token, words)
        return subprocess.Popen(
            arguments, env=desk.environment(**environment), cwd=desk.work, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def ask(self, model, words, token=TOKEN, desk=None):
        child = self.start(model, words, token, desk)
        try:
            out, err = child.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            out, err = child.communicate()
            raise AssertionError(f"it did not end:\n{out}\n{err}") from None
        return child.returncode, out, err

    def answered(self, ran, words):
        code, out, err = ran
        assert code == 0 and words in out, f"ended with {code}:\n{out}\n{err}"

    def plain(self, model):
        load_script(script())
        self.answered(self.ask(model, HELLO), HELLO_ANSWER)

    def tools(self, model):
        desk = Desk()
        name, arguments = self.reading(desk.work / "hello.txt")
        reads = rule(call(name, arguments), QUESTION)
        load_script(script(rule(text(f"It says: {SECRET}."), SECRET), reads))
        self.answered(self.ask(model, QUESTION, desk=desk), SECRET)

    def refused_key(self, model):
        load_script(script())
        before = counts()["received"]
        code, out, err = self.ask(model, HELLO, WRONG_TOKEN)
        said = (out + err).lower()
        assert "401" in said or "auth" in said or "api key" in said, f"ended with {code}:\n{said}"
        assert counts()["received"] == before, "the provider was asked"

    def rate_limit(self, model):
        """Checks that the program asks again after one refusal."""
        load_script(script(rule(limited(1), TOO_MANY, times=1), rule(text(HELLO_ANSWER), TOO_MANY)))
        self.answered(self.ask(model, TOO_MANY), HELLO_ANSWER)

    def cut_stream(self, model):
        """Checks that half an answer is not taken for a whole one: the program asks again or reports an error."""
        load_script(script(rule(CUT_OFF, CUT, times=1), rule(text(WHOLE), CUT)))
        code, out, err = self.ask(model, CUT)
        assert WHOLE in out or code != 0 or "error" in (out + err).lower(), f"{code}:\n{out}\n{err}"

    def cancel(self, model):
        load_script(script())
        before = counts()["received"]
        with reaches_the_provider():
            child = self.start(model, WAIT)
            wait_until("its question", lambda: counts()["received"] > before, 90)
            wait_until("the answer to begin", lambda: counts()["answering"] > 0, 30)
            os.killpg(child.pid, 15)
            child.communicate(timeout=60)

    def check(self):
        check(
            self.wire, self.row, plain=self.plain, stream=self.plain, tools=self.tools, refused_key=self.refused_key,
            rate_limit=self.rate_limit, cut_stream=self.cut_stream, cancel=self.cancel,
        )  # fmt: skip


def installed(name):
    return os.path.join(os.environ["CLIENT_FOLDER"], "js", "node_modules", ".bin", name)
