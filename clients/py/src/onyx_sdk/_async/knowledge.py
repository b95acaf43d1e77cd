"""What agents know: memory and its files, knowledge sources, skills."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import List, Literal, NotRequired, TypeAlias, TypedDict, Unpack, cast

from onyx_sdk import types
from onyx_sdk._async.http import AsyncHttp, Backoff, events
from onyx_sdk._check import check_one_of, check_text, given
from onyx_sdk._errors import Offline
from onyx_sdk._files import MARKDOWN, StoredFile, when

FILE = "/v1/memory/files/{path}"
# Methods have the same names and would hide the types.
Bytes: TypeAlias = bytes
FileList: TypeAlias = types.FileList


class MemoryVersion(TypedDict):
    """A change of a file."""

    version: int
    ts: str
    # `person:<id>`, `agent:<id>` or `system`.
    author: str
    run_id: NotRequired[str | None]
    tool: str
    created: bool
    deleted: bool


class Memory:
    """What agents remember and may read: plain files and the search over them."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def search(
        self, q: str, *, agent: str | None = None, scope: str | None = None, limit: int | None = None
    ) -> types.SearchResultsView:
        query = {"q": check_text("q", q), "agent": agent, "scope": scope, "limit": limit}
        return await self._http.json("GET", "/v1/memory/search", query=query)

    async def status(self) -> types.IndexStatus:
        """The state of the index, to explain why something was not found."""
        return await self._http.json("GET", "/v1/memory/status")

    async def known(self, q: str | None = None) -> List[types.GraphEntity]:
        """Lists known people and things by a part of their name."""
        answer: types.Graph = await self._http.json("GET", "/v1/memory/graph", query={"q": q})
        return answer["entities"]

    async def entity(self, name: str) -> types.GraphEntityPage:
        """Everything known about one of them."""
        return _page(await self._http.json("GET", "/v1/memory/graph", query={"entity": check_text("name", name)}))

    async def merge(self, into: str, names: List[str]) -> types.GraphEntityPage:
        """Merges several names into one."""
        return _page(await self._http.json("POST", "/v1/memory/graph/merge", body={"into": into, "names": names}))

    async def split(
        self, name: str, *, into: str | None = None, paths: List[str] | None = None
    ) -> types.GraphEntityPage:
        """Splits a merged name off again; with ``into``, only for the texts at ``paths``."""
        apart = None if into is None else {"into": into, "paths": paths or []}
        return _page(await self._http.json("POST", "/v1/memory/graph/split", body=given(name=name, apart=apart)))

    async def files(
        self, *, types: str | None = None, after: str | None = None, limit: int | None = None
    ) -> FileList:
        """One page of the files, ordered by path; ``types`` are separated by commas."""
        query = {"types": types, "after": after, "limit": limit}
        return await self._http.json("GET", "/v1/memory/files", query=query)

    async def remember(
        self, text: str, target: Literal["daily", "memory"], *, heading: str | None = None, agent: str | None = None
    ) -> str:
        """Appends to the daily log, or under a heading of MEMORY.md; returns the path."""
        check_text("text", text)
        check_one_of("target", target, ("daily", "memory"))
        if target == "memory":
            check_text("heading", heading)
        body = given(text=text, target=target, heading=heading, agent=agent)
        answer: types.Remembered = await self._http.json("POST", "/v1/memory", body=body)
        return answer["path"]

    async def keep(self, agent: str | None = None) -> types.KeepingReport:
        """Lets an agent review its daily logs and propose, as drafts, what to keep."""
        return await self._http.json("POST", "/v1/memory/keep", body=given(agent=agent))

    async def read(self, path: str, *, cited: bool = False) -> StoredFile:
        """``cited``: the path is as an agent wrote it; the answer has the path from the person's root."""
        response = await self._http.response("GET", FILE, {"path": path}, query={"cited": True} if cited else None)
        return StoredFile.of(response.text, response.headers)

    async def write(self, path: str, text: str, version: str | None = None) -> str:
        """Writes a whole file. ``version`` is the version that was read; without it the file must not exist yet."""
        response = await self._http.response(
            "PUT", FILE, {"path": path}, content=text.encode(), headers={**MARKDOWN, **when(version)}
        )
        return str(response.headers.get("etag", ""))

    async def bytes(self, path: str) -> Bytes:
        """Reads a binary file."""
        return (await self._http.response("GET", FILE, {"path": path})).content

    async def write_bytes(self, path: str, content: Bytes) -> None:
        """Saves a picture or document in ``vault/attachments/``; refused if the name is taken."""
        headers = {"content-type": "application/octet-stream", "if-none-match": "*"}
        await self._http.response("PUT", FILE, {"path": path}, content=content, headers=headers)

    async def remove(self, path: str, version: str) -> None:
        await self._http.response("DELETE", FILE, {"path": path}, headers={"if-match": version})

    async def history(self, path: str) -> List[MemoryVersion]:
        """The changes of a file. Restoring one brings back the content before it."""
        answer: dict[str, List[MemoryVersion]] = await self._http.json("GET", FILE + "/history", {"path": path})
        return answer["versions"]

    async def version(self, path: str, version: int) -> str:
        """The content of the file before that change."""
        return (await self._http.response("GET", FILE, {"path": path}, query={"version": version})).text

    async def accept(self, path: str, version: str) -> None:
        """"I have read this": accepts the file's content as the person's own. ``version`` is the version read."""
        await self._http.json("POST", FILE + "/accept", {"path": path}, body={"seen": version})

    async def restore(self, path: str, version: int) -> None:
        await self._http.json("POST", FILE + "/restore", {"path": path}, body={"version": version})


