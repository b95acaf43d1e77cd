"""Generates the wire types from docs/openapi.json, and the sync client from the async one.

`generate.py --check` only says whether that would change anything.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGE = HERE / "src" / "onyx_sdk"
Json = dict[str, Any]

TYPES_HEAD = '''"""The server's schemas. Made from docs/openapi.json by generate.py: change the server and run `make docs`."""

# ruff: noqa
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Types:
    """Turns schemas into `TypedDict`s; nested objects get their own names."""

    def __init__(self, schemas: dict[str, Json]) -> None:
        self.schemas = schemas
        self.names = set(schemas)
        self.written: list[str] = []

    def write(self) -> str:
        for name, schema in self.schemas.items():
            self.declare(name, schema)
        return TYPES_HEAD + "".join(self.written)

    def declare(self, name: str, schema: Json) -> None:
        variants = told_apart(schema)
        if variants:
            made = [self.variant(name, schema, variant) for variant in variants]
            self.alias(name, " | ".join(made), schema)
        elif is_record(schema):
            self.record(name, schema)
        else:
            self.alias(name, self.of(schema, name), schema)

    def variant(self, name: str, base: Json, variant: Json) -> str:
        if "$ref" in variant:
            return str(variant["$ref"]).rsplit("/", 1)[1]
        kind = variant.get("properties", {}).get("type", {}).get("const") or variant.get("title", "Variant")
        made = self.free_name(name + camel(str(kind)))
        whole = {
            **variant,
            "properties": {**base.get("properties", {}), **variant.get("properties", {})},
            "required": [*base.get("required", []), *variant.get("required", [])],
        }
        self.record(made, whole)
        return made

    def free_name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self.names:
            name, number = f"{wanted}{number}", number + 1
        self.names.add(name)
        return name

    def alias(self, name: str, meaning: str, schema: Json) -> None:
        self.written.append(f"\n{comment(schema)}{name}: TypeAlias = {quoted(meaning)}\n")

    def record(self, name: str, schema: Json) -> None:
        required = set(schema.get("required", []))
        fields: list[tuple[str, str, str]] = []
        for field, inner in schema.get("properties", {}).items():
            kind = self.of(inner, name + camel(field))
            described = inner.get("description", "") if isinstance(inner, dict) else ""
            fields.append((field, kind if field in required else f"NotRequired[{kind}]", described))
        if all(field.isidentifier() and not keyword.iskeyword(field) for field, _, _ in fields):
            lines = "".join(f"{note(text, '    ')}    {field}: {kind}\n" for field, kind, text in fields)
            doc = schema.get("description", "")
            head = f'    """{plain(doc)}"""\n\n' if doc else ""
            self.written.append(f"\n\nclass {name}(TypedDict):\n{head}{lines or '    pass' + chr(10)}")
        else:
            lines = "".join(f"        {field!r}: {quoted(kind)},\n" for field, kind, _ in fields)
            self.written.append(f"\n\n{name} = TypedDict(\n    {name!r},\n    {{\n{lines}    }},\n)\n")

    def of(self, schema: Any, name: str) -> str:
        if not isinstance(schema, dict) or not schema:
            return "Any"
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[1]
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
        for union in ("oneOf", "anyOf"):
            if union in schema and "properties" not in schema:
                return self.union(schema[union], name)
        if isinstance(schema.get("type"), list):
            return " | ".join(dict.fromkeys(self.of({**schema, "type": one}, name) for one in schema["type"]))
        return self.single(schema, name)

    def union(self, options: list[Any], name: str) -> str:
        made = []
        for option in options:
            inline = isinstance(option, dict) and is_record(option)
            made.append(self.variant(name, {}, option) if inline else self.of(option, name))
        return " | ".join(dict.fromkeys(made))

    def single(self, schema: Json, name: str) -> str:
        kind = schema.get("type")
        if kind == "array":
            items = schema.get("items")
            return f"list[{self.of(items, name + 'Item')}]"
        if kind == "object" or "properties" in schema:
            if schema.get("properties"):
                made = self.free_name(name)
                self.record(made, schema)
                return made
            return f"dict[str, {self.of(schema.get('additionalProperties', {}), name + 'Value')}]"
        return PLAIN.get(str(kind), "Any")


def told_apart(schema: Json) -> list[Json]:
    """Returns the forms of a record that names its kind in `type`. Other unions of a record only say which fields go together."""
    options = schema.get("oneOf") or schema.get("anyOf") or []
    kinds = [option for option in options if isinstance(option, dict) and has_kind(option)]
    return kinds if kinds and len(kinds) == len(options) else []


def has_kind(schema: Json) -> bool:
    return "const" in schema.get("properties", {}).get("type", {})


def is_record(schema: Json) -> bool:
    return bool(schema.get("properties")) and "$ref" not in schema


def camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^0-9A-Za-z]+", text))


def plain(text: str) -> str:
    return " ".join(str(text).split()).replace("\\", "\\\\").replace('"""', "'''")


def note(text: str, indent: str) -> str:
    return f"{indent}# {plain(text)}\n" if text else ""


def comment(schema: Json) -> str:
    return note(schema.get("description", ""), "")


def quoted(text: str) -> str:
    return json.dumps(text)


# Longer words come first, because each is replaced wherever it stands as a word.
SYNC_WORDS = [
    (r"from asyncio import Lock, sleep\n", "from threading import Lock\nfrom time import sleep\n"),
    (r"from contextlib import asynccontextmanager\n", "from contextlib import contextmanager\n"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAsyncGenerator\[(.+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\bAsyncIterable\b", "Iterable"),
    (r"\bAsyncOnyx\b", "Onyx"),
    (r"\bAsyncHttp\b", "SyncHttp"),
    (r"\bAsyncClient\b", "Client"),
    (r"\bAsyncTokenSource\b", "TokenSource"),
    (r"\bAsyncRenewingToken\b", "RenewingToken"),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\baread\b", "read"),
    (r"\baclose\b", "close"),
    (r"\basync def\b", "def"),
    (r"\basync for\b", "for"),
    (r"\basync with\b", "with"),
    (r"\bAwaitable\[([^\[\]]+)\]", r"\1"),
    (r"\bawait ", ""),
    (r"\bonyx_sdk\._async\b", "onyx_sdk._sync"),
]


def to_sync(text: str) -> str:
    for pattern, replacement in SYNC_WORDS:
        text = re.sub(pattern, replacement, text)
    first, rest = text.split("\n", 1)
    return f"{first}\n# Made from the async client by generate.py: change that one.\n{rest}"


def outputs() -> dict[Path, str]:
    document = json.loads((HERE / "../../docs/openapi.json").read_text())
    made = {PACKAGE / "types.py": Types(document["components"]["schemas"]).write()}
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        made[PACKAGE / "_sync" / source.name] = to_sync(source.read_text())
    return made


def main() -> int:
    made = outputs()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in (PACKAGE / "_sync").glob("*.py") if path not in made]
    if "--check" in sys.argv:
        for path in stale:
            print(f"clients/py/{path.relative_to(HERE)} does not fit what it is made from: run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made[path]) if path in made else path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
