"""The official Python SDK finds its way in by the address alone, in the era without a handshake."""

import asyncio
import os
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

BASE = os.environ["ONYX_URL"]
TOKEN = os.environ["ONYX_TOKEN"]


class Memory:
    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser:
    """The browser of a signed-in person who grants access."""

    async def go(self, page):
        asked = {name: values[0] for name, values in parse_qs(urlparse(page).query).items()}
        async with httpx2.AsyncClient(trust_env=False) as http:
            headers = {"authorization": f"Bearer {TOKEN}"}
            answer = await http.post(f"{BASE}/api/oauth/authorize", json=asked, headers=headers)
        assert answer.status_code == 200, answer.text
        self.back = parse_qs(urlparse(answer.json()["redirect"]).query)

    async def come_back(self):
        first = {name: values[0] for name, values in self.back.items()}
        return AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))


async def main():
    browser = Browser()
    metadata = OAuthClientMetadata(
        client_name="sdk.py",
        redirect_uris=["http://127.0.0.1:3999/callback"],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(f"{BASE}/mcp", metadata, Memory(), browser.go, browser.come_back)
    async with httpx2.AsyncClient(auth=provider, trust_env=False) as http:
        transport = streamable_http_client(f"{BASE}/mcp", http_client=http)
        async with Client(transport, mode="auto") as client:
            tools = (await client.list_tools()).tools
            assert any(tool.name == "read_file" for tool in tools), tools
            read = await client.call_tool("read_file", {"path": "a.md"})
            assert read.content[0].text == "my note\n", read
            resources = (await client.list_resources()).resources
            note = next(resource for resource in resources if resource.name == "vault/a.md")
            contents = (await client.read_resource(str(note.uri))).contents
            assert contents[0].text == "my note\n", contents
            print(f"ok: {len(tools)} tools, {len(resources)} resources")


asyncio.run(main())
