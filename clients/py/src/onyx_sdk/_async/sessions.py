"""Conversations, and the changes that wait for a person."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import cast, List, Literal, Unpack

from onyx_sdk import types
from onyx_sdk._async.http import AsyncHttp, Backoff, events
from onyx_sdk._check import check_one_of, given
from onyx_sdk._errors import Offline


class Sessions:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self,
        *,
        agent: str | None = None,
        status: types.SessionStatus | None = None,
        origin: str | None = None,
        q: str | None = None,
        since: str | None = None,
        until: str | None = None,
        pinned: bool | None = None,
        tag: str | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> types.SessionList:
        """Newest first; ``before`` of an answer gives the next page."""
        query = given(agent=agent, status=status, origin=origin, q=q, since=since, until=until)
        query |= given(pinned=pinned, tag=tag, before=before, limit=limit)
        return await self._http.json("GET", "/v1/sessions", query=query)

    async def each(
        self, *, agent: str | None = None, status: types.SessionStatus | None = None, q: str | None = None
    ) -> AsyncGenerator[types.SessionView, None]:
        """All sessions, page by page."""
        before: str | None = None
        while True:
            page = await self.list(agent=agent, status=status, q=q, before=before)
            for session in page["sessions"]:
                yield session
            before = page.get("before")
            if before is None:
                return

    async def get(self, id: str) -> types.SessionWithSiblings:
        return await self._http.json("GET", "/v1/sessions/{id}", {"id": id})

    async def turns(self, id: str, *, before: int | None = None, limit: int | None = None) -> types.TurnList:
        query = {"before": before, "limit": limit}
        return await self._http.json("GET", "/v1/sessions/{id}/turns", {"id": id}, query=query)

    async def update(self, id: str, **change: Unpack[types.Patch]) -> types.SessionView:
        """Changes only the named fields; ``attached=None`` detaches the session."""
        check_one_of("status", change.get("status"), ("active", "archived"))
        return await self._http.json("PATCH", "/v1/sessions/{id}", {"id": id}, body=change)

    async def tags(self) -> List[types.TagCount]:
        """The tags of the person's conversations."""
        answer: types.TagList = await self._http.json("GET", "/v1/tags")
        return answer["tags"]

    async def rate(
        self, id: str, turn_id: str, *, rating: types.Rating | None = None, note: str | None = None
    ) -> types.Feedback:
        """Rates an answer, named by one of its text turns. Without a rating, the old one is removed."""
        path = {"id": id, "turn": turn_id}
        body = given(rating=rating, note=note)
        return await self._http.json("PUT", "/v1/sessions/{id}/turns/{turn}/feedback", path, body=body)

    async def about(self, entity: types.EntityRef) -> List[types.SessionView]:
        """The sessions attached to a page, task, ref or project, newest first."""
        path = {"id": entity["space"], "kind": f"{entity['kind']}s", "entity": entity["id"]}
        answer: types.AttachedConversations = await self._http.json(
            "GET", "/api/spaces/{id}/{kind}/{entity}/conversations", path
        )
        return answer["sessions"]

    async def remove(self, id: str) -> None:
        await self._http.json("DELETE", "/v1/sessions/{id}", {"id": id})

    async def mark_read(self, id: str) -> None:
        """Marks the session as read on every device."""
        await self._http.json("PUT", "/v1/sessions/{id}/read", {"id": id})

    async def queued(self, id: str) -> List[types.QueuedMessage]:
        """Messages that no run has read yet, for example because it was stopped."""
        answer: types.QueuedMessages = await self._http.json("GET", "/v1/sessions/{id}/queued", {"id": id})
        return answer["messages"]

    async def discard_queued(self, id: str, message: str) -> None:
        await self._http.json("DELETE", "/v1/sessions/{id}/queued/{message}", {"id": id, "message": message})

    async def fork(self, id: str, turn_id: str) -> types.SessionView:
        return await self._http.json("POST", "/v1/sessions/{id}/fork", {"id": id}, body={"turn_id": turn_id})

    async def export(self, id: str, format: Literal["markdown", "jsonl"]) -> str:
        check_one_of("format", format, ("markdown", "jsonl"))
        query = {"format": format}
        return (await self._http.response("GET", "/v1/sessions/{id}/export", {"id": id}, query=query)).text


class Drafts:
    """Changes that wait for a person."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self,
        *,
        state: types.DraftState | None = None,
        session: str | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> types.PendingChanges:
        query = {"state": state, "session": session, "before": before, "limit": limit}
        return await self._http.json("GET", "/api/pending-changes", query=query)

    async def get(self, id: str) -> types.PendingChange:
        return await self._http.json("GET", "/api/pending-changes/{id}", {"id": id})

    async def approve(
        self,
        id: str,
        *,
        scope: Literal["once", "run"] | None = None,
        plan_hash: str | None = None,
        reason: str | None = None,
    ) -> types.PendingChange:
        """With ``plan_hash``, only the reviewed change is approved. ``reason`` answers a question."""
        check_one_of("scope", scope, ("once", "run"))
        body = given(scope=scope, plan_hash=plan_hash, reason=reason)
        return await self._http.json("POST", "/api/pending-changes/{id}/approve", {"id": id}, body=body)

    async def reject(self, id: str, *, reason: str | None = None) -> types.PendingChange:
        body = given(reason=reason)
        return await self._http.json("POST", "/api/pending-changes/{id}/reject", {"id": id}, body=body)

    async def events(self) -> AsyncGenerator[types.PendingChange, None]:
        """Yields every new or changed draft. It reconnects automatically."""
        backoff = Backoff()
        while True:
            try:
                async with self._http.stream("GET", "/api/pending-changes/events") as response:
                    async for event in events(response):
                        backoff.worked()
                        yield cast(types.PendingChange, json.loads(event.data))
            except Offline:
                # The server may be restarting.
                pass
            await backoff.wait()

    async def of_members(self) -> types.MembersChanges:
        """For the owner: drafts that members may not approve themselves."""
        return await self._http.json("GET", "/api/admin/pending-changes")

    async def decide_for(
        self,
        person: str,
        id: str,
        decision: Literal["approve", "reject"],
        *,
        plan_hash: str | None = None,
        reason: str | None = None,
    ) -> types.PendingChange:
        """The owner's decision on a member's draft."""
        check_one_of("decision", decision, ("approve", "reject"))
        path = {"person": person, "id": id}
        if decision == "reject":
            template = "/api/admin/pending-changes/{person}/{id}/reject"
            return await self._http.json("POST", template, path, body=given(reason=reason))
        body = given(plan_hash=plan_hash, reason=reason)
        return await self._http.json("POST", "/api/admin/pending-changes/{person}/{id}/approve", path, body=body)
