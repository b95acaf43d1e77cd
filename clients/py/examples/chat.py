"""Talks in the terminal: python chat.py "What is due today?" [session]

ONYX_URL and ONYX_TOKEN say where and as whom.
"""

from __future__ import annotations

import os
import sys

from onyx_sdk import Onyx


def main(message: str = "Hello", session_id: str | None = None) -> None:
    with Onyx(os.environ.get("ONYX_URL", "http://127.0.0.1:18790"), os.environ.get("ONYX_TOKEN")) as onyx:
        for chunk in onyx.chat.stream(message, session_id=session_id):
            if chunk["type"] == "chunk":
                print(chunk["text"], end="", flush=True)
            elif chunk["type"] == "done":
                print(f'\nGo on: python chat.py "…" {chunk["session_id"]}', file=sys.stderr)
            elif chunk["type"] == "draft":
                print(f"\nWaits in your Inbox: {chunk['summary']}", file=sys.stderr)
            elif chunk["asks_for"] == "answer":
                onyx.drafts.approve(chunk["draft_id"], reason=input(f"{chunk['summary']} "))
            elif input(f"{chunk['summary']} Approve? [y/N] ") == "y":
                onyx.drafts.approve(chunk["draft_id"])
            else:
                onyx.drafts.reject(chunk["draft_id"])


if __name__ == "__main__":
    main(*sys.argv[1:])
