"""The owner's calls: connections to networks and programs, and the server itself."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, List, Literal, Unpack, cast

from onyx_sdk import types
from onyx_sdk._async.http import AsyncHttp, events
from onyx_sdk._check import check_one_of, check_text, given
from onyx_sdk._files import StoredFile


class Connectors:
    """For the owner: accounts on other networks where agents answer."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> types.AccountList:
        return await self._http.json("GET", "/api/admin/connectors")

    async def get(self, network: str, account: str) -> types.AccountDetails:
        return await self._http.json("GET", ACCOUNT, _account(network, account))

    async def test(self, network: str, token: str) -> types.TestedAccount:
        """Tests a token at the network before it is stored."""
        body = {"network": check_text("network", network), "token": check_text("token", token)}
        return await self._http.json("POST", "/api/admin/connectors/test", body=body)

    async def test_account(self, network: str, account: str) -> types.TestedAccount:
        """Tests the stored token of an account at the network."""
        return await self._http.json("POST", ACCOUNT + "/test", _account(network, account))

    async def put(self, network: str, account: str, **settings: Unpack[types.PutAccount]) -> types.AccountDetails:
        """Connects an account; its token is stored as a secret."""
        return await self._http.json("PUT", ACCOUNT, _account(network, account), body=settings)

    async def remove(self, network: str, account: str) -> None:
        await self._http.json("DELETE", ACCOUNT, _account(network, account))

    async def pair(self, code: str) -> types.PeerJson:
        """Approves the peer who was given this code."""
        body = {"code": check_text("code", code)}
        return await self._http.json("POST", "/api/admin/connectors/pair", body=body)

    async def peers(self, network: str, account: str) -> List[types.PeerJson]:
        answer: types.PeerList = await self._http.json("GET", ACCOUNT + "/peers", _account(network, account))
        return answer["peers"]

    async def approve(self, peer: types.PeerJson, member: str | None = None) -> types.PeerJson:
        """``member`` names the person whose agents the peer talks to; by default the owner."""
        return await self._http.json("POST", PEER + "/approve", _peer(peer), body=given(member=member))

    async def block(self, peer: types.PeerJson) -> types.PeerJson:
        return await self._http.json("POST", PEER + "/block", _peer(peer))

    async def forget(self, peer: types.PeerJson) -> None:
        """Forgets a peer, as if the account had never met them."""
        await self._http.json("DELETE", PEER, _peer(peer))

    async def bind(self, peer: types.PeerJson, agent: str | None) -> None:
        """Sets the agent that answers a peer; without one the other bindings decide."""
        await self._http.json("PUT", PEER + "/agent", _peer(peer), body={"agent": agent})

    async def bind_account(self, network: str, account: str, agent: str | None) -> None:
        """Sets the agent that answers everyone who writes to an account."""
        await self._http.json("PUT", ACCOUNT + "/agent", _account(network, account), body={"agent": agent})

    async def dead_letters(self, network: str, account: str) -> List[types.LetterJson]:
        """Dead letters: updates that could not be answered, and messages that may not have arrived."""
        answer: types.LetterList = await self._http.json(
            "GET", ACCOUNT + "/dead-letters", _account(network, account)
        )
        return answer["dead_letters"]

    async def retry(self, network: str, account: str, letter: str) -> None:
        path = {**_account(network, account), "id": letter}
        await self._http.json("POST", ACCOUNT + "/dead-letters/{id}/retry", path)

    async def drop(self, network: str, account: str, letter: str) -> None:
        path = {**_account(network, account), "id": letter}
        await self._http.json("DELETE", ACCOUNT + "/dead-letters/{id}", path)


ACCOUNT = "/api/admin/connectors/{network}/{account}"
PEER = "/api/admin/connectors/{network}/{account}/peers/{id}"


def _account(network: str, account: str) -> dict[str, object]:
    return {"network": network, "account": account}


def _peer(peer: types.PeerJson) -> dict[str, object]:
    return {"network": peer["network"], "account": peer["account"], "id": peer["id"]}


