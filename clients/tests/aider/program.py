"""aider, asked with `--message`. It calls no tools: it edits by the text of an answer."""

from coding import Program
from scenario import HELLO_ANSWER, URL, check, load_script, program
from script import rule, script, text

EDIT = """hello.txt
```
<<<<<<< SEARCH
the word is heliotrope
=======
the word is mauve
>>>>>>> REPLACE
```
"""


def command(_desk, model, token, words, *more):
    arguments = [
        program("aider"), "--model", f"openai/{model}", "--weak-model", f"openai/{model}", "--message", words,
        "--yes-always", "--no-git", "--no-check-update", "--no-show-model-warnings", "--no-analytics", "--no-pretty",
        "--edit-format", "diff", *more,
    ]  # fmt: skip
    return arguments, {"OPENAI_API_BASE": f"{URL}/v1", "OPENAI_API_KEY": token, "COLUMNS": "200"}


class Aider(Program):
    def stream(self, model):
        load_script(script())
        self.answered(self.ask(model, "say hello"), HELLO_ANSWER)

    def plain(self, model):
        load_script(script())
        whole = Program(self.wire, lambda *asked: command(*asked, "--no-stream"), None)
        self.answered(whole.ask(model, "say hello"), HELLO_ANSWER)

    def edit(self, model):
        """Checks what aider does instead of a tool call: it changes a file by an answer in its own format."""
        from coding import Desk

        desk = Desk()
        load_script(script(rule(text(EDIT), "make it mauve")))
        edits = Program(self.wire, lambda *asked: command(*asked, "hello.txt"), None)
        code, out, err = edits.ask(model, "make it mauve", desk=desk)
        # The edit completes the last line, which had no line end.
        assert (desk.work / "hello.txt").read_text() == "the word is mauve\n", f"{code}\n{out}\n{err}"

    def check(self):
        check(
            self.wire, plain=self.plain, stream=self.stream, tools=self.edit, refused_key=self.refused_key,
            rate_limit=self.rate_limit, cut_stream=self.cut_stream, cancel=self.cancel,
        )  # fmt: skip


Aider("chat", command, None).check()
