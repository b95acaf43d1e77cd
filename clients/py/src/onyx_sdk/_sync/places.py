"""Where people and agents work together: spaces with their companion, channels, threads."""
# Made from the async client by generate.py: change that one.

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import cast, List, Literal, TypeAlias, Unpack

from onyx_sdk import types
from onyx_sdk._sync.http import SyncHttp, Backoff, events
from onyx_sdk._check import PLACES, check_one_of, check_text, given
from onyx_sdk._errors import Offline

# A parameter has the same name as the module.
Found: TypeAlias = types.SearchResultsView
#: The kinds of entities in a space, as they appear in addresses.
EntityPlace: TypeAlias = Literal["pages", "tasks", "refs", "projects"]
IN_SPACE = "/api/spaces/{id}/{kind}"
ENTITY = "/api/spaces/{id}/{kind}/{entity}"


@dataclass(frozen=True)
class CompanionEnvelope:
    """An event and the run it belongs to; no run if the message could not be answered at all."""

    type: Literal["tool", "delta", "draft", "confirm", "done", "error"]
    data: types.CompanionEvent
    run_id: str | None


@dataclass(frozen=True)
class ThreadEnvelope:
    type: Literal["chat:chunk", "chat:complete", "chat:error", "confirm", "error"]
    data: types.ThreadEvent


