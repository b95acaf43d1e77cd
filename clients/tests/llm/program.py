"""The command `llm`, with Onyx among its OpenAI-compatible models."""

import pathlib

from coding import Program
from scenario import (
    HELLO, HELLO_ANSWER, TARGETS, TOO_MANY, URL, WEATHER, WEATHER_ANSWER, check, load_script, program,
)  # fmt: skip
from script import script

TOOL = pathlib.Path(__file__).parent / "tools.py"


def command(desk, model, token, words, *more):
    home = desk.home / "llm"
    home.mkdir(exist_ok=True)
    models = "".join(
        f"- model_id: {target}\n  model_name: {target!r}\n  api_base: {URL}/v1\n  api_key_name: onyx\n"
        "  supports_tools: true\n"
        for target in TARGETS["chat"].values()
    )
    (home / "extra-openai-models.yaml").write_text(models)
    return [program("llm"), "-m", model, "--key", token, *more, words], {"LLM_USER_PATH": str(home)}


class Llm(Program):
    def asking(self, *more):
        return Program(self.wire, lambda *asked: command(*asked, *more), None)

    def plain(self, model):
        load_script(script())
        self.answered(self.asking("--no-stream").ask(model, HELLO), HELLO_ANSWER)

    def stream(self, model):
        load_script(script())
        self.answered(self.ask(model, HELLO), HELLO_ANSWER)

    def tools(self, model):
        load_script(script())
        self.answered(self.asking("--functions", str(TOOL)).ask(model, WEATHER), WEATHER_ANSWER)

    def rate_limit(self, model):
        """Checks that `llm` reports the server's error; it does not ask again."""
        load_script(script())
        code, out, err = self.ask(model, TOO_MANY)
        assert code != 0 and "429" in out + err, f"{code}:\n{out}\n{err}"

    def check(self):
        check(
            self.wire, plain=self.plain, stream=self.stream, tools=self.tools, refused_key=self.refused_key,
            rate_limit=self.rate_limit, cut_stream=self.cut_stream, cancel=self.cancel,
        )  # fmt: skip


Llm("chat", command, None).check()
