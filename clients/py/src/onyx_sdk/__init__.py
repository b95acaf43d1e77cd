"""Client of an Onyx server: ``Onyx`` is synchronous, ``AsyncOnyx`` asynchronous; both offer the same calls."""

from onyx_sdk import types
from onyx_sdk._async.auth import AsyncRenewingToken
from onyx_sdk._async.client import AsyncOnyx
from onyx_sdk._async.http import AsyncTokenSource
from onyx_sdk._async.places import CompanionEnvelope, ThreadEnvelope
from onyx_sdk._chunks import ChatChunk, ChatMessage, CompletionChunk, RagContextItem
from onyx_sdk._errors import (
    Conflict,
    Forbidden,
    Interrupted,
    InvalidArgument,
    NotFound,
    Offline,
    OnyxError,
    RateLimited,
    Unauthenticated,
)
from onyx_sdk._files import StoredFile
from onyx_sdk._sync.auth import RenewingToken
from onyx_sdk._sync.client import Onyx
from onyx_sdk._sync.http import TokenSource

__all__ = [
    "AsyncOnyx",
    "AsyncRenewingToken",
    "AsyncTokenSource",
    "ChatChunk",
    "ChatMessage",
    "CompanionEnvelope",
    "CompletionChunk",
    "Conflict",
    "Forbidden",
    "Interrupted",
    "InvalidArgument",
    "NotFound",
    "Offline",
    "Onyx",
    "OnyxError",
    "RagContextItem",
    "RateLimited",
    "RenewingToken",
    "StoredFile",
    "ThreadEnvelope",
    "TokenSource",
    "Unauthenticated",
    "types",
]