class Spaces:
    """Spaces, their entities and their companions."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self) -> List[types.SpaceView]:
        answer: types.SpaceList = self._http.json("GET", "/api/spaces")
        return answer["spaces"]

    def get(self, space: str) -> types.SpaceView:
        return self._http.json("GET", "/api/spaces/{id}", {"id": space})

    def create(self, name: str, *, id: str | None = None, default_agent: str | None = None) -> types.SpaceView:
        body = given(name=check_text("name", name), id=id, default_agent=default_agent)
        return self._http.json("POST", "/api/spaces", body=body)

    def update(self, space: str, **change: Unpack[types.SpacePatch]) -> types.SpaceView:
        return self._http.json("PATCH", "/api/spaces/{id}", {"id": space}, body=change)

    def remove(self, space: str) -> None:
        self._http.json("DELETE", "/api/spaces/{id}", {"id": space})

    def entities(
        self,
        space: str,
        place: EntityPlace,
        *,
        status: str | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> types.EntityList:
        """Last changed first; pass ``before`` of an answer to get the next page."""
        query = {"status": status, "before": before, "limit": limit}
        return self._http.json("GET", IN_SPACE, _at(space, place), query=query)

    def links_to(self, space: str, place: EntityPlace, target: str) -> List[types.EntityView]:
        """The entities of a place that link to ``target``, for example ``pages/floor``."""
        query = {"links_to": check_text("target", target), "limit": 500}
        answer: types.EntityList = self._http.json("GET", IN_SPACE, _at(space, place), query=query)
        return answer["entities"]

    def entity(self, space: str, place: EntityPlace, id: str) -> types.EntityView:
        return self._http.json("GET", ENTITY, {**_at(space, place), "entity": id})

    def add(self, space: str, place: EntityPlace, **entity: Unpack[types.NewEntity]) -> types.EntityView:
        check_text("title", entity.get("title"))
        return self._http.json("POST", IN_SPACE, _at(space, place), body=entity)

    def change(
        self, space: str, place: EntityPlace, id: str, version: str | None = None, **change: Unpack[types.EntityPatch]
    ) -> types.EntityView:
        """With ``version``, only that version is replaced; a newer one gives ``version_conflict``."""
        path = {**_at(space, place), "entity": id}
        return self._http.json("PATCH", ENTITY, path, body=change, headers=_if_match(version))

    def take(self, space: str, place: EntityPlace, id: str, version: str | None = None) -> None:
        """Removes it."""
        path = {**_at(space, place), "entity": id}
        self._http.json("DELETE", ENTITY, path, headers=_if_match(version))

    def capture(self, space: str, **capture: Unpack[types.CaptureRequest]) -> types.EntityView:
        """Saves something from outside as a ref: ``url``, ``text``, or a file as base64 (``data``, ``name``)."""
        return self._http.json("POST", "/api/spaces/{id}/capture", {"id": space}, body=capture)

    def search(
        self, q: str, *, space: str | None = None, types: str | None = None, limit: int | None = None
    ) -> Found:
        """Searches one space or all; ``types`` are separated by commas."""
        query = {"q": check_text("q", q), "space": space, "types": types, "limit": limit}
        return self._http.json("GET", "/api/search", query=query)

    def companion(self, space: str) -> types.CompanionView:
        """The companion conversation of a space; created if there is none."""
        return self._http.json("GET", "/api/spaces/{id}/companion", {"id": space})

    def messages(
        self, conversation: str, *, before: str | None = None, limit: int | None = None
    ) -> types.Messages:
        query = {"before": before, "limit": limit}
        return self._http.json("GET", "/api/conversations/{id}/messages", {"id": conversation}, query=query)

    def post(self, conversation: str, content: str, view: types.ViewRequest | None = None) -> str:
        """Stores a message; ``stream`` requests its answer. ``view`` is what the person is looking at."""
        body = given(content=check_text("content", content), view=view)
        answer: types.Posted = self._http.json(
            "POST", "/api/conversations/{id}/messages", {"id": conversation}, body=body
        )
        return answer["message_id"]

    def stream(
        self, conversation: str, *, message_id: str | None = None
    ) -> Generator[CompanionEnvelope, None, None]:
        """Requests the answer to a message, joins a running one, or replays a finished one; by default the latest.

        The run does not depend on this stream: after a lost connection the stream resumes and runs nothing again.
        """
        last = ""
        backoff = Backoff()
        while True:
            headers = {"last-event-id": last} if last else {}
            try:
                with self._http.stream(
                    "GET",
                    "/api/conversations/{id}/stream",
                    {"id": conversation},
                    query={"messageId": message_id},
                    headers=headers,
                ) as response:
                    for event in events(response):
                        last = event.id or last
                        backoff.worked()
                        run_id = event.id.split(":")[0] or None
                        kind = cast(Literal["done"], event.event)
                        yield CompanionEnvelope(kind, cast(types.CompanionEvent, json.loads(event.data)), run_id)
                        if kind == "done":
                            return
            except Offline:
                # The server may be restarting.
                pass
            backoff.wait()


class Channels:
    """Channels: places in a space where coworkers answer in threads."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, space: str | None = None) -> List[types.ChannelView]:
        answer: types.ChannelList = self._http.json("GET", "/api/channels", query={"space": space})
        return answer["channels"]

    def get(self, id: str) -> types.ChannelView:
        return self._http.json("GET", "/api/channels/{id}", {"id": id})

    def create(self, space: str, name: str, *, purpose: str | None = None) -> types.ChannelView:
        body = given(space=check_text("space", space), name=check_text("name", name), purpose=purpose)
        return self._http.json("POST", "/api/channels", body=body)

    def update(self, id: str, *, name: str | None = None, purpose: str | None = None) -> types.ChannelView:
        """Changes only the named fields."""
        body = given(name=name, purpose=purpose)
        return self._http.json("PATCH", "/api/channels/{id}", {"id": id}, body=body)

    def remove(self, id: str) -> None:
        """Deletes the channel with its threads."""
        self._http.json("DELETE", "/api/channels/{id}", {"id": id})

    def coworkers(self, id: str) -> List[types.CoworkerView]:
        answer: types.CoworkerList = self._http.json("GET", "/api/channels/{id}/coworkers", {"id": id})
        return answer["coworkers"]

    def assign(self, id: str, agent: str, *, primary: bool | None = None) -> List[types.CoworkerView]:
        """Assigns a coworker. For one who is assigned already, only the primary changes."""
        body = given(agent=check_text("agent", agent), primary=primary)
        answer: types.CoworkerList = self._http.json(
            "POST", "/api/channels/{id}/coworkers", {"id": id}, body=body
        )
        return answer["coworkers"]

    def set_primary(self, id: str, agent: str, primary: bool = True) -> List[types.CoworkerView]:
        path = {"id": id, "agent": agent}
        answer: types.CoworkerList = self._http.json(
            "PATCH", "/api/channels/{id}/coworkers/{agent}", path, body={"primary": primary}
        )
        return answer["coworkers"]

    def dismiss(self, id: str, agent: str) -> None:
        self._http.json("DELETE", "/api/channels/{id}/coworkers/{agent}", {"id": id, "agent": agent})


