"""Lists what waits for a decision: python inbox.py [approve|reject ID]"""

from __future__ import annotations

import asyncio
import os
import sys

from onyx_sdk import AsyncOnyx, OnyxError


async def main(words: list[str]) -> None:
    async with AsyncOnyx(os.environ.get("ONYX_URL", "http://127.0.0.1:18790"), os.environ.get("ONYX_TOKEN")) as onyx:
        if len(words) == 2 and words[0] in ("approve", "reject"):
            draft = await onyx.drafts.get(words[1])
            if words[0] == "approve":
                decided = await onyx.drafts.approve(draft["id"], plan_hash=draft["plan_hash"])
            else:
                decided = await onyx.drafts.reject(draft["id"])
            print(f"{decided['state']}: {decided['summary']}")
            return
        drafts = (await onyx.drafts.list(state="pending"))["drafts"]
        for draft in drafts:
            print(draft["id"], draft["tool"], draft["summary"], sep="  ")
        print(f"{len(drafts)} in all")


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1:]))
    except OnyxError as error:
        sys.exit(f"{error.code}: {error}")
