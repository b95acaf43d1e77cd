"""Agents and their work: files, personas, actions, jobs, and the person's preferences."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import cast, List, Unpack

from onyx_sdk import types
from onyx_sdk._async.http import AsyncHttp, events
from onyx_sdk._async.runs import run_lines
from onyx_sdk._check import check_job, check_text, check_uuid, given
from onyx_sdk._errors import Interrupted
from onyx_sdk._files import MARKDOWN, StoredFile, when


class Agents:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[types.AgentView]:
        answer: types.AgentList = await self._http.json("GET", "/v1/agents")
        return answer["agents"]

    async def get(self, id: str) -> types.AgentDetails:
        return await self._http.json("GET", "/v1/agents/{id}", {"id": id})

    async def create(self, id: str, **fields: Unpack[types.AgentFieldsInput]) -> types.AgentDetails:
        check_text("id", id)
        return await self._http.json("POST", "/v1/agents", body={"id": id, **fields})

    async def update(self, id: str, **change: Unpack[types.AgentFieldsInput]) -> types.AgentDetails:
        """Changes only the named fields; ``None`` resets one to its default."""
        return await self._http.json("PATCH", "/v1/agents/{id}", {"id": id}, body=change)

    async def remove(self, id: str) -> None:
        await self._http.json("DELETE", "/v1/agents/{id}", {"id": id})

    async def read_file(self, id: str, name: str) -> StoredFile:
        response = await self._http.response("GET", "/v1/agents/{id}/files/{name}", {"id": id, "name": name})
        return StoredFile.of(response.text, response.headers)

    async def write_file(self, id: str, name: str, text: str, version: str | None = None) -> str:
        response = await self._http.response(
            "PUT",
            "/v1/agents/{id}/files/{name}",
            {"id": id, "name": name},
            content=text.encode(),
            headers={**MARKDOWN, **when(version)},
        )
        return str(response.headers.get("etag", ""))

    async def accept_file(self, id: str, name: str, version: str) -> None:
        """"I have read this": accepts text that an agent wrote into its own file."""
        path = {"id": id, "name": name}
        await self._http.json("POST", "/v1/agents/{id}/files/{name}/accept", path, body={"seen": version})


class Personas:
    """Agents as personas: their texts, their test inputs, and the agent that edits them."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def get(self, id: str) -> types.PersonaView:
        return await self._http.json("GET", "/api/storage/personas/{id}", {"id": id})

    async def put(self, id: str, *, name: str | None = None, system_prompt: str | None = None) -> types.PersonaView:
        """Creates a persona, or changes its named fields."""
        body = given(name=name, systemPrompt=system_prompt)
        return await self._http.json("PUT", "/api/storage/personas/{id}", {"id": id}, body=body)

    async def remove(self, id: str) -> None:
        await self._http.json("DELETE", "/api/storage/personas/{id}", {"id": id})

    async def test_inputs(self, id: str) -> List[types.TestInputView]:
        answer: types.TestInputList = await self._http.json(
            "GET", "/api/storage/personas/{id}/test-inputs", {"id": id}
        )
        return answer["testInputs"]

    async def test_input(self, id: str, input: str) -> types.TestInputView:
        path = {"id": id, "tid": input}
        return await self._http.json("GET", "/api/storage/personas/{id}/test-inputs/{tid}", path)

    async def create_test_input(self, id: str, content: str) -> types.TestInputView:
        body = {"content": content}
        return await self._http.json("POST", "/api/storage/personas/{id}/test-inputs", {"id": id}, body=body)

    async def update_test_input(self, id: str, input: str, content: str) -> types.TestInputView:
        path = {"id": id, "tid": input}
        template = "/api/storage/personas/{id}/test-inputs/{tid}"
        return await self._http.json("PUT", template, path, body={"content": content})

    async def remove_test_input(self, id: str, input: str) -> None:
        path = {"id": id, "tid": input}
        await self._http.json("DELETE", "/api/storage/personas/{id}/test-inputs/{tid}", path)

    async def run_test_input(self, id: str, input: str) -> AsyncGenerator[types.PersonaEvent, None]:
        """Runs the persona on a message, without its memory and without the right to change anything."""
        template = "/api/storage/personas/{id}/test-inputs/{tid}/run"
        async for event in self._events(template, {"id": id, "tid": input}, {}):
            yield event

    async def chat(self, persona_id: str, message: str) -> AsyncGenerator[types.PersonaEvent, None]:
        """Sends a message to the agent that edits the persona."""
        body = {"personaId": persona_id, "message": check_text("message", message)}
        async for event in self._events("/api/persona-agent/chat", {}, body):
            yield event

    async def clear(self, persona_id: str) -> str:
        """Archives the conversation with the editor; returns the next session."""
        body = {"personaId": persona_id}
        answer: types.PersonaCleared = await self._http.json("POST", "/api/persona-agent/clear", body=body)
        return answer["sessionId"]

    async def history(
        self, persona_id: str, *, before: int | None = None, limit: int | None = None
    ) -> types.PersonaHistory:
        query = {"personaId": persona_id, "before": before, "limit": limit}
        return await self._http.json("GET", "/api/persona-agent/history", query=query)

    async def _events(
        self, template: str, path: dict[str, object], body: object
    ) -> AsyncGenerator[types.PersonaEvent, None]:
        async with self._http.stream("POST", template, path, body=body) as response:
            async for event in events(response):
                told = cast(types.PersonaEvent, json.loads(event.data))
                yield told
                if told["type"] == "done":
                    return
        raise Interrupted()