def _page(graph: types.Graph) -> types.GraphEntityPage:
    return cast(types.GraphEntityPage, graph.get("entity"))


class SourceScope(TypedDict):
    """What a knowledge source is attached to."""

    type: Literal["space", "channel", "thread", "agent"]
    id: str


class Sources:
    """Knowledge sources that a person attached to a space, channel, thread or agent."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self, *, scope: str | None = None) -> List[types.SourceView]:
        """``scope`` is the id of the space, channel, thread or agent."""
        answer: types.SourceList = await self._http.json("GET", "/api/sources", query={"scope": scope})
        return answer["sources"]

    async def get(self, id: str) -> types.SourceView:
        return await self._http.json("GET", "/api/sources/{id}", {"id": id})

    async def add(
        self,
        scope: SourceScope,
        kind: Literal["file", "folder", "url", "text"],
        *,
        title: str | None = None,
        path: str | None = None,
        url: str | None = None,
        text: str | None = None,
        name: str | None = None,
        media_type: str | None = None,
        data: str | None = None,
    ) -> types.SourceView:
        """Adds a source, which is imported in the background; ``events`` reports the progress. ``data`` is base64."""
        check_one_of("kind", kind, ("file", "folder", "url", "text"))
        check_one_of("scope.type", scope.get("type", ""), ("space", "channel", "thread", "agent"))
        body = given(scope=scope, kind=kind, title=title, path=path, url=url, text=text)
        body |= given(name=name, media_type=media_type, data=data)
        return await self._http.json("POST", "/api/sources", body=body)

    async def sync(self, id: str) -> types.SourceView:
        """Reads the source's origin again."""
        return await self._http.json("POST", "/api/sources/{id}", {"id": id})

    async def remove(self, id: str) -> None:
        await self._http.json("DELETE", "/api/sources/{id}", {"id": id})

    async def events(self, id: str) -> AsyncGenerator[types.ProgressView, None]:
        """Streams the progress of an import to its end; after a lost connection it continues with the current state."""
        backoff = Backoff()
        while True:
            try:
                async with self._http.stream("GET", "/api/sources/{id}/events", {"id": id}) as response:
                    async for event in events(response):
                        backoff.worked()
                        yield cast(types.ProgressView, json.loads(event.data))
                        if event.event == "done":
                            return
            except Offline:
                # The server may be restarting.
                pass
            await backoff.wait()


class Skills:
    """Instructions that an agent opens when it needs them."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[types.SkillView]:
        answer: types.SkillViews = await self._http.json("GET", "/api/skills")
        return answer["skills"]

    async def get(self, name: str, agent: str | None = None) -> types.SkillView:
        return await self._http.json("GET", "/api/skills/{name}", {"name": name}, query={"agent": agent})

    async def file(self, name: str, file: str, agent: str | None = None) -> types.SkillFileView:
        """A file beside its ``SKILL.md``."""
        query = {"path": check_text("file", file), "agent": agent}
        return await self._http.json("GET", "/api/skills/{name}/file", {"name": name}, query=query)

    async def write(self, name: str, text: str) -> types.SkillView:
        """Writes a skill of the vault and accepts it."""
        return await self._http.json("PUT", "/api/skills/{name}", {"name": name}, body={"text": text})

    async def accept(self, name: str, hash: str) -> types.SkillView:
        """Accepts the skill with exactly the reviewed content, so that agents can open it."""
        return await self._http.json("POST", "/api/skills/{name}/accept", {"name": name}, body={"hash": hash})

    async def bring(self, **source: Unpack[types.SkillImport]) -> List[types.SkillView]:
        """Imports skills of others; they wait until they are accepted."""
        answer: types.SkillViews = await self._http.json("POST", "/api/skills/import", body=source)
        return answer["skills"]

    async def remove(self, name: str) -> None:
        await self._http.json("DELETE", "/api/skills/{name}", {"name": name})
