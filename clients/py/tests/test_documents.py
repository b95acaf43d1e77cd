"""What the documents show works as it is, and so do the examples and the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stage import TOKEN, Stage, call, say

HERE = Path(__file__).parents[1]
ROOT = HERE.parents[1]


def run(stage: Stage, words: list[str], typed: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(HERE / "src"), "ONYX_URL": stage.url, "ONYX_TOKEN": TOKEN}
    return subprocess.run(
        [sys.executable, *words], env=environment, input=typed, capture_output=True, text=True, timeout=60
    )


def fences(document: Path) -> list[tuple[str, str]]:
    text = document.read_text()
    found = re.finditer(r"^```python run\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(f"{document.name}:{text[: match.start()].count(chr(10)) + 1}", match.group(1)) for match in found]


SHOWN = [*fences(HERE / "README.md"), *fences(ROOT / "docs" / "sdk.md")]


@pytest.mark.parametrize(("name", "code"), SHOWN, ids=[name for name, _ in SHOWN])
def test_what_the_documents_show_works(stage: Stage, name: str, code: str) -> None:
    asks = '"confirm"' in code
    stage.script([call("ask_person", question="Oak or larch?")] if asks else [], say("Nothing is due."))
    answer = run(stage, ["-c", code])
    assert answer.returncode == 0, answer.stderr
    if asks:
        assert "ask_person" in answer.stdout and "wait for you" in answer.stdout
    elif "chat." in code:
        assert "Nothing is due." in answer.stdout
    else:
        assert answer.stdout.strip()


def test_every_document_shows_something() -> None:
    assert len(SHOWN) >= 6


def test_the_examples_work(stage: Stage) -> None:
    stage.script([call("ask_person", question="Oak or larch?"), say("Larch it is.")], say("Nothing is due."))
    first = run(stage, [str(HERE / "examples/chat.py"), "order the floor"], typed="larch\n")
    assert first.stdout.endswith("Larch it is."), first.stderr
    session = first.stderr.split()[-1]
    assert session in run(stage, [str(HERE / "examples/chat.py"), "and now?", session]).stderr
    assert run(stage, [str(HERE / "examples/inbox.py")]).stdout.endswith("in all\n")
    wrong = run(stage, [str(HERE / "examples/inbox.py"), "approve", "7"])
    assert (wrong.returncode, wrong.stderr.split(":")[0]) == (1, "invalid_request")


def test_the_package_says_that_it_is_typed(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    built = subprocess.run([*words, str(HERE)], capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("onyx_sdk-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"onyx_sdk/py.typed", "onyx_sdk/_sync/client.py", "onyx_sdk/types.py"} <= set(names)
    assert [name for name in names if not name.startswith(("onyx_sdk/", "onyx_sdk-"))] == []
