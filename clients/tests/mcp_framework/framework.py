"""An agent framework of another maker whose agent thinks with a model behind Onyx and works with Onyx's tools over MCP."""

import asyncio
import json
import os

import openai
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp

BASE = os.environ["ONYX_URL"]
TOKEN = os.environ["ONYX_TOKEN"]

set_tracing_disabled(True)


def order(tool, **arguments):
    return "do " + json.dumps([{"tool": tool, "args": arguments}])


async def main():
    params = {"url": f"{BASE}/mcp", "headers": {"authorization": f"Bearer {TOKEN}"}}
    client = openai.AsyncOpenAI(base_url=f"{BASE}/v1", api_key=TOKEN, max_retries=0)
    async with MCPServerStreamableHttp(name="onyx", params=params, client_session_timeout_seconds=30) as onyx:
        names = {tool.name for tool in await onyx.list_tools()}
        assert {"read_file", "memory_search"} <= names, names
        model = OpenAIChatCompletionsModel(model="mine/some-model", openai_client=client)
        agent = Agent(name="framework", model=model, mcp_servers=[onyx])
        answer = await Runner.run(agent, order("read_file", path="a.md"))
        outputs = [item.output for item in answer.new_items if item.type == "tool_call_output_item"]
        assert "my note" in str(outputs), outputs
        assert answer.final_output == "ok", answer.final_output
        print("ok: the loop closed over our tool")
        answer = await Runner.run(agent, order("delete_file", path="a.md"))
        told = str([item.output for item in answer.new_items if item.type == "tool_call_output_item"])
        assert "draft" in told.lower() or "approv" in told.lower(), told
        print("ok: what needs a person waits for one")


asyncio.run(main())
