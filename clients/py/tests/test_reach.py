"""Each part of the server is reached, against the real one; and both clients reach the same."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import cast

import pytest

from onyx_sdk import Conflict, Forbidden, NotFound, Onyx, RenewingToken, Unauthenticated, types
from stage import Stage, say

CLIENTS = Path(__file__).parents[2]


def test_memory_is_searched_written_with_care_and_brought_back(stage: Stage, onyx: Onyx) -> None:
    version = onyx.memory.write("vault/notes/wood.md", "Oak for the hall.\n")
    with pytest.raises(Conflict):
        onyx.memory.write("vault/notes/wood.md", "Something else.\n")
    newer = onyx.memory.write("vault/notes/wood.md", "Larch for the hall.\n", version)
    with pytest.raises(Conflict) as caught:
        onyx.memory.write("vault/notes/wood.md", "Pine.\n", version)
    assert caught.value.code == "version_conflict"
    history = onyx.memory.history("vault/notes/wood.md")
    assert [change["author"] for change in history] == ["person:owner"] * 2
    assert onyx.memory.version("vault/notes/wood.md", history[0]["version"]) == "Oak for the hall.\n"
    onyx.memory.restore("vault/notes/wood.md", history[0]["version"])
    assert onyx.memory.read("vault/notes/wood.md").text == "Oak for the hall.\n"
    with pytest.raises(Conflict):
        onyx.memory.remove("vault/notes/wood.md", newer)
    found = onyx.memory.search("keys cabin")
    while not found["results"]:
        found = onyx.memory.search("keys cabin")
    assert found["results"][0]["path"] == "vault/notes/cabin.md"
    assert "vault/notes/cabin.md" in [file["path"] for file in onyx.memory.files(types="note")["files"]]
    assert "daily" in onyx.memory.remember("Lena called.", "daily")
    assert isinstance(onyx.memory.known(), list)
    assert onyx.memory.status()["sources"] > 0


def test_jobs_are_made_previewed_run_paused_and_removed(stage: Stage, onyx: Onyx) -> None:
    stage.script([], say("Nothing is due."))
    assert len(onyx.jobs.preview(cron="0 8 * * MON-FRI", prompt="x").get("next", [])) == 5
    job = onyx.jobs.create("morning", cron="0 8 * * MON-FRI", prompt="What is due?", max_cost=0.5)
    assert job["id"] == "morning"
    onyx.jobs.run("morning")
    runs = onyx.jobs.runs("morning")["runs"]
    while not runs or runs[0].get("outcome") is None:
        runs = onyx.jobs.runs("morning")["runs"]
    assert len(runs) == 1
    onyx.jobs.pause("morning")
    onyx.jobs.resume("morning")
    onyx.jobs.change("morning", prompt="What is due today?", max_cost=None)
    assert [each["id"] for each in onyx.jobs.list()] == ["morning"]
    onyx.jobs.remove("morning")
    assert onyx.jobs.list() == []


def test_agents_spaces_companion_and_sources(stage: Stage, onyx: Onyx) -> None:
    onyx.agents.create("scout", name="Scout", model="mine/some-model", tier="read")
    onyx.agents.update("scout", name="Scout the second")
    onyx.agents.write_file("scout", "SOUL.md", "Be brief.\n", "")
    assert onyx.agents.read_file("scout", "SOUL.md").text == "Be brief.\n"
    assert {agent["id"] for agent in onyx.agents.list()} >= {"main", "careful", "scout"}
    space = onyx.spaces.create("Home", default_agent="main")
    page = onyx.spaces.add(space["id"], "pages", title="Floor", body="Oak or larch?\n")
    changed = onyx.spaces.change(space["id"], "pages", page["id"], page["version"], body="Larch.\n")
    assert changed["version"] != page["version"]
    stage.script([], say("Larch, then."))
    conversation = onyx.spaces.companion(space["id"])["conversation_id"]
    message = onyx.spaces.post(conversation, "Which wood?")
    told = list(onyx.spaces.stream(conversation, message_id=message))
    assert [each.type for each in told][-1] == "done"
    assert "".join(str(each.data.get("text", "")) for each in told if each.type == "delta") == "Larch, then."
    source = onyx.sources.add({"type": "space", "id": space["id"]}, "text", text="Joists carry 22 mm.", title="Joists")
    assert list(onyx.sources.events(source["id"]))
    assert [each["id"] for each in onyx.sources.list(scope=space["id"])] == [source["id"]]
    onyx.sources.remove(source["id"])
    onyx.agents.remove("scout")


def test_channels_and_threads_tell_their_answers(stage: Stage, onyx: Onyx) -> None:
    stage.script([], say("On it."))
    space = onyx.spaces.create("Team")
    channel = onyx.channels.create(space["id"], "general", purpose="All of it")
    assert [each["agent"] for each in onyx.channels.assign(channel["id"], "main", primary=True)] == ["main"]
    thread = onyx.threads.create(channel["id"], "Plans")
    answers = onyx.threads.send_message(thread["id"], "hello")["assistant_messages"]
    for told in onyx.threads.events(thread["id"]):
        assert told.type in ("chat:chunk", "chat:complete"), told
        if told.type == "chat:complete":
            assert cast(dict[str, object], told.data)["content"] == "On it."
            break
    assert [message["role"] for message in onyx.threads.messages(thread["id"])] == ["user", "assistant"]
    with pytest.raises(NotFound):
        onyx.threads.cancel_message(answers[0]["id"])


def test_skills_and_actions(stage: Stage, onyx: Onyx) -> None:
    text = "---\nname: tidy\ndescription: How to tidy.\n---\nPut things away.\n"
    assert onyx.skills.write("tidy", text)["state"] == "ready"
    assert onyx.skills.get("tidy").get("text") == text
    assert [skill["name"] for skill in onyx.skills.list()] == ["tidy"]
    onyx.skills.remove("tidy")
    stage.script([], say("Nothing."))
    action = onyx.actions.list()[0]
    assert "what is due" in onyx.actions.prompt(action["id"])
    kinds = [line["type"] for line in onyx.actions.run(action["id"])]
    assert kinds[0] == "start" and kinds[-1] == "done"
    assert len(onyx.actions.past()["runs"]) == 1


def test_what_the_owner_does(stage: Stage, onyx: Onyx) -> None:
    assert onyx.me()["role"] == "owner"
    assert onyx.connectors.list()["accounts"] == []
    assert onyx.mcp.list() == []
    assert [provider["name"] for provider in onyx.admin.providers()] == ["mine"]
    onyx.admin.set_secret("weather", "s3cret")
    assert "weather" in [secret["name"] for secret in onyx.admin.secrets()]
    onyx.admin.remove_secret("weather")
    config = onyx.admin.config()
    assert "some-model" in config.text
    with pytest.raises(Conflict):
        onyx.admin.set_config(config.text, '"an older one"')
    assert all(chain["whole"] for chain in onyx.admin.verify_audit()["chains"])
    assert onyx.admin.usage()
    assert onyx.health()
    assert "onyx:main" in [model["id"] for model in onyx.models()]
    line = next(iter(onyx.admin.logs(limit=1)))
    assert line["message"]


def test_people_sign_in_and_tokens_renew_themselves(stage: Stage, onyx: Onyx) -> None:
    onyx.admin.add_person("mara", "Mara")
    onyx.admin.set_password("mara", "grüner Käse & bread")
    pairs: list[types.TokenReply] = []
    with Onyx.sign_in(stage.url, "mara", "grüner Käse & bread", renewed=pairs.append) as mara:
        assert mara.me()["person"] == "mara"
        with pytest.raises(Forbidden):
            mara.admin.people()
    with pytest.raises(Unauthenticated) as caught:
        Onyx.sign_in(stage.url, "mara", "wrong")
    assert caught.value.hint
    # The program kept the pair of tokens until the short-lived one had expired.
    kept = RenewingToken(stage.url, "old", pairs[0]["refresh_token"], pairs.append)
    with Onyx(stage.url, kept) as later:
        assert later.me()["person"] == "mara"
        assert kept.current() == pairs[1]["access_token"]
        later.auth.sign_out()
        with pytest.raises(Unauthenticated):
            later.me()
    pairing = Onyx(stage.url).auth.begin_pairing("kitchen display")
    onyx.admin.decide_pairing(pairing["code"], "approve", "mara")
    token = Onyx(stage.url).auth.finish_pairing(pairing["pairing_id"])
    assert Onyx(stage.url, token).me()["person"] == "mara"


# Routes for other makers' clients, for browsers, and for programs that check whether the server is alive.
NOT_OURS = re.compile(
    r"^/(v1/(chat|responses|messages|conversations|embeddings|completions|audio|images|moderations|models/)"
    r"|mcp$|ws$|docs$|openapi.json$|metrics$|health$|ready$|auth/link|oauth|widget|connectors/|\.well-known"
    r"|api/v1/chat/\{id\}/stream$|api/claude/|api/oauth/|api/agent/health$|api/auth/login$|api/linkedin/callback$)"
)
LEFT_OUT = {
    # PATCH does the same and keeps the other fields.
    ("PUT", "/v1/agents/{id}"),
    # This route stands for `…/accept` and `…/restore`, which have methods.
    ("POST", "/v1/memory/files/{path}"),
}


def test_every_route_of_the_server_has_a_method() -> None:
    document = json.loads((CLIENTS / "../docs/openapi.json").read_text())
    routes = {
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method in methods
        if not NOT_OURS.match(path) and not methods[method].get("deprecated")
    }
    missing = sorted(routes - called() - LEFT_OUT)
    assert missing == [], "give these a method in both clients, or a line in LEFT_OUT with the reason"


def called() -> set[tuple[str, str]]:
    """Returns method and address of every call in the source of the async client."""
    found: set[tuple[str, str]] = set()
    for file in (CLIENTS / "py/src/onyx_sdk/_async").glob("*.py"):
        tree = ast.parse(file.read_text())
        names = constants(tree)
        for function in ast.walk(tree):
            if isinstance(function, ast.AsyncFunctionDef):
                found |= calls(function, names | constants(function))
    return found


def calls(function: ast.AsyncFunctionDef, names: dict[str, str]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        texts = [text_of(argument, names) for argument in node.args]
        paths = [text for text in texts if text.startswith("/")]
        methods = [text for text in texts if text in ("GET", "POST", "PUT", "PATCH", "DELETE")]
        # A call that starts a run names no method, because it is always POST.
        found |= {(methods[0] if methods else "POST", path) for path in paths}
    return found


def constants(node: ast.AST) -> dict[str, str]:
    """Returns the names to which this node, or a node in it, assigns a text."""
    return {
        target.id: text_of(assigned.value, {})
        for assigned in ast.walk(node)
        if isinstance(assigned, ast.Assign) and text_of(assigned.value, {})
        for target in assigned.targets
        if isinstance(target, ast.Name)
    }


def text_of(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.BinOp):
        return text_of(node.left, names) + text_of(node.right, names)
    return ""


#: Methods that only TypeScript has: listeners instead of a stream of events, and names that differ in Python.
ONLY_TYPESCRIPT = {
    "threads": {"onChunk", "onComplete", "onError", "onConfirm"},
}


def test_both_clients_have_the_same_methods(onyx: Onyx) -> None:
    index = (CLIENTS / "ts/src/index.ts").read_text()
    rooms: dict[str, str] = dict(re.findall(r"this\.(\w+) = new (\w+)\(this\.http\)", index))
    assert len(rooms) > 15
    for room, name in rooms.items():
        if room in ("http", "oauth"):
            continue
        theirs = typescript_methods(name) - ONLY_TYPESCRIPT.get(room, set())
        python = getattr(onyx, room)
        ours = {method for method in dir(python) if not method.startswith("_") and callable(getattr(python, method))}
        wanted = {re.sub(r"([A-Z])", r"_\1", method).lower() for method in theirs}
        assert wanted - ours == set(), f"{room} of the Python client lacks these"
        extra = ours - wanted
        assert extra <= ({"events"} if room == "threads" else set()), f"{room} of the TypeScript client lacks these"


def typescript_methods(name: str) -> set[str]:
    for file in (CLIENTS / "ts/src").glob("*.ts"):
        match = re.search(rf"export class {name} {{(.*?)\n}}", file.read_text(), re.DOTALL)
        if match:
            methods = re.findall(r"^  (?:async )?\*?(\w+)\(", match.group(1), re.MULTILINE)
            return set(methods) - {"constructor", "if", "for", "return"}
    raise AssertionError(f"there is no class {name}")
