from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from onyx_sdk import Onyx
from stage import TOKEN, Stage

FILES = {
    "people/owner/vault/plan.md": "Drive up after lunch\n",
    "people/owner/vault/notes/cabin.md": "# Cabin\n\nLena keeps the keys of the cabin.\n",
    "people/owner/vault/agent/actions/Brief.md": "Tell me in one line what is due.\n",
}


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    at = Stage(FILES)
    yield at
    at.end()


@pytest.fixture()
def onyx(stage: Stage) -> Iterator[Onyx]:
    stage.script([])
    with Onyx(stage.url, TOKEN) as client:
        yield client
