"""Requests to one server with one credential: sending, retrying, and errors."""

from __future__ import annotations

from asyncio import Lock, sleep
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from onyx_sdk._check import check_base_url, check_query, check_token, fill
from onyx_sdk._errors import Offline, OnyxError, problem
from onyx_sdk._streams import Lines, ServerSentEvent, ServerSentEvents

RETRIES = 2
RETRY_FIRST = 0.2
RETRY_LONGEST = 5.0
#: If the server asks for a longer wait, the caller gets the error and decides.
LONGEST_WAIT = 30.0
READING = ("GET",)
REPEATABLE = ("GET", "PUT", "DELETE")


class AsyncTokenSource(Protocol):
    """Where the bearer token comes from."""

    def current(self) -> str | None: ...

    async def refresh(self) -> bool:
        """Called once after a 401; returns true if there is a new token."""
        ...


class FixedToken:
    def __init__(self, token: str | None) -> None:
        self._token = token

    def current(self) -> str | None:
        return self._token

    async def refresh(self) -> bool:
        return False


@dataclass(frozen=True)
class Call:
    """A request of a resource."""

    method: str
    template: str
    values: Mapping[str, object]
    query: Mapping[str, object]
    body: object
    content: bytes | None
    headers: Mapping[str, str]


class AsyncHttp:
    """Sends the requests that the resources describe."""

    def __init__(
        self,
        base_url: str,
        token: str | AsyncTokenSource | None = None,
        *,
        retries: int = RETRIES,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self.base_url = check_base_url(base_url)
        self.token = FixedToken(token) if isinstance(token, str) or token is None else token
        self.retries = retries
        self.timeout = timeout
        self.headers = dict(headers or {})
        self._owns_client = http_client is None
        self.client = http_client or httpx.AsyncClient(timeout=httpx.Timeout(None, connect=10.0))
        self._refreshing = Lock()

    async def aclose(self) -> None:
        """Closes the connections, unless the caller provided them."""
        if self._owns_client:
            await self.client.aclose()

    async def json(
        self,
        method: str,
        template: str,
        values: Mapping[str, object] | None = None,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON of the answer; ``None`` if it has none."""
        response = await self.response(method, template, values, query=query, body=body, headers=headers)
        return response.json() if response.content else None

    async def response(
        self,
        method: str,
        template: str,
        values: Mapping[str, object] | None = None,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """A successful answer; any other status raises an ``OnyxError``."""
        call = Call(method, template, values or {}, query or {}, body, content, headers or {})
        return await self._tried(call, stream=False)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        template: str,
        values: Mapping[str, object] | None = None,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[httpx.Response, None]:
        """A streamed answer; leaving the context closes the connection."""
        call = Call(method, template, values or {}, query or {}, body, None, headers or {})
        response = await self._tried(call, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    async def _tried(self, call: Call, *, stream: bool) -> httpx.Response:
        tries = 0
        while True:
            try:
                return await self._attempt(call, stream=stream)
            except OnyxError as error:
                pause = _pause_before(error, call.method, tries) if tries < self.retries else None
                if pause is None:
                    raise
                await sleep(pause)
                tries += 1

    async def _attempt(self, call: Call, *, stream: bool) -> httpx.Response:
        token = self.token.current()
        response = await self._send(self._request(call, token), stream=stream)
        if response.status_code == 401 and await self._renewed(token):
            await response.aclose()
            response = await self._send(self._request(call, self.token.current()), stream=stream)
        if response.is_success:
            return response
        try:
            await response.aread()
        finally:
            await response.aclose()
        raise problem(response.status_code, response.headers, _body(response))

    def _request(self, call: Call, token: str | None) -> httpx.Request:
        sent = {"x-onyx-request": "1", **self.headers, **call.headers}
        if token:
            sent["authorization"] = f"Bearer {check_token(token)}"
        return self.client.build_request(
            call.method,
            self.base_url + fill(call.template, call.values),
            params=check_query(call.query),
            json=call.body,
            content=call.content,
            headers=sent,
            timeout=httpx.Timeout(self.timeout, connect=self.timeout or 10.0, pool=None),
        )

    async def _send(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        try:
            return await self.client.send(request, stream=stream)
        except httpx.TimeoutException as cause:
            said = "The server did not answer in time."
            raise Offline("timeout", said, "Try again, or allow more with `timeout`.") from cause
        except httpx.TransportError as cause:
            said = f"The server cannot be reached ({cause})."
            hint = "Check that Onyx is running and that this device reaches it."
            raise Offline("offline", said, hint) from cause

    async def _renewed(self, seen: str | None) -> bool:
        """One refresh serves all requests that got a 401 in the meantime."""
        async with self._refreshing:
            return self.token.current() != seen or await self.token.refresh()


def _body(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        # The answer is not from Onyx but from a proxy, so only its status is known.
        return {}


def _pause_before(error: OnyxError, method: str, tries: int) -> float | None:
    """How long to wait before a retry; none if a retry would be unsafe or useless."""
    own = RETRY_FIRST * 2.0**tries
    # A lost answer may belong to a change that was made, so only reads are retried then.
    if error.code == "offline":
        return own if method in READING else None
    if method not in REPEATABLE or error.status not in (429, 503):
        return None
    wait = own if error.retry_after is None else error.retry_after
    return wait if wait <= LONGEST_WAIT else None


async def lines(response: httpx.Response) -> AsyncGenerator[str, None]:
    """The lines of an answer. A broken connection ends them; the reader knows what the last line must be."""
    cutter = Lines()
    try:
        async for data in response.aiter_bytes():
            for line in cutter.feed(data):
                yield line
    except httpx.TransportError:
        return


async def events(response: httpx.Response) -> AsyncGenerator[ServerSentEvent, None]:
    """The events of an answer; they end in the same way as lines."""
    cutter = ServerSentEvents()
    try:
        async for data in response.aiter_bytes():
            for event in cutter.feed(data):
                yield event
    except httpx.TransportError:
        return


class Backoff:
    """Growing pauses between attempts that bring nothing new."""

    def __init__(self) -> None:
        self._pause = RETRY_FIRST
        self.failures = 0

    def worked(self) -> None:
        self._pause = RETRY_FIRST
        self.failures = 0

    async def wait(self) -> None:
        await sleep(self._pause)
        self._pause = min(self._pause * 2, RETRY_LONGEST)
