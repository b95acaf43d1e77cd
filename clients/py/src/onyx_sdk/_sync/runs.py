"""Runs: their events, their changes, and how to stop them."""
# Made from the async client by generate.py: change that one.

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any, cast

from onyx_sdk import types
from onyx_sdk._sync.http import SyncHttp, Backoff, events, lines
from onyx_sdk._errors import Interrupted, Offline
from onyx_sdk._run_lines import PATIENCE, LinesReceived, TextsReceived, line_of


class Runs:
    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def events(
        self, run_id: str, *, after: int = 0, patience: int | None = None
    ) -> Generator[types.Envelope, None, None]:
        """Yields the events of a run after ``after``, then new ones until it is done.

        A lost connection is resumed where it broke off, for ever, or at most ``patience`` times in a
        row without anything new.
        """
        last = after
        backoff = Backoff()
        texts = TextsReceived(began_in_the_middle=after > 0)
        while True:
            headers = {"last-event-id": f"{run_id}:{last}"} if last > 0 else {}
            try:
                path = {"id": run_id}
                with self._http.stream("GET", "/api/runs/{id}/events", path, headers=headers) as response:
                    for event in events(response):
                        told: dict[str, Any] = json.loads(event.data)
                        if told["seq"] <= last:
                            continue
                        last = told["seq"]
                        backoff.worked()
                        news = texts.take(told)
                        if news is not None:
                            yield cast(types.Envelope, news)
                        if told["type"] == "done":
                            return
            except Offline:
                # The server may be restarting; missed events are read from the log.
                pass
            backoff.failures += 1
            if patience is not None and backoff.failures >= patience:
                raise Interrupted({"run_id": run_id})
            backoff.wait()

    def cancel(self, run_id: str) -> bool:
        """Stops it; returns whether there was something to stop."""
        answer: types.Stopped = self._http.json("POST", "/api/runs/{id}/cancel", {"id": run_id})
        return answer["stopped"]

    def undo(self, run_id: str, *, dry_run: bool | None = None) -> list[str]:
        """Undoes a run's file changes; returns the restored paths, or with ``dry_run`` those that would be."""
        query = {"dry_run": dry_run}
        answer: types.Undone = self._http.json("POST", "/api/runs/{id}/undo", {"id": run_id}, query=query)
        return answer["restored"]

    def redo(self, run_id: str) -> list[str]:
        """Redoes undone changes; returns the paths."""
        answer: types.Redone = self._http.json("POST", "/api/runs/{id}/redo", {"id": run_id})
        return answer["restored"]

    def changes(self, run_id: str) -> types.ChangesOfRun:
        return self._http.json("GET", "/api/runs/{id}/changes", {"id": run_id})

    def artifact(self, key: str) -> str:
        """The whole of a tool's long output, by the ``artifact`` of its report."""
        return (self._http.response("GET", "/api/artifacts/{key}", {"key": key})).text


def run_lines(
    http: SyncHttp, template: str, values: dict[str, object], body: object
) -> Generator[types.Line, None, None]:
    """Starts a run and yields its lines up to ``done``.

    The run belongs to its caller: leaving stops it. When the connection is cut, the rest is read from the
    events of the run. If the server noticed the cut first, it has stopped the run: that is ``Interrupted``,
    never a short answer that looks whole.
    """
    received = LinesReceived()
    run_id, session_id = "", ""
    with http.stream("POST", template, values, body=body) as response:
        for text in lines(response):
            if not text.strip():
                continue
            line: types.Line = json.loads(text)
            if line["type"] == "start":
                run_id, session_id = line["run_id"], line["session_id"]
            received.note(line)
            yield line
            if line["type"] == "done":
                return
    if not run_id:
        raise Interrupted()
    for event in Runs(http).events(run_id, patience=PATIENCE):
        news = received.news(line_of(cast(dict[str, Any], event), session_id))
        if news is None:
            continue
        if news["type"] == "done" and news["status"] in ("cancelled", "interrupted"):
            raise Interrupted({"session_id": session_id, "run_id": run_id})
        yield news
