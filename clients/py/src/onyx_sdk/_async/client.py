"""The client: one server, one credential, and every resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

import httpx

from onyx_sdk import types
from onyx_sdk._async.auth import Auth, sign_in
from onyx_sdk._async.chat import Chat
from onyx_sdk._async.http import RETRIES, AsyncHttp, AsyncTokenSource
from onyx_sdk._async.knowledge import Memory, Skills, Sources
from onyx_sdk._async.places import Channels, Spaces, Threads
from onyx_sdk._async.runs import Runs
from onyx_sdk._async.server import Admin, Connectors, Mcp, Plugins
from onyx_sdk._async.sessions import Drafts, Sessions
from onyx_sdk._async.work import Actions, Agents, Jobs, LinkedIn, Personas, Preferences
from onyx_sdk._check import check_text, given

BASE_URL = "http://127.0.0.1:18790"


class AsyncOnyx:
    """A client of one Onyx server."""

    def __init__(
        self,
        base_url: str = BASE_URL,
        token: str | AsyncTokenSource | None = None,
        *,
        retries: int = RETRIES,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """``retries``: how often a repeatable call is retried.

        After 429 and 503 calls that read, replace or delete are retried, when the server allows; after a lost
        connection only those that read. ``timeout``: the longest silence of the server in seconds; without it
        there is no limit. ``http_client``: your own, for proxies and certificates; it stays open.
        """
        http = AsyncHttp(
            base_url, token, retries=retries, timeout=timeout, headers=headers, http_client=http_client
        )
        self._use(http)

    def _use(self, http: AsyncHttp) -> None:
        self.http = http
        self.auth = Auth(http)
        self.chat = Chat(http)
        self.runs = Runs(http)
        self.sessions = Sessions(http)
        self.drafts = Drafts(http)
        self.spaces = Spaces(http)
        self.threads = Threads(http)
        self.channels = Channels(http)
        self.connectors = Connectors(http)
        self.sources = Sources(http)
        self.memory = Memory(http)
        self.agents = Agents(http)
        self.personas = Personas(http)
        self.actions = Actions(http)
        self.jobs = Jobs(http)
        self.skills = Skills(http)
        self.mcp = Mcp(http)
        self.plugins = Plugins(http)
        self.preferences = Preferences(http)
        self.linkedin = LinkedIn(http)
        self.admin = Admin(http)

    @classmethod
    async def sign_in(
        cls,
        base_url: str,
        person: str,
        password: str,
        *,
        renewed: Callable[[types.TokenReply], None] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> Self:
        """Signs in with name and password; the client's token is renewed automatically."""
        token = await sign_in(base_url, person, password, renewed, http_client=http_client)
        return cls(base_url, token, http_client=http_client)

    def with_options(
        self,
        *,
        retries: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncOnyx:
        """A copy of the client with other options, for example ``onyx.with_options(timeout=5)``."""
        http = AsyncHttp(
            self.http.base_url,
            self.http.token,
            retries=self.http.retries if retries is None else retries,
            timeout=self.http.timeout if timeout is None else timeout,
            headers={**self.http.headers, **(headers or {})},
            http_client=self.http.client,
        )
        other = AsyncOnyx.__new__(AsyncOnyx)
        other._use(http)
        return other

    async def me(self) -> types.Me:
        """The person and the rights behind this client's credential."""
        return await self.http.json("GET", "/api/auth/me")

    async def set_password(self, password: str, current: str | None = None) -> None:
        """Changes the password. Sign-ins made with the old password end."""
        body = given(password=check_text("password", password), current=current)
        await self.http.json("PUT", "/api/auth/password", body=body)

    async def health(self) -> list[types.Dependency]:
        """The health of everything that the server uses, each with its state and what to do."""
        answer: types.Everything = await self.http.json("GET", "/api/health")
        return answer["dependencies"]

    async def models(self) -> list[types.ListedModelView]:
        """Every model and agent that can be used."""
        answer: types.ModelList = await self.http.json("GET", "/v1/models")
        return answer["data"]

    async def aclose(self) -> None:
        await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