class Mcp:
    """For the owner: programs that offer tools."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[types.McpServerView]:
        answer: types.McpServerViews = await self._http.json("GET", "/api/admin/mcp")
        return answer["servers"]

    async def get(self, name: str) -> types.McpServerView:
        return await self._http.json("GET", "/api/admin/mcp/{name}", {"name": name})

    async def add(self, servers: Mapping[str, Any]) -> List[types.McpServerView]:
        """Adds servers, written as in the configuration of other clients."""
        answer: types.McpServerViews = await self._http.json("POST", "/api/admin/mcp", body=servers)
        return answer["servers"]

    async def test(self, name: str) -> types.McpServerView:
        """Restarts the server and reads its tools."""
        return await self._http.json("POST", "/api/admin/mcp/{name}/test", {"name": name})

    async def accept(self, name: str, tools: Mapping[str, str]) -> types.McpServerView:
        """Accepts these tools exactly as they were reviewed, so that agents can use them."""
        return await self._http.json("POST", "/api/admin/mcp/{name}/accept", {"name": name}, body={"tools": tools})

    async def set_tool(
        self, name: str, tool: str, **settings: Unpack[types.McpToolSettings]
    ) -> types.McpServerView:
        path = {"name": name, "tool": tool}
        return await self._http.json("PUT", "/api/admin/mcp/{name}/tools/{tool}", path, body=settings)

    async def begin_login(self, name: str, redirect_uri: str) -> types.McpLoginBegun:
        """Returns the address at which a browser signs in to the server."""
        body = {"redirect_uri": check_text("redirect_uri", redirect_uri)}
        return await self._http.json("POST", "/api/admin/mcp/{name}/login", {"name": name}, body=body)

    async def finish_login(self, name: str, **callback: Unpack[types.McpCallback]) -> types.McpServerView:
        """Finishes the sign-in with the parameters that the browser brought to ``redirect_uri``."""
        return await self._http.json("POST", "/api/admin/mcp/{name}/login/finish", {"name": name}, body=callback)

    async def logout(self, name: str) -> types.McpServerView:
        return await self._http.json("POST", "/api/admin/mcp/{name}/logout", {"name": name})

    async def remove(self, name: str) -> None:
        await self._http.json("DELETE", "/api/admin/mcp/{name}", {"name": name})


PLUGIN = "/api/admin/plugins/{name}"


class Plugins:
    """For the owner: packages of other people. They do nothing until they are accepted."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[types.PluginWire]:
        answer: types.PluginWires = await self._http.json("GET", "/api/admin/plugins")
        return answer["plugins"]

    async def get(self, name: str) -> types.PluginWire:
        return await self._http.json("GET", PLUGIN, {"name": name})

    async def add(self, *, git: str | None = None, zip: str | None = None) -> types.PluginWire:
        """Adds a plugin, or another version of one; it waits until it is accepted. ``zip`` is an archive in base64."""
        return await self._http.json("POST", "/api/admin/plugins", body=given(git=git, zip=zip))

    async def accept(self, name: str, hash: str) -> types.PluginWire:
        """Accepts the plugin and its grants, exactly as they were reviewed."""
        body = {"hash": check_text("hash", hash)}
        return await self._http.json("POST", PLUGIN + "/accept", {"name": name}, body=body)

    async def enable(self, name: str) -> types.PluginWire:
        """Switches the plugin on, also restarting one that failed too often."""
        return await self._http.json("POST", PLUGIN + "/enable", {"name": name}, body={})

    async def disable(self, name: str) -> types.PluginWire:
        return await self._http.json("POST", PLUGIN + "/disable", {"name": name}, body={})

    async def set_config(self, name: str, config: Mapping[str, Any]) -> types.PluginWire:
        return await self._http.json("PUT", PLUGIN + "/config", {"name": name}, body=config)

    async def remove(self, name: str) -> None:
        await self._http.json("DELETE", PLUGIN, {"name": name})


PROVIDER = "/api/admin/providers/{name}"