class Actions:
    """Prompt files of the person's vault that can be run."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[types.ActionView]:
        """Every action file; a broken one says why it cannot run."""
        return await self._http.json("GET", "/api/agent/actions")

    async def prompt(self, id: str, selection: str | None = None) -> str:
        """The prompt that the agent would receive now."""
        body = given(selection=selection)
        answer: types.ActionPrompt = await self._http.json(
            "POST", "/api/agent/actions/{id}/prompt", {"id": id}, body=body
        )
        return answer["prompt"]

    async def past(self, *, before: str | None = None, limit: int | None = None) -> types.ActionRuns:
        """Past runs of actions, newest first."""
        query = {"before": before, "limit": limit}
        return await self._http.json("GET", "/api/agent/action-runs", query=query)

    async def run(
        self,
        id: str,
        *,
        session_id: str | None = None,
        confirm: bool | None = None,
        dry_run: bool | None = None,
        selection: str | None = None,
    ) -> AsyncGenerator[types.Line, None]:
        """Runs the action; the first line is ``start``, the last ``done``. Leaving the loop stops the run."""
        check_uuid("session_id", session_id)
        body = given(session_id=session_id, confirm=confirm, dry_run=dry_run, selection=selection)
        async for line in run_lines(self._http, "/api/agent/actions/{id}/run", {"id": id}, body):
            yield line


class Jobs:
    """Jobs: work that happens at a set time."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[types.JobView]:
        """Every job; a broken one says what is wrong."""
        answer: types.JobViews = await self._http.json("GET", "/api/jobs")
        return answer["jobs"]

    async def get(self, id: str) -> types.JobView:
        return await self._http.json("GET", "/api/jobs/{id}", {"id": id})

    async def create(self, id: str, **fields: Unpack[types.JobChangeBody]) -> types.JobView:
        """Creates a job and accepts it."""
        check_text("id", id)
        check_job(fields)
        return await self._http.json("POST", "/api/jobs", body={"id": id, **fields})

    async def change(self, id: str, **fields: Unpack[types.JobChangeBody]) -> types.JobView:
        """Changes the named fields and accepts the result; ``None`` removes a field."""
        return await self._http.json("PATCH", "/api/jobs/{id}", {"id": id}, body=fields)

    async def preview(self, **fields: Unpack[types.JobChangeBody]) -> types.JobPreview:
        """Previews a job: a description and its next times, or what is wrong with it."""
        return await self._http.json("POST", "/api/jobs/preview", body=fields)

    async def accept(self, id: str, hash: str) -> types.JobView:
        """Accepts a job that someone else wrote or changed, exactly as it was reviewed."""
        return await self._http.json("POST", "/api/jobs/{id}/accept", {"id": id}, body={"hash": hash})

    async def run(self, id: str) -> types.JobRunView:
        """Runs the job once, now."""
        return await self._http.json("POST", "/api/jobs/{id}/run", {"id": id})

    async def pause(self, id: str) -> types.JobView:
        return await self._http.json("POST", "/api/jobs/{id}/pause", {"id": id})

    async def resume(self, id: str) -> types.JobView:
        return await self._http.json("POST", "/api/jobs/{id}/resume", {"id": id})

    async def seen(self, id: str) -> types.JobView:
        """Marks the job's results as seen."""
        return await self._http.json("PUT", "/api/jobs/{id}/seen", {"id": id})

    async def remove(self, id: str) -> None:
        await self._http.json("DELETE", "/api/jobs/{id}", {"id": id})

    async def runs(self, id: str, *, before: str | None = None, limit: int | None = None) -> types.JobRuns:
        """Newest first."""
        query = {"before": before, "limit": limit}
        return await self._http.json("GET", "/api/jobs/{id}/runs", {"id": id}, query=query)


class Preferences:
    """A person's preferences for their agents."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def get(self) -> types.PreferencesView:
        return await self._http.json("GET", "/api/agent/config")

    async def health(self) -> types.AgentHealth:
        """The health of the agents, including the runtime that the person chose for Anthropic's models."""
        return await self._http.json("GET", "/api/agent/health")

    async def set(self, **change: Unpack[types.PreferencesChange]) -> types.PreferencesView:
        return await self._http.json("POST", "/api/agent/config", body=change)


class LinkedIn:
    """The caller's own LinkedIn account."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def account(self) -> types.LinkedInView:
        return await self._http.json("GET", "/api/linkedin")

    async def connect(self) -> types.LoginBegun:
        """Starts a sign-in and returns the address for the browser; ``account`` shows the result."""
        return await self._http.json("POST", "/api/linkedin/login", body={})

    async def finish(self, state: str, code: str | None = None, error: str | None = None) -> types.LinkedInView:
        """Finishes the caller's sign-in with the parameters that the browser brought back."""
        body = {"state": state, "code": code, "error": error}
        return await self._http.json("POST", "/api/linkedin/login/callback", body=body)

    async def check(self) -> types.LinkedInView:
        """Tests the sign-in at LinkedIn."""
        return await self._http.json("POST", "/api/linkedin/check", body={})

    async def revoke(self) -> types.LinkedInRevoked:
        """Deletes the sign-in and revokes it at LinkedIn; ``detail`` says why LinkedIn did not confirm."""
        return await self._http.json("DELETE", "/api/linkedin/login")