class Threads:
    """Threads, the conversations of a channel. A thread's id is its session's id."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, channel: str | None = None) -> List[types.ThreadView]:
        """Newest first."""
        answer: types.ThreadList = self._http.json("GET", "/api/threads", query={"channel": channel})
        return answer["threads"]

    def get(self, id: str) -> types.ThreadView:
        return self._http.json("GET", "/api/threads/{id}", {"id": id})

    def create(self, channel: str, title: str) -> types.ThreadView:
        body = {"channel": check_text("channel", channel), "title": check_text("title", title)}
        return self._http.json("POST", "/api/threads", body=body)

    def rename(self, id: str, title: str) -> types.ThreadView:
        return self._http.json("PATCH", "/api/threads/{id}", {"id": id}, body={"title": title})

    def remove(self, id: str) -> None:
        self._http.json("DELETE", "/api/threads/{id}", {"id": id})

    def context(self, id: str, q: str) -> types.ThreadContext:
        """What retrieval would supply to a message, best first."""
        return self._http.json("GET", "/api/threads/{id}/context", {"id": id}, query={"q": q})

    def answerers(self, id: str, q: str) -> List[str]:
        """The agents that would answer a message with this text, in their order."""
        answer = self._http.json("GET", "/api/threads/{id}/answerers", {"id": id}, query={"q": q})
        return cast(List[str], answer["agents"])

    def send_message(self, thread_id: str, content: str) -> types.ThreadMessageSent:
        """Stores the message and starts the coworkers; ``events`` streams their answers."""
        body = {"content": check_text("content", content)}
        return self._http.json("POST", "/api/threads/{id}/messages", {"id": thread_id}, body=body)

    def messages(
        self, thread_id: str, *, before: str | None = None, limit: int | None = None
    ) -> List[types.ConversationMessage]:
        """The newest messages, or those before a message of the person; oldest first."""
        query = {"before": before, "limit": limit}
        answer: types.ThreadMessages = self._http.json(
            "GET", "/api/threads/{id}/messages", {"id": thread_id}, query=query
        )
        return answer["messages"]

    def cancel_message(self, message_id: str) -> bool:
        """The id of a question stops every answer to it. Returns whether there was something to stop."""
        answer: types.MessageCancelled = self._http.json(
            "POST", "/api/messages/{id}/cancel", {"id": message_id}
        )
        return answer["cancelled"]

    def events(self, thread_id: str) -> Generator[ThreadEnvelope, None, None]:
        """Streams what happens in a thread from now on, and an answer that just ended and was not delivered; a lost
        connection is resumed where it broke off."""
        last = ""
        backoff = Backoff()
        while True:
            headers = {"last-event-id": last} if last else {}
            try:
                path = {"id": thread_id}
                with self._http.stream("GET", "/api/threads/{id}/events", path, headers=headers) as response:
                    for event in events(response):
                        last = event.id or last
                        backoff.worked()
                        kind = cast(Literal["error"], event.event)
                        yield ThreadEnvelope(kind, cast(types.ThreadEvent, json.loads(event.data)))
            except Offline:
                # The server may be restarting.
                pass
            backoff.wait()


def _at(space: str, place: str) -> dict[str, object]:
    check_one_of("place", place, PLACES)
    return {"id": check_text("space", space), "kind": place}


def _if_match(version: str | None) -> dict[str, str]:
    return {} if version is None else {"if-match": f'"{version}"'}
