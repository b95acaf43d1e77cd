"""A hook with a veto: nothing may be written that contains a certain word."""

import json
import sys

from onyx_plugin import Plugin, Veto

plugin = Plugin()
seen = []


@plugin.hook("before_tool")
def look(event):
    if plugin.config["word"].lower() in json.dumps(event["arguments"], ensure_ascii=False).lower():
        raise Veto(f"it holds the word {plugin.config['word']}")


@plugin.hook("after_tool")
def count(event):
    seen.append(event["tool"])
    print(f"{len(seen)} calls, the last of {event['tool']}", file=sys.stderr, flush=True)


plugin.run()