class Admin:
    """Calls that only the owner may make."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def providers(self) -> List[types.ProviderView]:
        answer: types.Providers = await self._http.json("GET", "/api/admin/providers")
        return answer["providers"]

    async def provider(self, name: str) -> types.ProviderDetails:
        return await self._http.json("GET", PROVIDER, {"name": name})

    async def set_provider(self, name: str, settings: Mapping[str, Any], api_key: str | None = None) -> None:
        """Replaces the provider's settings. A key is stored encrypted, and the settings only name it."""
        body = given(settings=settings, api_key=api_key)
        await self._http.json("PUT", PROVIDER, {"name": name}, body=body)

    async def remove_provider(self, name: str) -> None:
        await self._http.json("DELETE", PROVIDER, {"name": name})

    async def test_provider(self, name: str) -> types.TestView:
        return await self._http.json("POST", PROVIDER + "/test", {"name": name})

    async def provider_models(self, name: str) -> List[types.ModelView]:
        """The models that the provider itself lists now."""
        answer: types.Models = await self._http.json("GET", PROVIDER + "/models", {"name": name})
        return answer["models"]

    async def found_providers(self) -> List[types.FoundProviderView]:
        """Model servers on the server's machine that could be added without a key."""
        answer: types.FoundProviders = await self._http.json("GET", "/api/admin/providers/found")
        return answer["found"]

    async def default_model(self) -> types.DefaultModel:
        """The model for agents without their own, the persona editor included."""
        return await self._http.json("GET", "/api/admin/default-model")

    async def set_default_model(self, primary: str | None, fallbacks: Sequence[str] = ()) -> types.DefaultModel:
        """``None`` means the first provider that works. The fallbacks are tried in order."""
        body = {"primary": primary, "fallbacks": list(fallbacks)}
        return await self._http.json("PUT", "/api/admin/default-model", body=body)

    async def provider_login(self, name: str) -> types.LoginView:
        return await self._http.json("GET", PROVIDER + "/login", {"name": name})

    async def begin_provider_login(self, name: str, way: str | None = None) -> types.LoginBegun:
        """Starts a sign-in, or returns the waiting one. ``provider_login`` shows its progress."""
        return await self._http.json("POST", PROVIDER + "/login", {"name": name}, query=given(way=way))

    async def finish_provider_login(self, name: str, address: str) -> types.LoginView:
        """Finishes a sign-in with the address that the browser ended at, if it could not reach the server."""
        body = {"address": check_text("address", address)}
        return await self._http.json("POST", PROVIDER + "/login/callback", {"name": name}, body=body)

    async def end_provider_login(self, name: str) -> None:
        """Signs out, or cancels a waiting sign-in."""
        await self._http.json("DELETE", PROVIDER + "/login", {"name": name})

    async def models(self) -> List[types.ModelView]:
        answer: types.Models = await self._http.json("GET", "/api/admin/models")
        return answer["models"]

    async def model(self, id: str) -> types.ModelView:
        return await self._http.json("GET", "/api/admin/models/{id}", {"id": id})

    async def people(self) -> List[types.Person]:
        answer: types.People = await self._http.json("GET", "/api/admin/people")
        return answer["people"]

    async def add_person(self, id: str, name: str | None = None) -> types.Person:
        return await self._http.json("POST", "/api/admin/people", body=given(id=check_text("id", id), name=name))

    async def remove_person(self, id: str) -> None:
        await self._http.json("DELETE", "/api/admin/people/{id}", {"id": id})

    async def set_password(self, id: str, password: str) -> None:
        body = {"password": check_text("password", password)}
        await self._http.json("PUT", "/api/admin/people/{id}/password", {"id": id}, body=body)

    async def remove_password(self, id: str) -> None:
        await self._http.json("DELETE", "/api/admin/people/{id}/password", {"id": id})

    async def tokens(self) -> List[types.CredentialView]:
        answer: types.Credentials = await self._http.json("GET", "/api/admin/tokens")
        return answer["tokens"]

    async def make_token(
        self,
        name: str,
        *,
        people: list[str] | None = None,
        scopes: List[types.Grant] | None = None,
        expires_in: int | None = None,
    ) -> types.TokenMade:
        body = given(name=check_text("name", name), people=people, scopes=scopes, expires_in=expires_in)
        return await self._http.json("POST", "/api/admin/tokens", body=body)

    async def revoke_token(self, id: str) -> None:
        await self._http.json("DELETE", "/api/admin/tokens/{id}", {"id": id})

    async def pairings(self) -> List[types.Pairing]:
        answer: types.Pairings = await self._http.json("GET", "/api/admin/pairings")
        return answer["pairings"]

    async def decide_pairing(
        self, code: str, decision: Literal["approve", "reject"], person: str | None = None
    ) -> None:
        check_one_of("decision", decision, ("approve", "reject"))
        if decision == "reject":
            await self._http.json("POST", "/api/admin/pairings/reject", body={"code": code})
        else:
            await self._http.json("POST", "/api/admin/pairings/approve", body=given(code=code, person=person))

    async def link(self) -> str:
        """A one-time link that signs the owner in, in a browser on the server's machine."""
        answer: types.Link = await self._http.json("POST", "/api/admin/links")
        return answer["url"]

    async def secrets(self) -> List[types.SecretView]:
        """Names and dates of the secrets; no value ever leaves the server."""
        answer: types.SecretList = await self._http.json("GET", "/api/admin/secrets")
        return answer["secrets"]

    async def set_secret(self, name: str, value: str) -> None:
        body = {"value": check_text("value", value)}
        await self._http.json("PUT", "/api/admin/secrets/{name}", {"name": name}, body=body)

    async def remove_secret(self, name: str) -> None:
        await self._http.json("DELETE", "/api/admin/secrets/{name}", {"name": name})

    async def rotate_secrets(self) -> int:
        """Encrypts every secret with a new key; returns their number."""
        answer: types.Rotated = await self._http.json("POST", "/api/admin/secrets/rotate")
        return answer["rotated"]

    async def gateways(self) -> List[types.GatewayView]:
        """The gateways that share one database, and the work of each; none for a single process."""
        answer: types.GatewayList = await self._http.json("GET", "/api/admin/gateways")
        return answer["gateways"]

    async def drain_gateway(self, id: str) -> None:
        """Drains a gateway: it starts nothing new until it is restarted. A silent one is removed from the list."""
        await self._http.json("POST", "/api/admin/gateways/{id}/drain", {"id": id})

    async def reindex(self) -> types.Reindexed:
        """Rebuilds the index from all logs and files."""
        return await self._http.json("POST", "/api/admin/reindex")

    async def budgets(self) -> types.Budgets:
        return await self._http.json("GET", "/api/admin/budgets")

    async def set_limits(self, **limits: Unpack[types.NewLimits]) -> types.Budgets:
        return await self._http.json("PUT", "/api/admin/budgets", body=limits)

    async def usage(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        person: str | None = None,
        agent: str | None = None,
        model: str | None = None,
    ) -> types.UsageReport:
        query = {"since": since, "until": until, "person": person, "agent": agent, "model": model}
        return await self._http.json("GET", "/api/admin/usage", query=query)

    async def config(self) -> StoredFile:
        """The config file. Pass its ``version`` with a change."""
        response = await self._http.response("GET", "/api/admin/config")
        view: types.ConfigView = response.json()
        return StoredFile.of(view["text"], response.headers)

    async def set_config(self, text: str, version: str) -> None:
        """Replaces the config. An invalid one is refused with the field's path, and the old one stays."""
        headers = {"if-match": version}
        await self._http.json("PUT", "/api/admin/config", body={"text": text}, headers=headers)

    async def import_export(
        self, source: types.ImportSource, file: bytes, *, dry_run: bool = False, skip_broken: bool = False
    ) -> types.ImportReport:
        """Imports an export of another program: a file, or a ZIP archive of its folder."""
        query = {"from": source, "dry_run": dry_run, "skip_broken": skip_broken}
        headers = {"content-type": "application/octet-stream"}
        response = await self._http.response("POST", "/api/admin/import", query=query, content=file, headers=headers)
        report: types.ImportReport = response.json()
        return report

    async def audit(
        self, *, person: str | None = None, before: int | None = None, limit: int | None = None
    ) -> types.AuditPage:
        query = {"person": person, "before": before, "limit": limit}
        return await self._http.json("GET", "/api/admin/audit", query=query)

    async def verify_audit(self) -> types.AuditChains:
        """Verifies for each person that no row was changed or removed."""
        return await self._http.json("GET", "/api/admin/audit/verify")

    async def log_level(self) -> types.LogLevels:
        """The server's log level now, and after its next start."""
        return await self._http.json("GET", "/api/admin/logs/level")

    async def set_log_level(self, level: types.LogLevel | None = None) -> types.LogLevels:
        """Changes the log level until the next start; without a level, resets it."""
        if level is None:
            return await self._http.json("DELETE", "/api/admin/logs/level")
        return await self._http.json("PUT", "/api/admin/logs/level", body={"level": level})

    async def logs(
        self,
        *,
        level: types.LogLevel | None = None,
        q: str | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> AsyncGenerator[types.LogLine, None]:
        """Yields the newest log lines, then each new one."""
        query = {"level": level, "q": q, "after": after, "limit": limit}
        headers = {"accept": "text/event-stream"}
        async with self._http.stream("GET", "/api/admin/logs", query=query, headers=headers) as response:
            async for event in events(response):
                yield cast(types.LogLine, json.loads(event.data))
