"""How a program gets a token: with another credential, with name and password, or by pairing."""

from __future__ import annotations

from asyncio import Lock, sleep
from base64 import b64encode
from collections.abc import Callable

import httpx

from onyx_sdk import types
from onyx_sdk._async.http import AsyncHttp
from onyx_sdk._check import check_text
from onyx_sdk._errors import Forbidden, Unauthenticated

ASK_AGAIN = 1.0


class Auth:
    """How a program gets a token."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def exchange(self) -> types.TokenReply:
        """Exchanges this client's credential for a short-lived token and a refresh token."""
        return await self._http.json("POST", "/api/auth/token")

    async def refresh(self, refresh_token: str) -> types.TokenReply:
        body = {"refresh_token": check_text("refresh_token", refresh_token)}
        return await self._http.json("POST", "/api/auth/refresh", body=body)

    async def sign_out(self) -> None:
        """Ends a sign-in: its tokens become invalid."""
        await self._http.json("POST", "/api/auth/logout")

    async def begin_pairing(self, name: str) -> types.PairingBegun:
        """Starts a pairing. The owner approves its code in the app or with ``onyx pair``."""
        body = {"name": check_text("name", name), "client": "device"}
        return await self._http.json("POST", "/api/auth/pair", body=body)

    async def finish_pairing(self, pairing_id: str) -> str:
        """Waits until the owner has decided and returns the token."""
        while True:
            answer: types.PairingReply = await self._http.json("GET", "/api/auth/pair/{id}", {"id": pairing_id})
            token = answer.get("token")
            if answer["status"] == "approved" and token:
                return token
            if answer["status"] == "rejected":
                raise Forbidden("forbidden", "The owner rejected the pairing.", "Ask the owner, then pair again.")
            await sleep(ASK_AGAIN)


class AsyncRenewingToken:
    """A token that renews itself: give it to ``AsyncOnyx(token=…)``.

    ``renewed`` is called with each new pair, so that you can store it.
    """

    def __init__(
        self,
        base_url: str,
        access_token: str,
        refresh_token: str,
        renewed: Callable[[types.TokenReply], None] | None = None,
        *,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._base_url = base_url
        self._access_token = access_token
        self._refresh_token = refresh_token
        self._renewed = renewed
        self._client = http_client
        self._lock = Lock()

    def current(self) -> str | None:
        return self._access_token

    async def refresh(self) -> bool:
        async with self._lock:
            http = AsyncHttp(self._base_url, http_client=self._client)
            try:
                pair = await Auth(http).refresh(self._refresh_token)
            except Unauthenticated:
                # Signed out in the meantime: the caller gets the 401.
                return False
            finally:
                await http.aclose()
            self._access_token, self._refresh_token = pair["access_token"], pair["refresh_token"]
            if self._renewed is not None:
                self._renewed(pair)
            return True


async def sign_in(
    base_url: str,
    person: str,
    password: str,
    renewed: Callable[[types.TokenReply], None] | None = None,
    *,
    http_client: httpx.AsyncClient | None = None,
) -> AsyncRenewingToken:
    """Signs a program in with name and password."""
    check_text("person", person)
    check_text("password", password)
    basic = b64encode(f"{person}:{password}".encode()).decode()
    http = AsyncHttp(base_url, headers={"authorization": f"Basic {basic}"}, http_client=http_client)
    try:
        pair = await Auth(http).exchange()
    finally:
        await http.aclose()
    if renewed is not None:
        renewed(pair)
    tokens = pair["access_token"], pair["refresh_token"]
    return AsyncRenewingToken(base_url, *tokens, renewed, http_client=http_client)
