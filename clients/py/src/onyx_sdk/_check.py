"""Arguments are checked before anything is sent, so that a mistake is reported where it was made.

Only what is wrong for every server is refused here; the server judges the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from onyx_sdk._errors import InvalidArgument

UUID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)
ROLES = ("user", "assistant", "system")
MATCHES = ("fts", "vec", "hybrid")
SCOPES = ("workspace", "channel", "thread", "coworker")
PLACES = ("pages", "tasks", "refs", "projects")


def check_text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(field, f"must be text, not {_named(value)}")
    if value.strip() == "":
        raise InvalidArgument(field, "must not be empty")
    return value


def check_uuid(field: str, value: object) -> None:
    if value is not None and not (isinstance(value, str) and UUID.match(value)):
        raise InvalidArgument(field, f"must be a UUID, not {_named(value)}")


def check_one_of(field: str, value: object, allowed: Sequence[str]) -> None:
    if value is not None and value not in allowed:
        raise InvalidArgument(field, f"must be one of {', '.join(allowed)}, not {_named(value)}")


def check_number(field: str, value: object, least: float = -math.inf, most: float = math.inf) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidArgument(field, f"must be a number, not {_named(value)}")
    if value < least or value > most:
        within = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise InvalidArgument(field, f"must be {within}")


def check_integer(field: str, value: object, least: int) -> None:
    check_number(field, value, least)
    if value is not None and not isinstance(value, int):
        raise InvalidArgument(field, "must be a whole number")


def check_base_url(base_url: object) -> str:
    text = check_text("base_url", base_url)
    if not re.match(r"^https?://[^/\s]+", text):
        raise InvalidArgument(
            "base_url", f"must be an address like http://127.0.0.1:18790, not {_named(base_url)}"
        )
    return text.rstrip("/")


def check_token(token: str) -> str:
    if re.search(r"[^\x21-\x7e]", token):
        raise InvalidArgument("token", "must not hold spaces or line breaks")
    return token


def check_query(query: Mapping[str, object]) -> dict[str, str]:
    """The query parameters that are set, as they are sent."""
    check_integer("limit", query.get("limit"), 1)
    given = {name: value for name, value in query.items() if value is not None and value != ""}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}


def fill(template: str, values: Mapping[str, object]) -> str:
    """An address: ``fill("/v1/sessions/{id}", {"id": …})``. An empty id would change the address."""
    filled = template
    for name, value in values.items():
        placed = _path(name, value) if name == "path" else _segment(name, value)
        filled = filled.replace("{" + name + "}", placed)
    return filled


def _segment(field: str, value: object) -> str:
    text = check_text(field, value)
    if text in (".", ".."):
        raise InvalidArgument(field, f"cannot be `{text}`")
    return quote(text, safe="")


def _path(field: str, value: object) -> str:
    """Encodes a path for an address and keeps its slashes."""
    return "/".join(_segment(field, part) for part in check_text(field, value).split("/"))


def check_completion(
    messages: object, system_prompt: object, rag_context: object, max_tokens: object, temperature: object
) -> None:
    if not isinstance(messages, list | tuple):
        raise InvalidArgument("messages", f"must be a list, not {_named(messages)}")
    if not messages:
        raise InvalidArgument("messages", "must hold at least one message")
    for index, said in enumerate(cast(Sequence[Mapping[str, Any]], messages)):
        check_one_of(f"messages[{index}].role", said.get("role", ""), ROLES)
        check_text(f"messages[{index}].content", said.get("content"))
    if system_prompt is not None:
        check_text("system_prompt", system_prompt)
    check_integer("max_tokens", max_tokens, 1)
    check_number("temperature", temperature, 0, 2)
    if rag_context is None:
        return
    if not isinstance(rag_context, list | tuple):
        raise InvalidArgument("rag_context", f"must be a list, not {_named(rag_context)}")
    for index, item in enumerate(cast(Sequence[Mapping[str, Any]], rag_context)):
        _check_evidence(f"rag_context[{index}]", item)


def _check_evidence(at: str, item: Mapping[str, Any]) -> None:
    for name in ("sourceId", "chunkId", "text", "sourceName"):
        check_text(f"{at}.{name}", item.get(name))
    check_number(f"{at}.score", item.get("score", math.nan))
    check_one_of(f"{at}.matchType", item.get("matchType", ""), MATCHES)
    check_one_of(f"{at}.scopeType", item.get("scopeType", ""), SCOPES)


def check_job(fields: Mapping[str, object]) -> None:
    """A job needs a time and something to do."""
    if fields.get("cron") and fields.get("every"):
        raise InvalidArgument("cron", "and `every` cannot both be given")
    if not any(fields.get(name) for name in ("cron", "every", "at")):
        raise InvalidArgument("cron", "must be given, or `every`, or `at`")
    if not fields.get("prompt") and not fields.get("run"):
        raise InvalidArgument("prompt", "must be given, or `run`")


def given(**fields: object) -> dict[str, object]:
    """The fields of a request that are set."""
    return {name: value for name, value in fields.items() if value is not None}


def _named(value: object) -> str:
    if isinstance(value, str):
        return f'"{value[:40]}…"' if len(value) > 40 else f'"{value}"'
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, Mapping) else str(value)
