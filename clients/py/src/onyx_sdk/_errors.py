"""Every failure that a caller sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


class OnyxError(Exception):
    """What went wrong: a code from the server's table, what happened, what to do."""

    def __init__(
        self,
        code: str,
        message: str,
        hint: str = "",
        *,
        field: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{message} {hint}".strip())
        self.code = code
        self.message = message
        self.hint = hint
        #: The argument or field that is wrong, by its path.
        self.field = field
        #: The HTTP status. ``None``: the server was not reached, or nothing was sent.
        self.status = status
        #: The server's id of the request; it is in the server's log too.
        self.request_id = request_id
        #: Seconds after which a retry may help, if the server says so.
        self.retry_after = retry_after
        #: Further details from the server, for example the new preview of a stale draft.
        self.details: dict[str, Any] = dict(details or {})


class InvalidArgument(OnyxError, ValueError):
    """An invalid argument. Nothing was sent."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(
            "invalid_request", f"`{field}` {why}.", "Correct the argument; nothing was sent.", field=field
        )


class Offline(OnyxError):
    """The server could not be reached, or did not answer in time; the same request may work later."""


class Interrupted(OnyxError):
    """A stream ended before its last event, and the rest could not be read in another way."""

    def __init__(self, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(
            "interrupted",
            "The answer broke off before its end.",
            "Send it again; what was finished is kept.",
            details=details,
        )


class Unauthenticated(OnyxError):
    """The credential is missing or no longer valid (401)."""


class Forbidden(OnyxError):
    """The credential may not do this (403)."""


class NotFound(OnyxError):
    """The thing does not exist (404)."""


class Conflict(OnyxError):
    """The state is not what the caller expected: busy, changed, already decided or expired (409, 410, 412)."""


class RateLimited(OnyxError):
    """Too many requests (429); ``retry_after`` says when to try again."""


BY_STATUS: dict[int, type[OnyxError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Conflict,
    412: Conflict,
    429: RateLimited,
}

KNOWN_FIELDS = ("status", "code", "title", "detail", "hint", "field")


def problem(status: int, headers: Mapping[str, str], body: Any) -> OnyxError:
    """Turns an answer with an error status into an error."""
    said = cast(dict[str, Any], body) if isinstance(body, dict) else {}
    kind = BY_STATUS.get(status, OnyxError)
    return kind(
        str(said.get("code", "internal")),
        str(said.get("detail") or said.get("title") or f"The server answered {status}."),
        str(said.get("hint", "")),
        field=said.get("field"),
        status=status,
        request_id=headers.get("x-request-id"),
        retry_after=_seconds(headers.get("retry-after")),
        details={name: value for name, value in said.items() if name not in KNOWN_FIELDS},
    )


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        # A date. Only a proxy sends one; then the caller's own pause is used.
        return None
