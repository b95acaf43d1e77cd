"""The server's schemas. Made from docs/openapi.json by generate.py: change the server and run `make docs`."""

# ruff: noqa
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Health(TypedDict):
    status: str
    version: str


class Ready(TypedDict):
    status: str
    dependencies: list[Dependency]


class Dependency(TypedDict):
    # The kind of the dependency, and after a colon the instance.
    name: str
    kind: DependencyKind
    # The provider, server, plugin or account, where there are several of a kind.
    instance: NotRequired[str | None]
    state: DependencyState
    detail: NotRequired[str | None]
    # What to do about it.
    hint: NotRequired[str | None]
    # The progress of work on it, such as a download.
    progress: NotRequired[Progress | None]

# `storage`: The database and the files of the home. `objects`: The object store of several gateways. `memory`: Search in memory, where it works only in part. `disk`: The free space. `search`: The search engine for the web. `gateway`: The subscription gateway.
DependencyKind: TypeAlias = "Literal['config', 'provider', 'index', 'embedder', 'sandbox', 'docker', 'menos', 'connector', 'mcp', 'plugin', 'jobs', 'storage', 'objects', 'memory', 'disk', 'search', 'gateway']"

# `off`: It is not set up, and nothing needs it. `degraded`: Part of it does not work. `down`: The server cannot work without it.
DependencyState: TypeAlias = "Literal['ok', 'off', 'degraded', 'down']"


class Progress(TypedDict):
    done: int
    total: int


class Everything(TypedDict):
    dependencies: list[Dependency]


class LineStart(TypedDict):
    type: Literal['start']
    session_id: str
    run_id: str
    # The action of this run, if there is one.
    action: NotRequired[ActionRun | None]


class LineText(TypedDict):
    type: Literal['text']
    delta: str


class LineToolCall(TypedDict):
    type: Literal['tool_call']
    id: ToolUseId
    tool: str
    args: Any
    label: CallLabel


class LineToolResult(TypedDict):
    type: Literal['tool_result']
    id: ToolUseId
    tool: str
    ok: bool
    summary: str
    report: CallReport


class LineStatus(TypedDict):
    type: Literal['status']
    message: str
    code: StatusCode


class LineDraft(TypedDict):
    type: Literal['draft']
    draft_id: str
    tool: str
    summary: str
    preview: Preview
    asks_for: AsksFor


class LineConfirm(TypedDict):
    type: Literal['confirm']
    draft_id: str
    tool: str
    summary: str
    preview: Preview
    asks_for: AsksFor


class LineError(TypedDict):
    type: Literal['error']
    message: str
    code: ErrorCode
    hint: str


class LineDone(TypedDict):
    type: Literal['done']
    session_id: str
    run_id: str
    status: RunStatus
    usage: Usage

Line: TypeAlias = "LineStart | LineText | LineToolCall | LineToolResult | LineStatus | LineDraft | LineConfirm | LineError | LineDone"


class ActionRun(TypedDict):
    """The action that a run performs, and the page that it writes."""

    id: str
    label: str
    # The path among the person's files; written at the end of the run.
    page: str

# The id a provider gave one tool call; opaque to us and unique only within a session.
ToolUseId: TypeAlias = "str"


class CallLabel(TypedDict):
    """A call's label for people. Secrets are masked."""

    verb: Verb
    # The subject of the call: a path, a question, an address. Empty if the verb is enough.
    subject: str
    target: NotRequired[CallTarget | None]
    # The change of an edit, if its arguments alone show it.
    change: NotRequired[CallChange | None]


class Verb(TypedDict):
    """The words for a call in each of its states."""

    # `Edit`
    plain: str
    # `Wants to edit`: a person has to agree first.
    wants: str
    # `Editing`
    doing: str
    # `Edited`
    did: str
    # `Was not allowed to edit`
    refused: str
    # `Could not edit`
    failed: str


class CallTarget(TypedDict):
    """The target of a call, if it is a single one that a surface can show or open."""

    kind: CallTargetKind
    name: str
    # The line in a file.
    line: NotRequired[int | None]

# `file`: A file of the vault.
CallTargetKind: TypeAlias = "Literal['address', 'command', 'agent', 'session', 'person', 'file']"


class CallChange(TypedDict):
    """An edit as a unified diff, with its lines counted."""

    unified: str
    # The lines of `unified`, each with its kind.
    diff_lines: list[DiffLine]
    added: int
    removed: int


class DiffLine(TypedDict):
    """A line of a unified diff, without its mark."""

    kind: DiffLineKind
    text: str

# `file`: The name of a file before its first hunk. `hunk`: The position of the next lines in the file. `note`: A note about the change, which is in no file.
DiffLineKind: TypeAlias = "Literal['same', 'added', 'removed', 'file', 'hunk', 'note']"


class CallReport(TypedDict):
    """The result of a call, beside what the model reads."""

    state: CallState
    # The strictest effect in the plan; absent if there was no plan.
    effect: NotRequired[ToolEffect | None]
    # How many lines of text the plan changes.
    lines: NotRequired[LineCounts | None]
    # For a dry run: what would have been done.
    rehearsal: NotRequired[Rehearsal | None]
    # An output that was too long for the model, or a text that the call attached to it.
    artifact: NotRequired[Artifact | None]

# `refused`: The gate, the tool or a person refused the call; nothing was done. `waiting`: The call waits for a person; nothing has been done yet. `rehearsed`: The call was part of a dry run; nothing was done.
CallState: TypeAlias = "Literal['done', 'failed', 'refused', 'waiting', 'rehearsed']"

# The effect of a tool call, mildest first: the strictest one of a plan counts.
ToolEffect: TypeAlias = "Literal['read', 'write', 'destroy', 'reach', 'execute']"


class LineCounts(TypedDict):
    added: int
    removed: int


class Rehearsal(TypedDict):
    """A call that a dry run only planned."""

    # One line for people.
    summary: str
    # The gate's verdict on the call.
    verdict: Verdict
    preview: Preview

# The gate's answer to a plan.
Verdict: TypeAlias = "Literal['allow', 'confirm', 'draft', 'deny']"


class PreviewVariant(TypedDict):
    kind: Literal['none']


class PreviewVariant2(TypedDict):
    kind: Literal['text']
    text: str


class PreviewVariant3(TypedDict):
    kind: Literal['diff']
    path: str
    unified: str
    # The lines of `unified`, each with its kind.
    diff_lines: list[DiffLine]
    # What the change means, if the file is a document of a space.
    document: NotRequired[DocumentPreview | None]


class PreviewVariant4(TypedDict):
    """A question with answers to choose from; any other answer may be given too."""

    kind: Literal['choice']
    text: str
    options: list[str]

# The form in which a person sees a plan before deciding. All text in it is made visible before it leaves the process, also text that was stored earlier.
Preview: TypeAlias = "PreviewVariant | PreviewVariant2 | PreviewVariant3 | PreviewVariant4"


class DocumentPreview(TypedDict):
    """A page, task, ref or project as a change would leave it."""

    kind: EntityKind
    is_new: bool
    title: NotRequired[str | None]
    # The fields that the change sets, alters or removes.
    fields: list[DocumentField]
    # The changed lines of the body with some around them; for a new document, the whole body.
    body: list[DiffLine]

# A kind of entity in a space.
EntityKind: TypeAlias = "Literal['page', 'task', 'ref', 'project']"


class DocumentField(TypedDict):
    name: str
    # The name for people.
    label: str
    # Absent if the field is new.
    before: NotRequired[str | None]
    # Absent if the field is removed.
    after: NotRequired[str | None]


class Artifact(TypedDict):
    """An output that is too long for the model, stored completely for a while."""

    key: str
    bytes: int

StatusCode: TypeAlias = "Literal['fallback', 'retry', 'compaction', 'waiting', 'degraded', 'tainted']"

# What a draft needs from a person. `approval`: Approval or rejection of what the draft would do. `answer`: An answer, because the draft is a question.
AsksFor: TypeAlias = "Literal['approval', 'answer']"

# Every error that a client can see, with its code, class, HTTP status, sentence and hint.
ErrorCode: TypeAlias = "Literal['invalid_request', 'unauthenticated', 'sign_in_again', 'forbidden', 'owner_required', 'not_found', 'model_not_found', 'session_busy', 'confirmation_required', 'draft_stale', 'draft_decided', 'draft_expired', 'version_conflict', 'too_large', 'invalid_action', 'rate_limited', 'limit_steps', 'limit_tool_calls', 'limit_seconds', 'limit_output', 'limit_prompt', 'limit_budget', 'limit_loop', 'provider_auth', 'provider_rate_limited', 'provider_overloaded', 'provider_context_length', 'provider_truncated', 'provider_unavailable', 'provider_paused', 'provider_timeout', 'provider_refused', 'tool_denied', 'tool_failed', 'tool_timeout', 'cancelled', 'interrupted', 'overloaded', 'storage_full', 'storage_failed', 'storage_unavailable', 'key_unavailable', 'internal']"

RunStatus: TypeAlias = "Literal['done', 'cancelled', 'error', 'interrupted', 'awaiting_client']"


class Usage(TypedDict):
    """Tokens and money of one or more model calls."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    # The cost in the currency of the price data; absent if no price is known.
    cost: NotRequired[float | None]


class ChatReply(TypedDict):
    """The result of a run."""

    session_id: str
    run_id: str
    message: str
    tools: list[ToolView]
    drafts: list[DraftView]
    usage: Usage


class ToolView(TypedDict):
    """One tool call in a complete answer."""

    id: ToolUseId
    tool: str
    args: Any
    # `None` while there is no result.
    ok: bool | None
    summary: str


class DraftView(TypedDict):
    draft_id: str
    tool: str
    summary: str
    preview: Preview


class Stopped(TypedDict):
    stopped: bool


class Cleared(TypedDict):
    session_id: str


class History(TypedDict):
    session_id: str
    messages: list[HistoryMessage]
    # Give it as `before` to get the messages before these; absent at the beginning.
    before: NotRequired[int | None]


class HistoryMessage(TypedDict):
    # The first turn of the message.
    id: str
    role: MessageRole
    # The agent that answered; absent for a person's message.
    agent: NotRequired[str | None]
    content: str
    status: MessageStatus
    created_at: str
    tools: list[ToolView]
    # The reason why there is no answer, if there is none.
    error: NotRequired[Fault | None]

MessageRole: TypeAlias = "Literal['user', 'assistant']"

# `streaming`: The run is still in progress.
MessageStatus: TypeAlias = "Literal['complete', 'cancelled', 'error', 'interrupted', 'streaming']"


class Fault(TypedDict):
    """An error as it is shown to a person: a code from the table and what happened in this case."""

    code: ErrorCode
    message: str
    hint: NotRequired[str | None]
    # When a retry may succeed; whole seconds on the wire.
    retry_after_seconds: NotRequired[int | None]


class PreferencesView(TypedDict):
    runtime_mode: RuntimeMode
    # `agents.md`: the person's standing instructions.
    prompt: str
    fallback: bool
    flags: dict[str, bool]
    # A folder of the vault; it cannot be changed.
    actions_path: str
    # The person's choice; `null` where the server's zone applies.
    timezone: str | None
    # The zone that applies now.
    current_timezone: str

RuntimeMode: TypeAlias = "Literal['anthropic_api_key', 'gateway_subscription']"


class ActionView(TypedDict):
    id: str
    label: str
    # The action's file, among the person's files.
    path: str
    # Its prompt has a placeholder for the text that the person has selected.
    asks_for_selection: bool
    requires_confirmation: bool
    max_steps: NotRequired[int | None]
    # Why it cannot run.
    error: NotRequired[str | None]
    # Settings that work but are probably not what was meant.
    warnings: NotRequired[list[str]]


class ActionPrompt(TypedDict):
    prompt: str


class ActionRuns(TypedDict):
    runs: list[ActionRunView]
    # Give it as `before` to get the older ones; absent at the end.
    before: NotRequired[str | None]


class ActionRunView(TypedDict):
    run_id: str
    # The path among the person's files.
    page: str
    # Absent where the page cannot be read.
    record: NotRequired[ActionRunRecord | None]


class ActionRunRecord(TypedDict):
    action_id: str
    label: str
    session_id: NotRequired[str | None]
    status: str
    model: str
    started_at: NotRequired[str | None]
    ended_at: NotRequired[str | None]
    cost: NotRequired[float | None]
    # The page's text, without its front matter.
    text: str


class AgentHealth(TypedDict):
    runtime: AgentRuntime
    # The provider of the default agent's model; absent while no model is configured.
    provider: Dependency | None
    linkedin: LinkedIn


class AgentRuntime(TypedDict):
    mode: RuntimeMode
    state: DependencyState
    detail: NotRequired[str | None]


class LinkedIn(TypedDict):
    # Whether the person's account is connected.
    token_present: bool
    # When LinkedIn last accepted its token, since the server started.
    last_validated_at: str | None
    # Why LinkedIn refused it, if it did.
    last_error: str | None


class OlderLineToolUse(TypedDict):
    type: Literal['tool_use']
    id: ToolUseId
    tool: str
    args: Any
    label: CallLabel

# A line for clients of `/api/claude`: the same except for one name.
OlderLine: TypeAlias = "OlderLineToolUse | Line"


class AgentList(TypedDict):
    agents: list[AgentView]


class AgentView(TypedDict):
    """An agent as it works: its own settings, completed by the defaults."""

    id: str
    name: str
    default: bool
    # A disabled agent answers no one.
    enabled: bool
    tier: Tier
    # None: the config's default model.
    model: str | None
    fallbacks: list[str]
    temperature: float | None
    max_output_tokens: int | None

# How much an agent may do alone.
Tier: TypeAlias = "Literal['read', 'suggest', 'act']"


class AgentDetails(TypedDict):
    """An agent as it works: its own settings, completed by the defaults."""

    id: str
    name: str
    default: bool
    # A disabled agent answers no one.
    enabled: bool
    tier: Tier
    # None: the config's default model.
    model: str | None
    fallbacks: list[str]
    temperature: float | None
    max_output_tokens: int | None
    # All tools of the agent.
    tools: list[str]
    # The agent's settings in the config; their version is the ETag.
    settings: AgentFields
    # Markdown files in the agent's own folder.
    files: list[str]


class AgentFields(TypedDict):
    """An agent's own settings. Absent ones are taken from `agents.defaults`."""

    name: str | None
    # Answers messages that name no agent; exactly one agent is the default.
    default: bool
    enabled: bool | None
    tier: Tier | None
    # `<provider>/<model>`, or `auto`.
    model: str | None
    # Tried in this order when `model` fails.
    fallbacks: list[str]
    tools: ToolFields | None
    temperature: float | None
    max_output_tokens: int | None
    # A folder whose files are read instead of those in the agent's own folder.
    workspace: str | None
    # Other agents whose memory it may search.
    memory_read: list[str]
    # Context is searched for each message of its chats, as it always is in spaces.
    memory_retrieval: bool | None
    # It uses only models of this machine.
    local_only: bool | None


class ToolFields(TypedDict):
    """Names of tools, or `group:<name>`. Deny takes precedence."""

    # None: every tool.
    allow: list[str] | None
    deny: list[str]
    # Commands that need no approval: each is the beginning of an argument list.
    commands: NotRequired[list[list[str]]]


class SessionList(TypedDict):
    sessions: list[SessionView]
    # Give it as `before` to get the older ones; absent at the end.
    before: NotRequired[str | None]
    # Why only titles and newest messages were searched, and not all messages.
    degraded: NotRequired[str | None]


class SessionView(TypedDict):
    """One session as it appears on the wire."""

    id: str
    agent: str
    origin: SessionOrigin
    # The agents that answer, in this order.
    agents: list[str]
    mode: LaneOrder
    title: str | None
    status: SessionStatus
    created_at: str
    updated_at: str
    message_count: int
    token_count: int
    preview: str
    root: str
    fork_turn: str | None
    last_run: str | None
    last_run_status: RunStatus | None
    # Whether something was answered since the person last read the session.
    unread: bool
    # Whether the person keeps the session, with its forks, at the top of the list.
    pinned: bool
    # The tags by which the person sorts their conversations, in order.
    tags: NotRequired[list[str]]
    # The thing that the conversation is about.
    attached: NotRequired[EntityRef | None]
    # In a list that was searched for a text: the matching message. Absent where only the title or the preview matches.
    found: NotRequired[FoundTurn | None]

# Where a session was begun. `temporary`: A chat that is not listed, not indexed, and deleted a day after its last use.
SessionOrigin: TypeAlias = "Literal['chat', 'companion', 'thread', 'agent_editor', 'connector', 'job', 'api', 'temporary']"

# How several agents answer one message. `sequential`: One after the other; each agent sees the earlier answers.
LaneOrder: TypeAlias = "Literal['parallel', 'sequential']"

SessionStatus: TypeAlias = "Literal['active', 'archived']"


class EntityRef(TypedDict):
    """One page, task, ref or project of a person."""

    space: str
    kind: EntityKind
    id: str


class FoundTurn(TypedDict):
    """The message of a conversation that matches best."""

    # The session that holds the message: the listed one, or another fork of it.
    session: str
    run: NotRequired[str | None]
    # The turn to scroll to.
    turn: NotRequired[str | None]
    author: NotRequired[str | None]
    # A part of the message in pieces; `hit` marks the pieces that match.
    snippet: list[SnippetPart]


class SnippetPart(TypedDict):
    """A part of a chunk's text, and whether it is what was looked for."""

    text: str
    hit: bool


class SessionWithSiblings(TypedDict):
    """A session with its family, so that a client can switch within it."""

    id: str
    agent: str
    origin: SessionOrigin
    # The agents that answer, in this order.
    agents: list[str]
    mode: LaneOrder
    title: str | None
    status: SessionStatus
    created_at: str
    updated_at: str
    message_count: int
    token_count: int
    preview: str
    root: str
    fork_turn: str | None
    last_run: str | None
    last_run_status: RunStatus | None
    # Whether something was answered since the person last read the session.
    unread: bool
    # Whether the person keeps the session, with its forks, at the top of the list.
    pinned: bool
    # The tags by which the person sorts their conversations, in order.
    tags: NotRequired[list[str]]
    # The thing that the conversation is about.
    attached: NotRequired[EntityRef | None]
    # In a list that was searched for a text: the matching message. Absent where only the title or the preview matches.
    found: NotRequired[FoundTurn | None]
    # The first session of the family and all its forks, this one included, in the order of their creation.
    siblings: list[Sibling]


class Sibling(TypedDict):
    id: str
    title: str | None
    status: SessionStatus
    created_at: str
    updated_at: str
    message_count: int
    preview: str
    # The turn at which it leaves the session it was forked from; absent for the first.
    fork_turn: str | None


class Feedback(TypedDict):
    """A person's feedback on an answer. Only the newest one about an answer counts, and no prompt ever contains feedback."""

    # A turn of the answer, in the same log.
    about: str
    # The rating; if it is absent, the earlier rating is withdrawn.
    rating: NotRequired[Rating | None]
    note: NotRequired[str | None]

Rating: TypeAlias = "Literal['good', 'bad']"


class TagList(TypedDict):
    tags: list[TagCount]


class TagCount(TypedDict):
    """A tag, and the number of conversations that have it."""

    tag: str
    conversations: int


class QueuedMessages(TypedDict):
    # In the order in which they were sent.
    messages: list[QueuedMessage]


class QueuedMessage(TypedDict):
    # The message's turn in the log, once a run has read it.
    id: str
    # A text, or parts as in `chat.send`.
    content: Any
    received_at: str


class TurnListTurnsItem(TypedDict):
    """A line of the log: its header, `type`, and the fields of that type"""

    id: str
    ts: str
    run_id: NotRequired[str]
    type: str


class TurnList(TypedDict):
    turns: list[TurnListTurnsItem]
    before: NotRequired[int | None]


class EnvelopeStart(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['start']
    session_id: str
    agents: list[str]
    model: str
    # The action of this run, if there is one.
    action: NotRequired[ActionRun | None]


class EnvelopeTextDelta(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['text_delta']
    turn_id: str
    agent: str
    text: str


class EnvelopeTextComplete(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['text_complete']
    turn_id: str
    agent: str
    text: str


class EnvelopeReasoningDelta(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['reasoning_delta']
    turn_id: str
    agent: str
    text: str


class EnvelopeToolCall(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['tool_call']
    turn_id: str
    agent: str
    tool_use_id: ToolUseId
    tool: str
    input: Any
    # One line for people, with secrets masked.
    summary: str
    label: CallLabel


class EnvelopeToolOutput(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['tool_output']
    tool_use_id: ToolUseId
    chunk: str


class EnvelopeToolResult(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['tool_result']
    turn_id: str
    tool_use_id: ToolUseId
    tool: str
    ok: bool
    output: str
    summary: str
    duration_ms: int
    report: CallReport


class EnvelopeDraft(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['draft']
    draft_id: str
    tool: str
    summary: str
    preview: Preview
    asks_for: AsksFor


class EnvelopeConfirm(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['confirm']
    draft_id: str
    tool: str
    summary: str
    preview: Preview
    asks_for: AsksFor
    expires_at: str


class EnvelopeContext(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['context']
    pieces: list[ContextPiece]


class EnvelopeStatus(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['status']
    message: str
    code: StatusCode


class EnvelopeUsage(TypedDict):
    """Tokens and money of one or more model calls."""

    seq: int
    run_id: str
    lane: LaneId
    type: Literal['usage']
    input: int
    output: int
    cache_read: int
    cache_write: int
    # The cost in the currency of the price data; absent if no price is known.
    cost: NotRequired[float | None]


class EnvelopeError(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['error']
    code: ErrorCode
    message: str
    hint: str
    # When a retry may succeed.
    retry_after_seconds: NotRequired[int | None]


class EnvelopeDone(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['done']
    session_id: str
    status: RunStatus
    assistant_turn_ids: list[str]
    usage: Usage

# One event of a run, in order. Every surface's format is a pure fold over these.
Envelope: TypeAlias = "EnvelopeStart | EnvelopeTextDelta | EnvelopeTextComplete | EnvelopeReasoningDelta | EnvelopeToolCall | EnvelopeToolOutput | EnvelopeToolResult | EnvelopeDraft | EnvelopeConfirm | EnvelopeContext | EnvelopeStatus | EnvelopeUsage | EnvelopeError | EnvelopeDone"

# One answering agent within a run.
LaneId: TypeAlias = "int"


class ContextPiece(TypedDict):
    """A chunk that retrieval supplied to a run."""

    source: str
    # The id of an attached source; of other files and of conversations, their path.
    source_id: str
    # The id of the chunk, which is valid until its file is indexed again.
    chunk_id: str
    # The title of the source for people.
    title: str
    # The conversation and the message that the piece is from; absent for files.
    session_id: NotRequired[str | None]
    turn: NotRequired[str | None]
    scope: Scope
    origin: Origin
    score: float
    match_type: MatchType
    start_line: int
    end_line: int


class ScopePerson(TypedDict):
    type: Literal['person']


class ScopeAgent(TypedDict):
    type: Literal['agent']
    id: str


class ScopeSpace(TypedDict):
    type: Literal['space']
    id: str


class ScopeChannel(TypedDict):
    type: Literal['channel']
    id: str


class ScopeThread(TypedDict):
    type: Literal['thread']
    id: str


class ScopeShared(TypedDict):
    type: Literal['shared']

# Where a piece of knowledge belongs.
Scope: TypeAlias = "ScopePerson | ScopeAgent | ScopeSpace | ScopeChannel | ScopeThread | ScopeShared"

# Where content came from, which decides whether it is trusted. `person`: Written or edited by the person. `agent`: Written by an agent that had read no external content. `agent_tainted`: Written by an agent after it had read external content. `external`: Content from outside: the web, captures, other people, tools' output.
Origin: TypeAlias = "Literal['person', 'agent', 'agent_tainted', 'external']"

# How a search found a chunk.
MatchType: TypeAlias = "Literal['fts', 'vec', 'hybrid']"


class Undone(TypedDict):
    # Files that have their content from before the run again; with `dry_run`, files that would.
    restored: list[str]
    dry_run: NotRequired[bool]


class Redone(TypedDict):
    # Files that have the content again that the run left in them.
    restored: list[str]


class ChangesOfRun(TypedDict):
    paths: list[str]
    # All files have their content from before the run again.
    undone: bool


class MembersChanges(TypedDict):
    drafts: list[MembersChange]


class MembersChange(TypedDict):
    """A draft as clients see it."""

    person: str
    id: str
    state: DraftState
    tool: str
    # The strictest of its effects.
    effect: ToolEffect
    summary: str
    preview: Preview
    asks_for: AsksFor
    targets: list[str]
    # Whether its targets include files that steer agents.
    instruction: bool
    # The run had read content from outside before it proposed this.
    tainted: bool
    # Only the owner may approve it, even if it is a member's.
    needs_owner: bool
    session_id: str
    run_id: str
    tool_use_id: ToolUseId
    agent: str
    created_at: str
    expires_at: str
    # Identifies exactly what will happen: send it back to approve what was shown.
    plan_hash: str
    decided_at: NotRequired[str | None]
    decided_by: NotRequired[str | None]
    reason: NotRequired[str | None]
    # The output of the approved call.
    output: NotRequired[str | None]
    superseded_by: NotRequired[str | None]

DraftState: TypeAlias = "Literal['pending', 'applying', 'applied', 'failed', 'stale', 'unknown', 'rejected', 'superseded', 'expired']"


class PendingChange(TypedDict):
    """A draft as clients see it."""

    id: str
    state: DraftState
    tool: str
    # The strictest of its effects.
    effect: ToolEffect
    summary: str
    preview: Preview
    asks_for: AsksFor
    targets: list[str]
    # Whether its targets include files that steer agents.
    instruction: bool
    # The run had read content from outside before it proposed this.
    tainted: bool
    # Only the owner may approve it, even if it is a member's.
    needs_owner: bool
    session_id: str
    run_id: str
    tool_use_id: ToolUseId
    agent: str
    created_at: str
    expires_at: str
    # Identifies exactly what will happen: send it back to approve what was shown.
    plan_hash: str
    decided_at: NotRequired[str | None]
    decided_by: NotRequired[str | None]
    reason: NotRequired[str | None]
    # The output of the approved call.
    output: NotRequired[str | None]
    superseded_by: NotRequired[str | None]


class JobViews(TypedDict):
    jobs: list[JobView]


class JobView(TypedDict):
    """When it runs and what it does."""

    id: str
    kind: KindView
    state: StateView
    # Why it is paused.
    reason: NotRequired[str | None]
    # The error in the job, if there is one.
    error: NotRequired[FlawView | None]
    warnings: list[str]
    # Send it back to accept the job as it was shown, and as `If-Match`.
    hash: str
    # The changes since the accepted version, for a job that waits for acceptance.
    diff: NotRequired[str | None]
    # The lines of `diff`, each with its kind.
    diff_lines: NotRequired[list[DiffLine]]
    fields: dict[str, Any]
    prompt: str
    # The schedule in plain words.
    words: str
    timezone: str
    # The next five times.
    next: list[str]
    # The times of the next seven days, at most a hundred.
    week: list[str]
    agent: NotRequired[str | None]
    # `prompt`, `command`, `action` or `system`.
    does: str
    deliver: list[str]
    # The result of the newest time.
    last: NotRequired[JobRunView | None]
    # The number of failures that the person has not looked at.
    troubles: int
    # The conversation that its runs continue.
    session_id: NotRequired[str | None]

KindView: TypeAlias = "Literal['file', 'action', 'system']"

# `waiting`: The current content of its file has not been accepted.
StateView: TypeAlias = "Literal['active', 'paused', 'disabled', 'broken', 'finished', 'waiting']"


class FlawView(TypedDict):
    field: str
    message: str
    # An example of a correct value.
    example: NotRequired[str | None]


class JobRunView(TypedDict):
    """One time of a job and its result, or several consecutive times that were left out."""

    scheduled_at: str
    # The last of the times that this entry covers.
    last_at: str
    # The number of times that this entry covers.
    count: int
    outcome: SlotState
    trigger: SlotTrigger
    run_id: str | None
    session_id: str | None
    started_at: str | None
    ended_at: str | None
    cost: float | None
    text: str
    delivery: SlotDelivery | None

# `queued`: The slot waits for a free place, or for an earlier run of the job to end. `nothing`: The job or its check ran, and there was nothing to report. `interrupted`: The process ended while the slot ran. The run is not repeated. `replaced`: A later slot was queued instead of this one. `skipped`: A rule of the job excluded this slot. `missed`: The scheduled time passed while no gateway could fire it.
SlotState: TypeAlias = "Literal['running', 'done', 'failed', 'queued', 'nothing', 'interrupted', 'replaced', 'skipped', 'missed']"

# The reason why a slot fires. `person`: A person asked for the run directly.
SlotTrigger: TypeAlias = "Literal['schedule', 'person']"

# Whether the result of a slot was delivered to its receivers other than the session.
SlotDelivery: TypeAlias = "Literal['pending', 'delivered', 'failed']"


class JobPreview(TypedDict):
    """A preview of a job, or the error in it."""

    error: NotRequired[FlawView | None]
    # The schedule in plain words.
    words: str
    timezone: str
    # The next five times.
    next: list[str]
    # The times of the next seven days, at most a hundred.
    week: list[str]
    agent: NotRequired[str | None]
    # `prompt`, `command`, `action` or `system`.
    does: str
    deliver: list[str]


class JobRuns(TypedDict):
    runs: list[JobRunView]
    # Give it as `before` to get the older ones; absent at the end.
    before: NotRequired[str | None]


class SkillViews(TypedDict):
    skills: list[SkillView]


class SkillView(TypedDict):
    name: str
    place: SkillPlaceView
    # The agent in whose folder the skill is.
    agent: NotRequired[str | None]
    # The path of its `SKILL.md`, in the vault or in the agent's folder.
    path: str
    state: SkillStateView
    # Why it is not a valid skill.
    problem: NotRequired[str | None]
    description: str
    license: NotRequired[str | None]
    compatibility: NotRequired[str | None]
    metadata: dict[str, str]
    # The tools that it asks for. They are only shown: nothing is allowed by it.
    allowed_tools: NotRequired[str | None]
    # The hash of all its files; send it back to accept the skill.
    hash: str
    # The files beside its `SKILL.md`, with their sizes.
    files: dict[str, int]
    # The whole `SKILL.md`; left out in lists.
    text: NotRequired[str | None]
    # The changes that wait for acceptance, as a diff.
    diff: NotRequired[str | None]
    # The lines of `diff`, each with its kind.
    diff_lines: NotRequired[list[DiffLine]]

# `agent`: The folder `skills` of an agent, which its owner writes. `vault`: `agent/skills` of the vault. `vault_shared`: `.agents/skills` of the vault, which other programs also use.
SkillPlaceView: TypeAlias = "Literal['agent', 'vault', 'vault_shared']"

# `new`: It has not been accepted; agents do not see it. `changed`: It differs from what was accepted; agents do not see it. `shadowed`: Another skill with the same name is used instead.
SkillStateView: TypeAlias = "Literal['ready', 'broken', 'new', 'changed', 'shadowed']"


class SkillFileView(TypedDict):
    path: str
    size: int
    # Absent where it is not text.
    text: NotRequired[str | None]


class McpServerViews(TypedDict):
    servers: list[McpServerView]


class McpServerView(TypedDict):
    name: str
    # The command line, or the address.
    place: str
    enabled: bool
    status: McpStatusView
    # Why it fails.
    problem: NotRequired[str | None]
    # The negotiated version of the protocol; absent before a connection.
    protocol: NotRequired[str | None]
    # Whether a sign-in at the server exists.
    signed_in: bool
    # Hosts that its command may reach.
    network: list[str]
    # The only agents that have its tools.
    agents: NotRequired[list[str] | None]
    tools: list[McpToolView]
    # The last lines of its error stream.
    log: list[str]

# `idle`: It is not in use; the next call starts it.
McpStatusView: TypeAlias = "Literal['starting', 'running', 'failing', 'idle']"


class McpToolView(TypedDict):
    name: str
    description: str
    schema: Any
    # The effect that the server claims. It is only shown and grants nothing.
    hints: NotRequired[Any]
    # The effect that the owner set.
    effect: ToolEffect
    state: McpToolStateView
    # Why it cannot be used.
    problem: NotRequired[str | None]
    # Send it back to accept the tool.
    hash: NotRequired[str | None]
    # The changes that wait for acceptance, as a diff.
    diff: NotRequired[str | None]
    # The lines of `diff`, each with its kind.
    diff_lines: NotRequired[list[DiffLine]]

# `new`: It has not been accepted; agents cannot use it. `changed`: Its description differs from the accepted one; agents cannot use it. `missing`: It was accepted, but its server does not offer it any more. `off`: It is switched off.
McpToolStateView: TypeAlias = "Literal['ready', 'unusable', 'new', 'changed', 'missing', 'off']"


class McpLoginBegun(TypedDict):
    # The address to open in the browser.
    address: str
    # Comes back with the browser.
    state: str


class PluginWires(TypedDict):
    plugins: list[PluginWire]


class PluginWire(TypedDict):
    name: str
    version: NotRequired[str | None]
    description: str
    state: PluginStateView
    enabled: bool
    status: PluginStatusView
    # Why it does not work fully.
    problems: list[str]
    # The access that it has once it is accepted, and no more.
    grants: GrantsView
    hooks: list[HookView]
    # The networks that it adds.
    connectors: list[str]
    # The MCP servers that it adds; their tools wait for acceptance.
    mcp_servers: list[str]
    # The skills that it adds; they wait for acceptance.
    skills: list[str]
    # A JSON schema of its settings.
    config_schema: NotRequired[Any]
    # Its settings in the config, secrets shortened.
    config: dict[str, Any]
    # Send it back to accept the plugin.
    hash: NotRequired[str | None]
    # The changes that wait for acceptance, as a diff.
    diff: NotRequired[str | None]
    # The lines of `diff`, each with its kind.
    diff_lines: NotRequired[list[DiffLine]]
    # The last lines of its program's error stream.
    log: list[str]

# `new`: It has not been accepted; nothing of it is active. `changed`: It differs from what was accepted; nothing of it runs. `missing`: It is enabled, but its folder is gone.
PluginStateView: TypeAlias = "Literal['accepted', 'broken', 'new', 'changed', 'missing']"

# `failing`: It failed and is restarted, after a longer wait with each failure. `parked`: It failed too often, or is not what it claims to be; it is not restarted automatically.
PluginStatusView: TypeAlias = "Literal['idle', 'starting', 'running', 'failing', 'parked']"


class GrantsView(TypedDict):
    # Hosts that it may reach.
    network: list[str]
    # Folders that it may read.
    read: list[str]
    # Folders that it may change.
    write: list[str]
    # The names of the secrets that it gets.
    secrets: list[str]
    events: list[str]
    # The people whose events it gets; `*` is all people.
    people: list[str]
    # It sees texts, arguments and results.
    content: bool


class HookView(TypedDict):
    event: str
    # It can veto calls; without its answer the call does not happen.
    veto: bool
    annotate: bool
    # The tools whose calls it hears of; empty: all tools.
    tools: list[str]
    deadline_ms: int


class AccountList(TypedDict):
    # The supported networks.
    networks: list[str]
    accounts: list[AccountJson]
    # Which agent answers which peers; the most specific matching binding applies.
    bindings: list[BindingJson]
    # Notices for the owner since the server started, newest first.
    notices: list[NoticeJson]


class AccountJson(TypedDict):
    """One account and its state."""

    network: str
    account: str
    state: AccountState
    # The gateway that serves the account, if it is another one and its name is known.
    gateway: str | None
    # What is wrong, if anything is.
    detail: str | None
    # The account's name on the network.
    name: str | None
    # A link at which people can write to the account.
    link: str | None
    # The link as a QR code for phones.
    qr: QrPicture | None
    # The agent that answers a new peer.
    agent: str
    # When the network last answered.
    last_heard: str | None
    silent_seconds: int | None
    restarts: int
    # Messages that wait to be answered, and to be sent.
    incoming: int
    outgoing: int
    dead_letters: int

# `listening`: The network answers. `failing`: The last request to the network failed and is repeated. `deaf`: Nothing was received for too long. `unusable`: The account cannot be started with its settings. `elsewhere`: Another gateway serves the account, and shows whether the network answers.
AccountState: TypeAlias = "Literal['starting', 'listening', 'failing', 'deaf', 'unusable', 'elsewhere']"


class QrPicture(TypedDict):
    """The dark squares of a QR code, with the empty margin that readers need."""

    # The number of squares along one side.
    size: int
    # The squares as an SVG path, in which each is one unit wide.
    path: str


class BindingJson(TypedDict):
    """A binding of the config; a field that it leaves out matches everything."""

    agent: str
    network: str | None
    account: str | None
    guild: str | None
    peer: str | None
    thread: str | None


class NoticeJson(TypedDict):
    at: str
    text: str


class PeerJson(TypedDict):
    """A person or group that the account talks to."""

    network: str
    account: str
    # The network's own id.
    id: str
    kind: PeerKind
    name: str
    state: PeerState
    # Whether it talks to the caller's own agents.
    is_mine: bool
    # The agent that answers the peer.
    agent: str
    # The pairing code of the peer while it waits for approval.
    code: str | None
    last_seen: str

PeerKind: TypeAlias = "Literal['person', 'group']"

# `waiting`: The peer has a pairing code and waits for a person's approval.
PeerState: TypeAlias = "Literal['paired', 'blocked', 'waiting']"


class TestedAccount(TypedDict):
    """What the network reports about a token."""

    name: str
    link: str | None
    # The link as a QR code for phones.
    qr: QrPicture | None


class MailList(TypedDict):
    messages: list[MailJson]


class MailJson(TypedDict):
    id: int
    text: str


class AccountDetails(TypedDict):
    """One account and its state."""

    network: str
    account: str
    state: AccountState
    # The gateway that serves the account, if it is another one and its name is known.
    gateway: str | None
    # What is wrong, if anything is.
    detail: str | None
    # The account's name on the network.
    name: str | None
    # A link at which people can write to the account.
    link: str | None
    # The link as a QR code for phones.
    qr: QrPicture | None
    # The agent that answers a new peer.
    agent: str
    # When the network last answered.
    last_heard: str | None
    silent_seconds: int | None
    restarts: int
    # Messages that wait to be answered, and to be sent.
    incoming: int
    outgoing: int
    dead_letters: int
    # The settings in onyx.json, secrets shortened.
    settings: dict[str, Any]


class LetterList(TypedDict):
    dead_letters: list[LetterJson]


class LetterJson(TypedDict):
    # `in-…` for a message that could not be answered, `out-…` for one that did not arrive.
    id: str
    peer: str
    # Whether it may have arrived.
    unknown: bool
    text: str
    why: str
    at: str


class PeerList(TypedDict):
    peers: list[PeerJson]


class PendingChanges(TypedDict):
    drafts: list[PendingChange]
    # Give it as `before` to get the older ones; absent at the end.
    before: NotRequired[str | None]


class AuditPage(TypedDict):
    # Newest first.
    rows: list[AuditRowView]
    # Give it as `before` to get the older ones; absent at the end.
    before: NotRequired[int | None]


class AuditRowView(TypedDict):
    person: str
    seq: int
    ts: str
    actor_kind: str
    actor: str
    agent: str | None
    session_id: str | None
    run_id: str | None
    tool: str | None
    effect: str | None
    decision: str | None
    diff_summary: str
    # The summary with each hash in it shortened, for people.
    short_summary: str
    result: str
    # Hash of the previous row.
    previous: str
    hash: str


class AuditChains(TypedDict):
    chains: list[AuditChain]


class AuditChain(TypedDict):
    person: str
    whole: bool
    rows: NotRequired[int | None]
    # Up to this row no available key protects the chain: the rows are older than the key, or came with a home whose key is kept elsewhere.
    unkeyed_until: NotRequired[int | None]
    # The first row that is missing, changed or does not belong.
    broken_at: NotRequired[int | None]


class Reindexed(TypedDict):
    sessions: int
    # Logs with unreadable lines; their other lines were read.
    damaged: int
    # Files that were read for the index, and how many of them had changed.
    files: int
    changed: int


class ConfigView(TypedDict):
    # The file, with keys shortened; empty where there is none. `PUT` it back as it is or edited: a shortened key stands for the one in the file.
    text: str
    # Settings that work but are probably not what was meant.
    warnings: list[str]
    # Why the file is not in effect.
    error: ConfigFlaw | None
    # Where the file is not in effect: the config that is, with keys shortened.
    last_good: str | None


class ConfigFlaw(TypedDict):
    message: str
    # The path of the key that caused the error, where it is a single one.
    field: str | None


class ImportReportCounts(TypedDict):
    agent: NotRequired[ImportCounts]
    connector: NotRequired[ImportCounts]
    file: NotRequired[ImportCounts]
    job: NotRequired[ImportCounts]
    mcp_server: NotRequired[ImportCounts]
    memory: NotRequired[ImportCounts]
    persona: NotRequired[ImportCounts]
    provider: NotRequired[ImportCounts]
    session: NotRequired[ImportCounts]
    skill: NotRequired[ImportCounts]


class ImportReport(TypedDict):
    # Whether this was a dry run, in which nothing was written.
    dry_run: bool
    counts: ImportReportCounts
    entries: list[ImportEntry]
    # Items of the other program that Onyx did not take, with the reason.
    left_out: list[ImportRemark]
    # Items that have another name in Onyx.
    renamed: list[ImportRemark]


class ImportCounts(TypedDict):
    new: int
    # A part of the item existed; the rest was added.
    added: int
    already_there: int
    # Another item exists in its place, and was not changed.
    kept: int


class ImportEntry(TypedDict):
    kind: ImportKind
    name: str
    outcome: ImportOutcome
    why: NotRequired[str | None]

ImportKind: TypeAlias = "Literal['agent', 'provider', 'connector', 'mcp_server', 'persona', 'memory', 'file', 'skill', 'job', 'session']"

# The result for one item; in a dry run, the result that it would have. `kept`: Another item exists in its place, and was not changed.
ImportOutcome: TypeAlias = "Literal['new', 'added', 'already_there', 'kept']"


class ImportRemark(TypedDict):
    what: str
    why: str


class ImportLineProgress(TypedDict):
    """So many of the items have been read or written."""

    type: Literal['progress']
    done: int
    total: int


class ImportLineReport(TypedDict):
    """The last line."""

    type: Literal['report']
    report: ImportReport

ImportLine: TypeAlias = "ImportLineProgress | ImportLineReport | Fault"


class Providers(TypedDict):
    providers: list[ProviderView]


class ProviderView(TypedDict):
    name: str
    kind: str | None
    # `ready` or `disabled`.
    state: str
    # Why it is disabled, or what fails.
    detail: NotRequired[str | None]
    address: NotRequired[str | None]
    # The key, shortened so that it cannot be used.
    key: NotRequired[str | None]
    locality: NotRequired[str | None]
    # `untried`, `well` or `failing`.
    health: str
    # The models that the config names.
    models: list[str]
    # The models that were called since the start.
    called: list[CalledModelView]
    # The sign-in, for a provider that people sign in at.
    login: NotRequired[LoginView | None]
    # The account that is used, where this machine's own identity replaces a key.
    account: NotRequired[str | None]


class CalledModelView(TypedDict):
    model: str
    # `closed`, `open` (calls are paused) or `half_open` (one call tries it).
    circuit: str
    # Failures in a row.
    failures: int
    next_try_seconds: NotRequired[int | None]
    calls: int
    answered: int
    retries: int
    first_content_ms: NotRequired[float | None]
    last_failure: NotRequired[FailureView | None]


FailureView = TypedDict(
    'FailureView',
    {
        'at': "str",
        'class': "str",
        'message': "str",
    },
)


class LoginView(TypedDict):
    """Fields that do not apply are null."""

    # `none`, `waiting`, `signed_in`, `failed` or `sign_in_again`.
    state: str
    account: str | None
    user_code: str | None
    verification_uri: str | None
    expires_at: str | None
    # Why the last attempt failed, or why a new sign-in is needed.
    error: str | None
    # When a sign-in ends that cannot be renewed automatically.
    until: str | None
    # The ways to sign in: `code`, `browser`.
    ways: list[str]
    # The last known usage of a plan's quota.
    quota: QuotaView | None


class QuotaView(TypedDict):
    # The name of the limit, for people.
    limit: str
    used_percent: int | None
    resets_at: str | None


class FoundProviders(TypedDict):
    found: list[FoundProviderView]


class FoundProviderView(TypedDict):
    """A server that answered at its usual address."""

    # The vendor's name: a provider of this name needs no other settings.
    name: str
    base_url: str
    models: list[str]
    # The first of its models that answers and is not only for embeddings.
    answers_with: NotRequired[str | None]
    latency_ms: int


class ProviderDetails(TypedDict):
    name: str
    kind: str | None
    # `ready` or `disabled`.
    state: str
    # Why it is disabled, or what fails.
    detail: NotRequired[str | None]
    address: NotRequired[str | None]
    # The key, shortened so that it cannot be used.
    key: NotRequired[str | None]
    locality: NotRequired[str | None]
    # `untried`, `well` or `failing`.
    health: str
    # The models that the config names.
    models: list[str]
    # The models that were called since the start.
    called: list[CalledModelView]
    # The sign-in, for a provider that people sign in at.
    login: NotRequired[LoginView | None]
    # The account that is used, where this machine's own identity replaces a key.
    account: NotRequired[str | None]
    # `providers.<name>` of onyx.json, keys shortened; its version is the ETag.
    settings: dict[str, Any]


class TestView(TypedDict):
    name: str
    ok: bool
    # What is right or wrong, and what to do.
    advice: str
    # `disabled`, `dns`, `refused`, `tls`, `key`, …; none when it works.
    trouble: NotRequired[str | None]
    latency_ms: NotRequired[float | None]
    model_count: NotRequired[int | None]


class Models(TypedDict):
    models: list[ModelView]


class ModelView(TypedDict):
    """A model; a field is absent where its value is unknown."""

    # `<provider>/<model>`.
    id: str
    context_window: NotRequired[int | None]
    max_output_tokens: NotRequired[int | None]
    price: NotRequired[PriceView | None]
    inputs: NotRequired[list[str] | None]
    tools: NotRequired[bool | None]
    reasoning: NotRequired[bool | None]
    locality: NotRequired[str | None]
    # It failed recently and is paused for now.
    rests: bool
    # The model's files, for a model on this machine that is requested by its id.
    weights: NotRequired[WeightsView | None]


class PriceView(TypedDict):
    """Per million tokens, in US dollars."""

    input: float
    output: float
    cache_read: NotRequired[float | None]
    cache_write: NotRequired[float | None]


class WeightsView(TypedDict):
    files: list[WeightsFileView]
    licence: NotRequired[str | None]
    # The context window that it was trained with, in tokens.
    trained_window: NotRequired[int | None]
    # Whether it is in memory now.
    loaded: bool


class WeightsFileView(TypedDict):
    path: str
    bytes: int
    # The expected SHA-256, where it is known.
    pinned_sha256: NotRequired[str | None]


class LoginBegun(TypedDict):
    """A code that waits to be entered, or a page that waits to be opened."""

    # Always `waiting`.
    state: str
    # `code` or `browser`.
    way: str
    # The code to enter on the page; none where the browser returns automatically.
    user_code: str | None
    # The page to open.
    verification_uri: str
    # An address that contains the code already, where the provider offers one.
    verification_uri_complete: str | None
    expires_at: str


class DefaultModel(TypedDict):
    """`agents.defaults.model` of onyx.json."""

    # `<provider>/<model>`; null uses the first provider that works.
    primary: str | None
    # Tried in this order when the primary model cannot answer.
    fallbacks: list[str]


class Budgets(TypedDict):
    """Today's spending and its limits; 0 is no limit. In the currency of the price data."""

    # UTC, `YYYY-MM-DD`.
    day: str
    limit_per_run: float
    limit_per_person: float
    limit_per_agent: float
    people: list[Account]
    agents: list[Account]


class Account(TypedDict):
    name: str
    cost: float
    tokens: int


class UsageReport(TypedDict):
    since: str
    until: str
    total: Sum
    # Each list holds every part of the total once, sorted by name; days without use are left out.
    days: list[Sum]
    agents: list[Sum]
    models: list[Sum]
    people: list[Sum]


class Sum(TypedDict):
    # The day, agent, model or person; empty for the total, and where the model is unknown.
    name: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    # In the currency of the price data; models without a known price count as zero.
    cost: float


class GatewayList(TypedDict):
    # Empty where a single process runs without a shared database.
    gateways: list[GatewayView]


class GatewayView(TypedDict):
    """One of several gateways, and what it does."""

    id: str
    # The address at which the other gateways reach it.
    url: str
    # The version of its program.
    version: str
    state: GatewayViewState
    # Whether this gateway answers the request.
    answers_you: bool
    # When it started.
    since: str
    # Milliseconds since it last reported to the database.
    silent_for_ms: int
    # Answers in progress.
    runs: int
    # Jobs in progress.
    jobs: int
    # Approved changes that it is applying.
    drafts: int
    # The connector accounts that it serves.
    connectors: list[str]
    # Other duties that one gateway performs for all.
    duties: list[GatewayDuty]

# `silent`: It has not reported for too long. The other gateways took over what it held. `draining`: Its answers in progress end, and it begins nothing new. `drained`: It holds nothing and begins nothing until it is restarted.
GatewayViewState: TypeAlias = "Literal['serving', 'silent', 'draining', 'drained']"


class GatewayDutyVariant(TypedDict):
    """Finishes what gateways that ended unexpectedly left behind."""

    kind: Literal['cleans_up']


class GatewayDutyVariant2(TypedDict):
    """Renews the tokens of a sign-in."""

    kind: Literal['renews_sign_in']
    of: str


class GatewayDutyVariant3(TypedDict):
    """Asks a provider whether a sign-in was finished."""

    kind: Literal['awaits_sign_in']
    of: str


class GatewayDutyVariant4(TypedDict):
    """Imports a source, named by its id."""

    kind: Literal['imports_source']
    of: str


class GatewayDutyVariant5(TypedDict):
    """Reads texts for facts with a model."""

    kind: Literal['reads_facts']


class GatewayDutyVariant6(TypedDict):
    """Makes the vectors of texts."""

    kind: Literal['makes_vectors']


class GatewayDutyVariant7(TypedDict):
    """A duty of a newer gateway, by its name in the database."""

    kind: Literal['other']
    name: str

# A duty that one gateway performs for all.
GatewayDuty: TypeAlias = "GatewayDutyVariant | GatewayDutyVariant2 | GatewayDutyVariant3 | GatewayDutyVariant4 | GatewayDutyVariant5 | GatewayDutyVariant6 | GatewayDutyVariant7"


class LogLines(TypedDict):
    lines: list[LogLine]


class LogLine(TypedDict):
    """One line of the log."""

    # Rises by one with each line; give it as `after` to continue from there.
    seq: int
    ts: str
    level: LogLevel
    # The part of the program that logged the line.
    target: str
    message: str
    # Run, session, request and other details.
    fields: NotRequired[dict[str, Any]]

LogLevel: TypeAlias = "Literal['trace', 'debug', 'info', 'warn', 'error']"


class LogLevels(TypedDict):
    """The current log level, and the level at the next start."""

    # This level and more severe ones.
    level: LogLevel
    # The level at the next start: that of `ONYX_LOG`, or `info`.
    at_start: LogLevel


class SourceList(TypedDict):
    sources: list[SourceView]


SourceView = TypedDict(
    'SourceView',
    {
        'id': "str",
        'scope': "Scope",
        'kind': "str",
        'from': "NotRequired[str | None]",
        'title': "str",
        'state': "SourceState",
        'error': "NotRequired[str | None]",
        'created_at': "str",
        'synced_at': "NotRequired[str | None]",
        'documents': "list[DocumentView]",
    },
)

SourceState: TypeAlias = "Literal['importing', 'interrupted', 'ready', 'partial', 'failed']"


DocumentView = TypedDict(
    'DocumentView',
    {
        'from': "str",
        'title': "str",
        'bytes': "int",
        'error': "NotRequired[str | None]",
    },
)


class ProgressView(TypedDict):
    """The progress of an import; the last event of a stream has another state than `importing`."""

    state: SourceState
    done: int
    failed: int
    total: NotRequired[int | None]
    current: NotRequired[str | None]


class SearchResultsView(TypedDict):
    """What was found, best first."""

    results: list[SearchHitView]
    # The search used words only, not meaning; `reason` says why.
    degraded: bool
    reason: NotRequired[str | None]
    # Not everything is indexed yet: a later search may find more.
    partial: bool


class SearchHitView(TypedDict):
    # The kind: a memory, a note, a page, …
    source: SourceKind
    path: str
    title: str
    heading: str
    scope: Scope
    origin: Origin
    start_line: int
    end_line: int
    text: str
    # A part of the text in pieces; `hit` marks the pieces that match.
    snippet: list[SnippetPart]
    score: float
    match_type: MatchType
    modified: str
    # For a message: its conversation, run and turn.
    session: NotRequired[str | None]
    run: NotRequired[str | None]
    turn: NotRequired[str | None]
    # The author of the text.
    author: NotRequired[str | None]
    # When it was written.
    time: NotRequired[str | None]

# The kinds of documents. `source`: The text of a knowledge source that a person attached.
SourceKind: TypeAlias = "Literal['memory', 'daily', 'note', 'page', 'task', 'ref', 'project', 'session', 'shared', 'source']"


class Remembered(TypedDict):
    # The file that was written.
    path: str


class IndexStatus(TypedDict):
    """The state of the index, to explain why something was not found."""

    sources: int
    chunks: int
    # The number of chunks that can be found by meaning.
    vectors: int
    # Whether everything was looked through since the start.
    complete: bool
    # The number of files that are waiting to be read.
    waiting: int
    # How far the current look through files and sessions is.
    progress: Progress | None
    synced_at: str | None
    embedding: EmbeddingState
    watching: Watching
    # The last error, if the work has not succeeded since.
    error: str | None
    # The number of files in which nothing can be found.
    problem_count: int
    problems: list[UnindexedFile]


class EmbeddingStateVariant(TypedDict):
    """No embedder is configured, so searches use words alone."""

    state: Literal['off']


class EmbeddingStateVariant2(TypedDict):
    state: Literal['ready']
    model: str


class EmbeddingStateVariant3(TypedDict):
    """The embedder fails, so searches use words alone until it works again."""

    state: Literal['failing']
    model: str
    reason: str

EmbeddingState: TypeAlias = "EmbeddingStateVariant | EmbeddingStateVariant2 | EmbeddingStateVariant3"


class WatchingVariant(TypedDict):
    """Folders are not watched; files are looked through when a session starts."""

    state: Literal['off']


class WatchingVariant2(TypedDict):
    state: Literal['on']


class WatchingVariant3(TypedDict):
    state: Literal['failing']
    reason: str

Watching: TypeAlias = "WatchingVariant | WatchingVariant2 | WatchingVariant3"


class UnindexedFile(TypedDict):
    """A file in which nothing can be found, and why."""

    path: str
    reason: str


class FileList(TypedDict):
    files: list[FileView]
    # Give it as `after` for the rest.
    after: NotRequired[str | None]


class FileView(TypedDict):
    path: str
    source: SourceKind
    scope: Scope
    title: str
    origin: Origin
    size: int
    modified: str
    # Why its content is not indexed.
    problem: str | None


class Graph(TypedDict):
    # The entities, those with the newest facts first; empty if a single one was requested.
    entities: list[GraphEntity]
    # The entity that was requested or changed.
    entity: NotRequired[GraphEntityPage | None]


class GraphEntity(TypedDict):
    name: str
    facts: int
    last_said: str


class GraphEntityPage(TypedDict):
    name: str
    # Other names that were merged into this one.
    also: list[str]
    # Grouped by relation, newest first.
    facts: list[FactView]
    # Not all texts have been processed yet.
    partial: bool


FactView = TypedDict(
    'FactView',
    {
        'subject': "str",
        'relation': "str",
        'object': "str",
        'object_is_entity': "bool",
        'from': "str",
        'until': "NotRequired[str | None]",
        'trusted': "bool",
        'sources': "list[FactSource]",
    },
)


class FactSource(TypedDict):
    path: str
    title: str
    # The line, from 1; for a conversation, the number of the message in its run.
    line: int
    text: str
    origin: Origin
    said_at: str
    # `rules`, or the model that found it.
    found_by: str
    author: NotRequired[str | None]
    # The conversation and the message that state it; absent for a file.
    session_id: NotRequired[str | None]
    turn: NotRequired[str | None]


class KeepingReport(TypedDict):
    # The drafts that wait for a decision.
    drafts: list[str]
    # Absent where there were no daily logs to read.
    session_id: NotRequired[str | None]
    run_id: NotRequired[str | None]
    status: NotRequired[RunStatus | None]


class SignedIn(TypedDict):
    """The signed-in person, and the key that the page sends with every request."""

    person: str
    name: str | None
    role: Role
    credential: CallerKind
    scopes: list[Grant]
    expires_at: str | None
    # Sent as `X-Onyx-Page-Key`: without it the cookie alone is not accepted. It is given only here.
    page_key: str

Role: TypeAlias = "Literal['owner', 'member']"

# How a caller proved who they are. `local_user`: The home's own socket: the kernel reports that the caller is the user who runs the server. `owner_token`: The owner's token, from the config or the token file. `access`: A short-lived token, which a refresh token was exchanged for.
CallerKind: TypeAlias = "Literal['token', 'session', 'password', 'local_user', 'owner_token', 'access']"

# One right that a credential may have. `read`: Reading the person's data. `write`: Changing the person's data, and approving what agents propose to change. `chat`: Using agents and models. `admin`: The rights of the owner, which have no effect in a member's credential.
Grant: TypeAlias = "Literal['read', 'write', 'chat', 'admin']"


class TokenReply(TypedDict):
    access_token: str
    refresh_token: str
    token_type: str
    expires_in: int


class PairingBegun(TypedDict):
    pairing_id: str
    code: str
    expires_in: int


class PairingReply(TypedDict):
    status: PairingState
    # The token, for a device.
    token: NotRequired[str | None]
    # The page key, for a browser, in addition to its cookie: sent as `X-Onyx-Page-Key` with every request.
    page_key: NotRequired[str | None]

PairingState: TypeAlias = "Literal['pending', 'approved', 'rejected']"


class Me(TypedDict):
    person: str
    name: str | None
    role: Role
    credential: CallerKind
    scopes: list[Grant]
    expires_at: str | None


class People(TypedDict):
    people: list[Person]


class Person(TypedDict):
    """A human with an account here."""

    id: str
    name: str | None
    role: Role
    source: PersonSource
    has_password: bool

# Where a person is declared, which is where they can be changed. `config`: `people` of onyx.json, or VALID_PERSONS. `added`: The person was made at the first start, or added later.
PersonSource: TypeAlias = "Literal['config', 'added']"


class Credentials(TypedDict):
    tokens: list[CredentialView]


class CredentialView(TypedDict):
    """A credential without its secret."""

    id: str
    kind: CredentialKind
    name: str
    people: list[str]
    scopes: list[Grant]
    created_at: str
    expires_at: str | None

# `token`: A token for programs, `onyx_sk_…`. `session`: The cookie of a browser. `refresh`: A credential with which an SDK gets short-lived tokens.
CredentialKind: TypeAlias = "Literal['token', 'session', 'refresh']"


class TokenMade(TypedDict):
    """A credential without its secret."""

    id: str
    kind: CredentialKind
    name: str
    people: list[str]
    scopes: list[Grant]
    created_at: str
    expires_at: str | None
    # Shown only here.
    token: str


class Pairings(TypedDict):
    pairings: list[Pairing]


class Pairing(TypedDict):
    """A device that waits, as the owner sees it."""

    code: str
    name: str
    client: PairingFor
    expires_in: int

# The credential that the device asks for. `browser`: A cookie. `device`: An API token.
PairingFor: TypeAlias = "Literal['browser', 'device']"


class Link(TypedDict):
    # An address to open in a browser on the machine that runs the server.
    url: str


class SecretList(TypedDict):
    secrets: list[SecretView]


class SecretView(TypedDict):
    """A secret as it may be shown."""

    name: str
    # A shortened value, just enough to recognise the secret.
    hint: str
    updated_at: str
    # The place of the key that opens the secret.
    key: KeyPlace
    # Why the secret cannot be used, if it cannot.
    error: NotRequired[str | None]

# The place of a key. `master_key`: The key is made from the key that all gateways of a server are given.
KeyPlace: TypeAlias = "Literal['keyring', 'file', 'master_key']"


class Rotated(TypedDict):
    rotated: int


class PersonaEventTextDelta(TypedDict):
    type: Literal['text_delta']
    content: str


class PersonaEventTextComplete(TypedDict):
    type: Literal['text_complete']
    id: str
    content: str


class PersonaEventToolCall(TypedDict):
    type: Literal['tool_call']
    id: str
    toolUseId: ToolUseId
    toolName: str
    input: Any
    label: CallLabel


class PersonaEventToolResult(TypedDict):
    type: Literal['tool_result']
    id: str
    toolUseId: ToolUseId
    output: str
    isError: NotRequired[bool]
    report: CallReport


class PersonaEventDone(TypedDict):
    type: Literal['done']


class PersonaEventError(TypedDict):
    type: Literal['error']
    message: str

PersonaEvent: TypeAlias = "PersonaEventTextDelta | PersonaEventTextComplete | PersonaEventToolCall | PersonaEventToolResult | PersonaEventDone | PersonaEventError"


class PersonaCleared(TypedDict):
    sessionId: str


class PersonaHistory(TypedDict):
    turns: list[PersonaTurn]
    # Give it as `before` to get the messages before these; absent at the beginning.
    before: NotRequired[int | None]


class PersonaTurnUser(TypedDict):
    id: str
    createdAt: str
    type: Literal['user']
    content: str


class PersonaTurnAssistantText(TypedDict):
    id: str
    createdAt: str
    type: Literal['assistant_text']
    content: str


class PersonaTurnToolCall(TypedDict):
    id: str
    createdAt: str
    type: Literal['tool_call']
    toolUseId: ToolUseId
    toolName: str
    input: Any
    label: CallLabel


class PersonaTurnToolResult(TypedDict):
    id: str
    createdAt: str
    type: Literal['tool_result']
    toolUseId: ToolUseId
    output: str
    isError: NotRequired[bool]
    report: CallReport

PersonaTurn: TypeAlias = "PersonaTurnUser | PersonaTurnAssistantText | PersonaTurnToolCall | PersonaTurnToolResult"


class PersonaView(TypedDict):
    id: str
    name: str
    systemPrompt: str
    testInputIds: list[str]
    # The conversation in which the caller edits the persona, if there is one.
    agentChatSessionId: NotRequired[str | None]


class TestInputList(TypedDict):
    testInputs: list[TestInputView]


class TestInputView(TypedDict):
    id: str
    content: str


class SpaceList(TypedDict):
    spaces: list[SpaceView]


class SpaceView(TypedDict):
    id: str
    name: str
    # Absent: the general default agent.
    default_agent: NotRequired[str | None]
    # The session of the space's companion, once there is one.
    companion: NotRequired[str | None]
    # Only models of this machine may be used in its conversations.
    local_only: bool
    # The highest tier of agents in the space, even if their own is higher.
    tier: Tier
    created_at: NotRequired[str | None]
    # Why its `space.json` cannot be read; the contents of the space are not affected.
    error: NotRequired[str | None]


class EntityView(TypedDict):
    id: str
    kind: EntityKind
    space: str
    title: str
    status: NotRequired[str | None]
    tags: list[str]
    created_at: NotRequired[str | None]
    updated_at: str
    origin: Origin
    # All other keys of its front matter with a value of one line.
    fields: dict[str, str]
    # The path by which searches and agents name its file.
    path: str
    # The version in its ETag.
    version: str
    body: NotRequired[str | None]


class EntityList(TypedDict):
    # Last changed first, without their bodies.
    entities: list[EntityView]
    # Give it as `before` for the rest.
    before: NotRequired[str | None]


class AttachedConversations(TypedDict):
    sessions: list[SessionView]


class CompanionView(TypedDict):
    conversation_id: str
    space: str
    # The agent that answers now.
    agent: str
    agent_name: str


class Messages(TypedDict):
    # Oldest first.
    messages: list[ConversationMessage]
    # Give it as `before` for the messages before these; absent at the beginning.
    before: NotRequired[str | None]


class ConversationMessage(TypedDict):
    id: str
    role: MessageRole
    # The agent that answered; `person` for the person's own messages.
    author: str
    # For an answer: the message that it answers.
    question: NotRequired[str | None]
    content: str
    status: MessageStatus
    created_at: str
    # The reason why there is no answer, if there is none.
    error: NotRequired[Fault | None]
    metadata: MessageMetadata


class MessageMetadata(TypedDict):
    tools: list[ToolTrace]
    draft_ids: list[str]
    model: str | None
    usage: Usage | None


class ToolTrace(TypedDict):
    id: ToolUseId
    tool: str
    args_summary: str
    status: ToolState

# The state of a tool call.
ToolState: TypeAlias = "Literal['running', 'ok', 'failed']"


class Posted(TypedDict):
    message_id: str


class CompanionEventVariant(TypedDict):
    text: str


class CompanionEventVariant2(TypedDict):
    pending_change_id: str
    summary: str


class CompanionEventVariant3(TypedDict):
    assistant_message_id: str | None
    usage: Usage


class CompanionEventVariant4(TypedDict):
    message: str
    code: ErrorCode
    hint: str

# The data of an event; the event's name is its kind.
CompanionEvent: TypeAlias = "ToolChip | CompanionEventVariant | CompanionEventVariant2 | Question | CompanionEventVariant3 | CompanionEventVariant4"


class ToolChip(TypedDict):
    id: ToolUseId
    tool: str
    args_summary: str
    status: ToolState
    label: NotRequired[CallLabel | None]
    # The result of the call.
    report: NotRequired[CallReport | None]


class Question(TypedDict):
    pending_change_id: str
    tool: str
    summary: str
    preview: Preview
    asks_for: AsksFor
    expires_at: str


class ChannelList(TypedDict):
    channels: list[ChannelView]


class ChannelView(TypedDict):
    id: str
    space: str
    name: str
    purpose: str
    coworkers: list[CoworkerView]
    threads: int
    created_at: NotRequired[str | None]


class CoworkerView(TypedDict):
    agent: str
    # Answers messages that name no coworker: the marked one, or the one assigned first.
    primary: bool


class CoworkerList(TypedDict):
    coworkers: list[CoworkerView]


class ThreadList(TypedDict):
    # Newest first.
    threads: list[ThreadView]


class ThreadView(TypedDict):
    id: str
    channel: str
    space: str
    title: str
    created_at: str


class ThreadMessages(TypedDict):
    # Oldest first.
    messages: list[ConversationMessage]
    before: NotRequired[str | None]


class ThreadMessageSent(TypedDict):
    user_message: ConversationMessage
    # One for each coworker that answers, still empty.
    assistant_messages: list[ConversationMessage]


class ThreadContext(TypedDict):
    # The agents that would answer the message.
    agents: list[str]
    # Best first.
    pieces: list[ThreadContextPiece]
    # The approximate number of tokens for retrieved text: the smallest among the models that would answer.
    budget: int
    # Why less was found than exists.
    degraded: NotRequired[str | None]


class ThreadContextPiece(TypedDict):
    source: str
    source_id: str
    chunk_id: str
    title: str
    # The conversation and the message that the piece is from; absent for files.
    session_id: NotRequired[str | None]
    turn: NotRequired[str | None]
    scope: Scope
    origin: Origin
    score: float
    match_type: MatchType
    start_line: int
    end_line: int
    # Without the file's front matter.
    text: str
    # The approximate number of tokens it uses of the budget.
    tokens: int
    # Whether it fits into the budget after the better ones.
    fits: bool


class ThreadAnswerers(TypedDict):
    # In the order in which they answer.
    agents: list[str]


class ThreadEventVariant(TypedDict):
    message_id: str
    text: str
    full_content: str


class ThreadEventVariant2(TypedDict):
    message_id: str
    content: str
    status: MessageStatus


class ThreadEventVariant3(TypedDict):
    message_id: str
    error: ThreadError


class ThreadEventVariant4(TypedDict):
    """The last event of a deleted thread."""

    error: ThreadError

# The data of an event; the event's name is its kind.
ThreadEvent: TypeAlias = "ThreadEventVariant | ThreadEventVariant2 | ThreadEventVariant3 | ThreadConfirm | ThreadEventVariant4"


class ThreadError(TypedDict):
    code: ErrorCode
    message: str
    hint: str


class ThreadConfirm(TypedDict):
    message_id: str
    pending_change_id: str
    tool: str
    summary: str
    preview: Preview
    asks_for: AsksFor
    expires_at: str


class MessageCancelled(TypedDict):
    cancelled: bool

# An object whose fields the maker's own documents describe.
MakersObject: TypeAlias = "dict[str, Any]"


class EmbeddingList(TypedDict):
    object: str
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage


class Embedding(TypedDict):
    object: str
    index: int
    embedding: Vector

Vector: TypeAlias = "list[float] | str"


class EmbeddingUsage(TypedDict):
    prompt_tokens: int
    total_tokens: int


class ModelList(TypedDict):
    object: str
    data: list[ListedModelView]
    first_id: str | None
    last_id: str | None
    has_more: bool


class ListedModelView(TypedDict):
    id: str
    object: str
    type: str
    display_name: str
    created: int
    created_at: str
    owned_by: str
    context_window: NotRequired[int | None]
    # Anthropic's name of the context window.
    max_input_tokens: NotRequired[int | None]
    # Anthropic's name of the longest answer.
    max_tokens: NotRequired[int | None]
    capabilities: Capabilities


class Capabilities(TypedDict):
    """The known capabilities; unknown ones are absent."""

    tools: NotRequired[bool | None]
    reasoning: NotRequired[bool | None]
    images: NotRequired[bool | None]


class AccessRequestView(TypedDict):
    # The program's own name for itself; it is not verified.
    name: str
    # The address that the browser goes to, which receives the access.
    goes_to: str
    # Scopes: chat, read, write.
    scopes: list[str]


class AccessGranted(TypedDict):
    redirect: str


class LinkedInView(TypedDict):
    """A person's account, as far as it is known."""

    # Whether the owner has configured a LinkedIn application.
    configured: bool
    # What the owner has to correct before anyone can connect.
    trouble: str | None
    login: LoginView
    # When LinkedIn last accepted the account's token, since the server started.
    last_validated_at: str | None
    # Why LinkedIn refused the last request; null after one that succeeded.
    last_error: str | None
    # The redirect address to register with the application at LinkedIn.
    redirect_uri: str


class LinkedInRevoked(TypedDict):
    # Whether LinkedIn confirmed that its tokens are revoked.
    confirmed: bool
    # Why it did not, and what to do.
    detail: str | None


class Problem(TypedDict):
    """RFC 9457, with the code and the hint of the error table."""

    status: int
    code: ErrorCode
    title: str
    detail: str
    hint: str
    field: NotRequired[str | None]


class ChatRequest(TypedDict):
    session_id: NotRequired[str | None]
    message: NotRequired[str | None]
    action_id: NotRequired[str | None]
    agent: NotRequired[str | None]
    confirm: NotRequired[Confirm | None]
    dry_run: NotRequired[bool | None]
    # Without a `session_id`: begins a chat that is not listed, indexed or remembered, and that is deleted a day after its last use.
    temporary: NotRequired[bool]

Confirm: TypeAlias = "bool | list[str]"


class StopRequest(TypedDict):
    session_id: NotRequired[str | None]
    run_id: NotRequired[str | None]


class SessionRequest(TypedDict):
    session_id: str


class HistoryQuery(TypedDict):
    session_id: str
    before: NotRequired[int | None]
    limit: NotRequired[int | None]


class PreferencesChange(TypedDict):
    runtime_mode: NotRequired[RuntimeMode | None]
    prompt: NotRequired[str | None]
    fallback: NotRequired[bool | None]
    # Each flag is set on its own; `null` removes it.
    flags: NotRequired[dict[str, bool | None]]
    actions_path: NotRequired[str | None]
    # An IANA name such as `Europe/Berlin`; empty for the server's.
    timezone: NotRequired[str | None]


class RunAction(TypedDict):
    session_id: NotRequired[str | None]
    confirm: NotRequired[bool | None]
    dry_run: NotRequired[bool | None]
    # The text for `{{selection}}`.
    selection: NotRequired[str | None]


class FilledWith(TypedDict):
    # The text for `{{selection}}`.
    selection: NotRequired[str | None]


class ActionRunsQuery(TypedDict):
    # Only runs before this one.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class NewAgent(TypedDict):
    """Read in two parts, because errors in fields of a flattened struct would lose their paths."""

    id: str
    name: NotRequired[str | None]
    # Answers messages that name no agent; exactly one agent is the default.
    default: NotRequired[bool]
    enabled: NotRequired[bool | None]
    tier: NotRequired[Tier | None]
    # `<provider>/<model>`, or `auto`.
    model: NotRequired[str | None]
    # Tried in this order when `model` fails.
    fallbacks: NotRequired[list[str]]
    tools: NotRequired[ToolFieldsInput | None]
    temperature: NotRequired[float | None]
    max_output_tokens: NotRequired[int | None]
    # A folder whose files are read instead of those in the agent's own folder.
    workspace: NotRequired[str | None]
    # Other agents whose memory it may search.
    memory_read: NotRequired[list[str]]
    # Context is searched for each message of its chats, as it always is in spaces.
    memory_retrieval: NotRequired[bool | None]
    # It uses only models of this machine.
    local_only: NotRequired[bool | None]


class ToolFieldsInput(TypedDict):
    """Names of tools, or `group:<name>`. Deny takes precedence."""

    # None: every tool.
    allow: NotRequired[list[str] | None]
    deny: NotRequired[list[str]]
    # Commands that need no approval: each is the beginning of an argument list.
    commands: NotRequired[list[list[str]]]


class AgentFieldsInput(TypedDict):
    """An agent's own settings. Absent ones are taken from `agents.defaults`."""

    name: NotRequired[str | None]
    # Answers messages that name no agent; exactly one agent is the default.
    default: NotRequired[bool]
    enabled: NotRequired[bool | None]
    tier: NotRequired[Tier | None]
    # `<provider>/<model>`, or `auto`.
    model: NotRequired[str | None]
    # Tried in this order when `model` fails.
    fallbacks: NotRequired[list[str]]
    tools: NotRequired[ToolFieldsInput | None]
    temperature: NotRequired[float | None]
    max_output_tokens: NotRequired[int | None]
    # A folder whose files are read instead of those in the agent's own folder.
    workspace: NotRequired[str | None]
    # Other agents whose memory it may search.
    memory_read: NotRequired[list[str]]
    # Context is searched for each message of its chats, as it always is in spaces.
    memory_retrieval: NotRequired[bool | None]
    # It uses only models of this machine.
    local_only: NotRequired[bool | None]


class AcceptFile(TypedDict):
    # The ETag of the version that was read.
    seen: str


class ListQuery(TypedDict):
    agent: NotRequired[str | None]
    status: NotRequired[SessionStatus | None]
    origin: NotRequired[SessionOrigin | None]
    # Text of the title or the newest messages, or of any message.
    q: NotRequired[str | None]
    since: NotRequired[str | None]
    until: NotRequired[str | None]
    # Only pinned, or only unpinned, conversations.
    pinned: NotRequired[bool | None]
    # Only conversations with this tag.
    tag: NotRequired[str | None]
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class Patch(TypedDict):
    title: NotRequired[str | None]
    status: NotRequired[SessionStatus | None]
    agents: NotRequired[list[str] | None]
    mode: NotRequired[LaneOrder | None]
    # Pinned to the top of the list, with its forks.
    pinned: NotRequired[bool | None]
    # Replaces the tags, also those of its forks.
    tags: NotRequired[list[str] | None]
    # The page, task, ref or project that it is attached to; `null` detaches it.
    attached: NotRequired[EntityRef | None]


class GivenFeedback(TypedDict):
    # Absent or `null`: the earlier rating is withdrawn.
    rating: NotRequired[Rating | None]
    note: NotRequired[str | None]


class Fork(TypedDict):
    turn_id: str
    # Leave out the turn itself, to replace it with another message.
    before: NotRequired[bool]


class TurnsQuery(TypedDict):
    before: NotRequired[int | None]
    limit: NotRequired[int | None]


class ExportQuery(TypedDict):
    format: NotRequired[ExportFormat]

ExportFormat: TypeAlias = "Literal['jsonl', 'markdown']"


class EventsQuery(TypedDict):
    after: NotRequired[int | None]


class UndoQuery(TypedDict):
    dry_run: NotRequired[bool]


class DraftDecision(TypedDict):
    """A person's decision with its options."""

    reason: NotRequired[str | None]
    scope: NotRequired[ScopeInput | None]
    # The `plan_hash` that was shown; required for a draft that is `stale`.
    plan_hash: NotRequired[str | None]

# `once`: This call alone. `run`: The same tool may reach the same host for the rest of the run.
ScopeInput: TypeAlias = "Literal['once', 'run']"


class JobBody(TypedDict):
    """A new job: its name and fields."""

    id: str
    # Five or six fields, such as `0 8 * * MON-FRI`.
    cron: NotRequired[str | None]
    # An interval such as `2h` or `2w`; with `at` as the first time.
    every: NotRequired[str | None]
    # A time such as `2030-12-01T09:00`.
    at: NotRequired[str | None]
    # An IANA name; the person's zone if absent.
    timezone: NotRequired[str | None]
    # Runs are delayed by up to this long.
    jitter: NotRequired[str | None]
    # `skip`, `once` or `all`: what happens with times that passed while no server ran.
    misfire: NotRequired[str | None]
    # A run that is late by less than this counts as on time.
    grace: NotRequired[str | None]
    # `skip`, `queue` or `replace`: what happens at a time while the job still runs.
    overlap: NotRequired[str | None]
    agent: NotRequired[str | None]
    model: NotRequired[str | None]
    # `fresh` or `kept`.
    session: NotRequired[str | None]
    # `session`, `notification`, `{webhook}`, `{email}`, `{connector}` or several of them.
    deliver: NotRequired[Any]
    # A check before each run: a command (text or list), or `{url, status, contains}`.
    when: NotRequired[Any]
    # A command (text or list) instead of a prompt.
    run: NotRequired[Any]
    max_cost: NotRequired[float | None]
    enabled: NotRequired[bool | None]
    expires: NotRequired[str | None]
    prompt: NotRequired[str | None]


class JobChangeBody(TypedDict):
    """The front matter of a job, and its prompt. `null` removes a field."""

    # Five or six fields, such as `0 8 * * MON-FRI`.
    cron: NotRequired[str | None]
    # An interval such as `2h` or `2w`; with `at` as the first time.
    every: NotRequired[str | None]
    # A time such as `2030-12-01T09:00`.
    at: NotRequired[str | None]
    # An IANA name; the person's zone if absent.
    timezone: NotRequired[str | None]
    # Runs are delayed by up to this long.
    jitter: NotRequired[str | None]
    # `skip`, `once` or `all`: what happens with times that passed while no server ran.
    misfire: NotRequired[str | None]
    # A run that is late by less than this counts as on time.
    grace: NotRequired[str | None]
    # `skip`, `queue` or `replace`: what happens at a time while the job still runs.
    overlap: NotRequired[str | None]
    agent: NotRequired[str | None]
    model: NotRequired[str | None]
    # `fresh` or `kept`.
    session: NotRequired[str | None]
    # `session`, `notification`, `{webhook}`, `{email}`, `{connector}` or several of them.
    deliver: NotRequired[Any]
    # A check before each run: a command (text or list), or `{url, status, contains}`.
    when: NotRequired[Any]
    # A command (text or list) instead of a prompt.
    run: NotRequired[Any]
    max_cost: NotRequired[float | None]
    enabled: NotRequired[bool | None]
    expires: NotRequired[str | None]
    prompt: NotRequired[str | None]


class JobShown(TypedDict):
    """The state of the job that the person looked at."""

    # The `hash` of the job as it was shown.
    hash: str


class JobRunsQuery(TypedDict):
    # Only times before this one.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class SkillImport(TypedDict):
    """Files, or a ZIP archive of them. Each folder with a `SKILL.md` is a skill."""

    # The name of a skill at the top of the package that does not name itself.
    name: NotRequired[str | None]
    files: NotRequired[list[BroughtFile] | None]
    # A ZIP archive in base64.
    zip: NotRequired[str | None]
    # The https address of a repository; its newest commit is used.
    git: NotRequired[str | None]


class BroughtFile(TypedDict):
    path: str
    # The content in base64.
    content: str


class WhoseSkill(TypedDict):
    # The agent in whose folder the skill is; without it, the vault.
    agent: NotRequired[str | None]


class SkillText(TypedDict):
    """The whole `SKILL.md`."""

    text: str


class SeenSkill(TypedDict):
    """The skill as the person saw it."""

    # The `hash` of the skill as it was shown.
    hash: str


class FileOfSkill(TypedDict):
    # A path as the skill's `files` list it.
    path: str
    agent: NotRequired[str | None]

# `{"mcpServers": {…}}` as other clients have it, or servers by name.
NewMcpServers: TypeAlias = "dict[str, Any]"


class SeenTools(TypedDict):
    """The tools as the person saw them."""

    # The `hash` of each tool as it was shown.
    tools: dict[str, str]


class McpLogin(TypedDict):
    # The address that the browser returns to; it must be on this machine.
    redirect_uri: str


class McpCallback(TypedDict):
    """What the browser brought back."""

    state: str
    code: NotRequired[str | None]
    iss: NotRequired[str | None]
    error: NotRequired[str | None]


class McpToolSettings(TypedDict):
    """Absent settings stay as they are."""

    enabled: NotRequired[bool | None]
    effect: NotRequired[ToolEffect | None]


class WhichAgent(TypedDict):
    # The agent whose tools are offered; without it, the default agent.
    agent: NotRequired[str | None]


class JsonRpc(TypedDict):
    """A message of JSON-RPC 2.0."""

    jsonrpc: str
    id: NotRequired[Any]
    method: str
    params: NotRequired[dict[str, Any] | None]


class NewPlugin(TypedDict):
    """A plugin as exactly one of `files`, `zip` and `git`."""

    files: NotRequired[list[PluginFile] | None]
    # A ZIP archive, in base64.
    zip: NotRequired[str | None]
    # The https address of a repository; its newest commit is used.
    git: NotRequired[str | None]


class PluginFile(TypedDict):
    path: str
    # The content in base64.
    content: str


class SeenPlugin(TypedDict):
    """The plugin as the person saw it."""

    # The `hash` of the plugin as it was shown.
    hash: str

# The settings, by the plugin's own schema.
PluginConfig: TypeAlias = "dict[str, Any]"


class PairCode(TypedDict):
    code: str


class TestAccount(TypedDict):
    network: str
    token: str
    api_base: NotRequired[str | None]


class WrittenByVisitor(TypedDict):
    # An id that the page generates; a repeated message has the same id.
    id: str
    text: str


class MailAsked(TypedDict):
    # The number of the last message that the page has.
    after: NotRequired[int]


class PutAccount(TypedDict):
    # The new content of `connectors.<network>.accounts.<account>`: `allow`, `groups`, `apiBase`, …
    settings: NotRequired[dict[str, Any]]
    # Stored encrypted as `<network>-<account>`, and named as `token` in the settings.
    token: NotRequired[str | None]


class BindPeer(TypedDict):
    # The agent that answers from now on; `null` leaves it to the other bindings.
    agent: NotRequired[str | None]


class ApprovePeer(TypedDict):
    # The person whose agents the peer talks to; the owner if it is absent.
    member: NotRequired[str | None]


class PendingChangesQuery(TypedDict):
    state: NotRequired[DraftState | None]
    session: NotRequired[str | None]
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class AuditQuery(TypedDict):
    # The person whose entries are listed; without it, the caller.
    person: NotRequired[str | None]
    before: NotRequired[int | None]
    limit: NotRequired[int | None]


class VerifyQuery(TypedDict):
    # The person whose log is verified; without it, all people.
    person: NotRequired[str | None]


class NewConfig(TypedDict):
    # The whole file. A shortened key in it stands for the key in the current file.
    text: str


ImportQuery = TypedDict(
    'ImportQuery',
    {
        'from': "ImportSource",
        'form': "NotRequired[Form]",
        'dry_run': "NotRequired[bool]",
        'skip_broken': "NotRequired[bool]",
        'progress': "NotRequired[bool]",
    },
)

# The program that data is imported from.
ImportSource: TypeAlias = "Literal['openclaw', 'nanobot', 'open-webui', 'chatgpt', 'claude']"

# `export`: The file that the other program exported, or an archive of its folder. `items`: The items that were read from it, one per line.
Form: TypeAlias = "Literal['export', 'items']"


class PutProvider(TypedDict):
    # The new content of `providers.<name>` in onyx.json: `kind`, `baseUrl`, `models`, … A shortened key in it stands for the current one.
    settings: NotRequired[dict[str, Any]]
    # Stored encrypted under the provider's name, and named as `apiKey` in the settings.
    api_key: NotRequired[str | None]


class BeginLogin(TypedDict):
    # A way to sign in that the provider offers; without it, the provider's first one.
    way: NotRequired[SignInWay | None]

# `code`: A code that is entered on the provider's page, on any machine. `browser`: A browser that returns to the machine that runs Onyx.
SignInWay: TypeAlias = "Literal['code', 'browser']"


class FinishLogin(TypedDict):
    # The whole address of the page that the browser ended at.
    address: str


class DefaultModelInput(TypedDict):
    """`agents.defaults.model` of onyx.json."""

    # `<provider>/<model>`; null uses the first provider that works.
    primary: NotRequired[str | None]
    # Tried in this order when the primary model cannot answer.
    fallbacks: NotRequired[list[str]]


class NewLimits(TypedDict):
    """Absent limits stay as they are."""

    limit_per_run: NotRequired[float | None]
    limit_per_person: NotRequired[float | None]
    limit_per_agent: NotRequired[float | None]


class UsageQuery(TypedDict):
    # The first day, UTC; by default 30 days before the last.
    since: NotRequired[str | None]
    # The last day, UTC; by default today.
    until: NotRequired[str | None]
    person: NotRequired[str | None]
    agent: NotRequired[str | None]
    model: NotRequired[str | None]


class LogsQuery(TypedDict):
    # This level and more severe ones.
    level: NotRequired[LogLevel | None]
    # A part of the message, the target or a field.
    q: NotRequired[str | None]
    # Only lines after this one.
    after: NotRequired[int | None]
    # The largest number of lines; 200 if it is absent.
    limit: NotRequired[int | None]


class NewLevel(TypedDict):
    # This level and more severe ones.
    level: LogLevel


class SourcesQuery(TypedDict):
    # Only sources of this space, channel, thread or agent.
    scope: NotRequired[str | None]


class SourceRequest(TypedDict):
    """What to attach, and to what."""

    scope: ScopeRequest
    title: NotRequired[str | None]


class ScopeRequest(TypedDict):
    type: ScopeKind
    id: str
    # The space of a channel or thread that no space lists.
    space: NotRequired[str | None]

ScopeKind: TypeAlias = "Literal['space', 'channel', 'thread', 'agent']"


class MemoryQuery(TypedDict):
    q: str
    # Only what this agent remembers.
    agent: NotRequired[str | None]
    # `person`, `shared`, `agent:<id>`, `space:<id>`, `channel:<id>` or `thread:<id>`.
    scope: NotRequired[str | None]
    limit: NotRequired[int | None]


class NewMemory(TypedDict):
    # None: the default agent.
    agent: NotRequired[str | None]
    text: str
    target: Target
    # The heading in MEMORY.md; required there.
    heading: NotRequired[str | None]

Target: TypeAlias = "Literal['daily', 'memory']"


class FilesQuery(TypedDict):
    # Some of the kinds of sources, separated by commas; by default memory and daily.
    types: NotRequired[str | None]
    # Only paths after this one.
    after: NotRequired[str | None]
    limit: NotRequired[int | None]


class ReadQuery(TypedDict):
    # Returns the content before this change instead of the current content.
    version: NotRequired[int | None]
    # The path is as an agent wrote it: one that names no folder of the person's is in the vault.
    cited: NotRequired[bool]
    # With `version`: only this part of the content.
    part: NotRequired[FilePart | None]

# `body`: The text without its front matter.
FilePart: TypeAlias = "Literal['body']"


class FileAct(TypedDict):
    # For `restore`: the change whose previous content is restored.
    version: NotRequired[int | None]
    # For `accept`: the ETag of the file that the person read.
    seen: NotRequired[str | None]


class GraphQuery(TypedDict):
    # A name; the answer holds its facts.
    entity: NotRequired[str | None]
    # Text that the listed names contain; with `entity`, text that its facts contain.
    q: NotRequired[str | None]
    limit: NotRequired[int | None]


class Merge(TypedDict):
    # The name of the entity from now on.
    into: str
    # The names that are merged into it.
    names: list[str]


class Split(TypedDict):
    name: str
    # The entity that some texts mean by the name. Absent: the name is split from the entity that it was merged into.
    apart: NotRequired[Apart | None]


class Apart(TypedDict):
    """The texts in which the name means another entity."""

    # The entity's name in these texts.
    into: str
    paths: list[str]


class Keep(TypedDict):
    # None: the default agent.
    agent: NotRequired[str | None]


class KnowledgeQuery(TypedDict):
    q: str
    space: NotRequired[str | None]
    # Some of page, task, ref, project, note, source, memory, daily, session, shared, separated by commas.
    types: NotRequired[str | None]
    limit: NotRequired[int | None]


class LinkQuery(TypedDict):
    code: str


class Login(TypedDict):
    person: str
    password: str


class Refresh(TypedDict):
    refresh_token: str


class BeginPairing(TypedDict):
    name: NotRequired[str]
    client: NotRequired[PairingFor]


class OwnPassword(TypedDict):
    # The current password, where there is one.
    current: NotRequired[str | None]
    password: str


class NewPerson(TypedDict):
    id: str
    name: NotRequired[str | None]


class NewPassword(TypedDict):
    password: str


class TokenRequest(TypedDict):
    name: str
    # Absent: the caller. A token of several people is a household token.
    people: NotRequired[list[str]]
    # Absent: all rights for a person's own data.
    scopes: NotRequired[list[Grant] | None]
    # In seconds; absent: valid until it is revoked.
    expires_in: NotRequired[int | None]


class Approve(TypedDict):
    code: str
    # The person who gets the device; absent: the caller.
    person: NotRequired[str | None]


class Reject(TypedDict):
    code: str


class SecretValue(TypedDict):
    value: str


class PersonaChatRequest(TypedDict):
    personaId: str
    message: str


class OfPersona(TypedDict):
    personaId: str


class PersonaHistoryQuery(TypedDict):
    personaId: str
    before: NotRequired[int | None]
    limit: NotRequired[int | None]


class PutPersona(TypedDict):
    """Absent fields stay as they are."""

    name: NotRequired[str | None]
    systemPrompt: NotRequired[str | None]


class TestInputContent(TypedDict):
    content: str


class NewSpace(TypedDict):
    name: str
    # Made from the name if it is absent.
    id: NotRequired[str | None]
    default_agent: NotRequired[str | None]
    # Only models of this machine may be used in its conversations.
    local_only: NotRequired[bool | None]


class SpacePatch(TypedDict):
    name: NotRequired[str | None]
    # `null`: no default agent of the space.
    default_agent: NotRequired[str | None]
    # Only models of this machine may be used in its conversations.
    local_only: NotRequired[bool | None]
    tier: NotRequired[Tier | None]


class CaptureRequest(TypedDict):
    """Exactly one of `url`, `text`, and `data` with its `name`."""

    # An address that is fetched now.
    url: NotRequired[str | None]
    # Markdown or plain text.
    text: NotRequired[str | None]
    # A file (PDF, HTML, CSV, text, code) as base64.
    data: NotRequired[str | None]
    name: NotRequired[str | None]
    media_type: NotRequired[str | None]
    # The document's own title if it is absent.
    title: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class EntitiesQuery(TypedDict):
    # Only entities after this one: the last id of the previous page.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]
    # Only entities of this status.
    status: NotRequired[str | None]
    # Only entities that link to this one of the same space, given as `pages/<id>`: `[[its title]]` in their text.
    links_to: NotRequired[str | None]


class NewEntity(TypedDict):
    title: str
    status: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    # Other keys of the front matter.
    fields: NotRequired[dict[str, str | None]]
    body: NotRequired[str | None]


class EntityPatch(TypedDict):
    """Absent fields stay as they are."""

    title: NotRequired[str | None]
    # Empty: removes the status.
    status: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    # Other keys of the front matter; `null` or empty: it goes.
    fields: NotRequired[dict[str, str | None]]
    body: NotRequired[str | None]


class MessagesQuery(TypedDict):
    # Only messages before this one.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class PostMessage(TypedDict):
    content: str
    # The view that the person looks at.
    view: NotRequired[ViewRequest | None]


class ViewRequest(TypedDict):
    entityType: str
    entityId: str


class StreamQuery(TypedDict):
    # The message to answer; the latest if it is absent.
    messageId: NotRequired[str | None]


class ChannelsQuery(TypedDict):
    # Only channels of this space.
    space: NotRequired[str | None]


class NewChannel(TypedDict):
    space: str
    name: str
    purpose: NotRequired[str]


class ChannelPatch(TypedDict):
    name: NotRequired[str | None]
    purpose: NotRequired[str | None]


class NewCoworker(TypedDict):
    agent: str
    primary: NotRequired[bool]


class PatchCoworker(TypedDict):
    primary: bool


class ThreadsQuery(TypedDict):
    # Only threads of this channel.
    channel: NotRequired[str | None]


class NewThread(TypedDict):
    channel: str
    title: str


class PatchThread(TypedDict):
    title: str


class ThreadMessagesQuery(TypedDict):
    # Only messages before this message of the person.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class ThreadMessage(TypedDict):
    content: str


class ContextQuery(TypedDict):
    q: str


class AnswerersQuery(TypedDict):
    # The text of the message.
    q: str


class UiChatRequest(TypedDict):
    messages: list[UiMessage]
    systemPrompt: NotRequired[str | None]
    # Retrieved material for the answer; never part of the instructions.
    ragContext: NotRequired[list[RagPiece]]
    # `<provider>/<model>`, or an agent whose model is used. Absent: the default agent's model.
    model: NotRequired[str | None]
    maxTokens: NotRequired[int | None]
    temperature: NotRequired[float | None]
    # `useChat`'s name for the chat. With an agent, the id of a session continues that session.
    id: NotRequired[str | None]
    # The agent that answers, with its own instructions, tools and memory. The conversation is then kept in a session, and only the new part of `messages` is read.
    agent: NotRequired[str | None]
    # The session to continue; its agent answers.
    sessionId: NotRequired[str | None]
    trigger: NotRequired[UiTrigger]


class UiMessage(TypedDict):
    role: UiRole
    # The text; alternatively `parts`.
    content: NotRequired[str | None]
    parts: NotRequired[list[Any] | None]
    # In an agent's answer, `sessionId` names its session.
    metadata: NotRequired[Any]

UiRole: TypeAlias = "Literal['user', 'assistant', 'system']"


class RagPiece(TypedDict):
    sourceId: str
    chunkId: str
    text: str
    score: float
    sourceName: str
    matchType: RagMatch
    scopeType: RagScope
    scopeId: NotRequired[str | None]

RagMatch: TypeAlias = "Literal['fts', 'vec', 'hybrid']"

RagScope: TypeAlias = "Literal['workspace', 'channel', 'thread', 'coworker']"

UiTrigger: TypeAlias = "Literal['submit-message', 'regenerate-message']"


ChatRequestBody = TypedDict(
    'ChatRequestBody',
    {
        'model': "NotRequired[str | None]",
        'stream': "NotRequired[bool | None]",
        'stream_options': "NotRequired[StreamOptions | None]",
        'x-onyx-session-id': "NotRequired[str | None]",
        'x-onyx-agent-id': "NotRequired[str | None]",
        'x-onyx-include-memory': "NotRequired[bool | None]",
        'messages': "list[ChatMessage]",
        'tools': "NotRequired[list[ChatTool] | None]",
        'tool_choice': "NotRequired[ChatChoice | None]",
        'parallel_tool_calls': "NotRequired[bool | None]",
        'response_format': "NotRequired[ChatFormat | None]",
        'temperature': "NotRequired[float | None]",
        'max_tokens': "NotRequired[int | None]",
        'max_completion_tokens': "NotRequired[int | None]",
        'top_p': "NotRequired[float | None]",
        'top_k': "NotRequired[int | None]",
        'min_p': "NotRequired[float | None]",
        'seed': "NotRequired[int | None]",
        'frequency_penalty': "NotRequired[float | None]",
        'presence_penalty': "NotRequired[float | None]",
        'logit_bias': "NotRequired[dict[str, Any] | None]",
        'stop': "NotRequired[StopWords | None]",
        'reasoning_effort': "NotRequired[str | None]",
        'verbosity': "NotRequired[str | None]",
        'prompt_cache_key': "NotRequired[str | None]",
        'functions': "NotRequired[list[ChatFunction] | None]",
        'function_call': "NotRequired[ChatFunctionChoice | None]",
    },
)


class StreamOptions(TypedDict):
    include_usage: NotRequired[bool | None]


class ChatMessage(TypedDict):
    role: ChatRole
    content: NotRequired[ChatContent | None]
    tool_calls: NotRequired[list[ChatCall] | None]
    tool_call_id: NotRequired[str | None]
    function_call: NotRequired[ChatCalledFunction | None]

ChatRole: TypeAlias = "Literal['system', 'developer', 'user', 'assistant', 'tool', 'function']"

ChatContent: TypeAlias = "str | list[ChatPart]"


class ChatPartText(TypedDict):
    type: Literal['text']
    text: str


class ChatPartRefusal(TypedDict):
    type: Literal['refusal']
    refusal: str


class ChatPartImageUrl(TypedDict):
    type: Literal['image_url']
    image_url: ChatImageUrl


class ChatPartFile(TypedDict):
    type: Literal['file']
    file: ChatFileData

ChatPart: TypeAlias = "ChatPartText | ChatPartRefusal | ChatPartImageUrl | ChatPartFile"


class ChatImageUrl(TypedDict):
    url: str


class ChatFileData(TypedDict):
    file_data: NotRequired[str | None]
    filename: NotRequired[str | None]


class ChatCall(TypedDict):
    id: str
    function: NotRequired[ChatCalledFunction | None]
    custom: NotRequired[ChatCalledText | None]


class ChatCalledFunction(TypedDict):
    name: str
    arguments: NotRequired[str]


class ChatCalledText(TypedDict):
    name: str
    input: str


class ChatToolFunction(TypedDict):
    type: Literal['function']
    function: ChatFunction


class ChatToolCustom(TypedDict):
    type: Literal['custom']
    custom: ChatCustomTool

ChatTool: TypeAlias = "ChatToolFunction | ChatToolCustom"


class ChatFunction(TypedDict):
    name: str
    description: NotRequired[str]
    parameters: NotRequired[Any]


class ChatCustomTool(TypedDict):
    """A tool that takes a text. A grammar for it is left out, because models of other formats cannot be constrained by one."""

    name: str
    description: NotRequired[str]

ChatChoice: TypeAlias = "Mode | ChatNamedTool"

# The words of both OpenAI formats.
Mode: TypeAlias = "Literal['none', 'auto', 'required']"


class ChatNamedToolFunction(TypedDict):
    type: Literal['function']
    function: ChatFunctionName


class ChatNamedToolCustom(TypedDict):
    type: Literal['custom']
    custom: ChatFunctionName


class ChatNamedToolAllowedTools(TypedDict):
    type: Literal['allowed_tools']
    allowed_tools: ChatAllowed

ChatNamedTool: TypeAlias = "ChatNamedToolFunction | ChatNamedToolCustom | ChatNamedToolAllowedTools"


class ChatFunctionName(TypedDict):
    name: str


class ChatAllowed(TypedDict):
    """Some of the tools only."""

    mode: Mode
    tools: list[ChatAllowedTool]


class ChatAllowedTool(TypedDict):
    function: ChatFunctionName


class ChatFormatText(TypedDict):
    type: Literal['text']


class ChatFormatJsonObject(TypedDict):
    type: Literal['json_object']


class ChatFormatJsonSchema(TypedDict):
    type: Literal['json_schema']
    json_schema: ChatSchema

ChatFormat: TypeAlias = "ChatFormatText | ChatFormatJsonObject | ChatFormatJsonSchema"


class ChatSchema(TypedDict):
    name: str
    schema: NotRequired[Any]

# One stop word or several.
StopWords: TypeAlias = "str | list[str]"

ChatFunctionChoice: TypeAlias = "Mode | ChatFunctionName"


ResponsesRequestBody = TypedDict(
    'ResponsesRequestBody',
    {
        'model': "NotRequired[str | None]",
        'stream': "NotRequired[bool | None]",
        'stream_options': "NotRequired[StreamOptions | None]",
        'x-onyx-session-id': "NotRequired[str | None]",
        'x-onyx-agent-id': "NotRequired[str | None]",
        'x-onyx-include-memory': "NotRequired[bool | None]",
        'input': "ResponsesInput",
        'instructions': "NotRequired[str | None]",
        'tools': "NotRequired[list[ResponsesTool] | None]",
        'tool_choice': "NotRequired[ResponsesChoice | None]",
        'parallel_tool_calls': "NotRequired[bool | None]",
        'text': "NotRequired[ResponsesTextSettings | None]",
        'reasoning': "NotRequired[ResponsesReasoning | None]",
        'temperature': "NotRequired[float | None]",
        'top_p': "NotRequired[float | None]",
        'max_output_tokens': "NotRequired[int | None]",
        'previous_response_id': "NotRequired[str | None]",
        'prompt_cache_key': "NotRequired[str | None]",
        'conversation': "NotRequired[Any]",
    },
)

ResponsesInput: TypeAlias = "str | list[ResponsesItem]"


class ResponsesItemVariant(TypedDict):
    role: ResponsesRole
    content: ResponsesContent

ResponsesItem: TypeAlias = "ResponsesTypedItem | ResponsesItemVariant"


class ResponsesTypedItemMessage(TypedDict):
    type: Literal['message']
    role: ResponsesRole
    content: ResponsesContent


class ResponsesTypedItemFunctionCall(TypedDict):
    type: Literal['function_call']
    call_id: str
    name: str
    namespace: NotRequired[str | None]
    arguments: str


class ResponsesTypedItemFunctionCallOutput(TypedDict):
    type: Literal['function_call_output']
    call_id: str
    output: ResponsesContent


class ResponsesTypedItemCustomToolCall(TypedDict):
    type: Literal['custom_tool_call']
    call_id: str
    name: str
    namespace: NotRequired[str | None]
    input: str


class ResponsesTypedItemCustomToolCallOutput(TypedDict):
    type: Literal['custom_tool_call_output']
    call_id: str
    output: ResponsesContent


class ResponsesTypedItemReasoning(TypedDict):
    type: Literal['reasoning']


class ResponsesTypedItemWebSearchCall(TypedDict):
    """A call that ran at the maker is of no use to a model that cannot run it."""

    type: Literal['web_search_call']


class ResponsesTypedItemFileSearchCall(TypedDict):
    type: Literal['file_search_call']


class ResponsesTypedItemCodeInterpreterCall(TypedDict):
    type: Literal['code_interpreter_call']


class ResponsesTypedItemImageGenerationCall(TypedDict):
    type: Literal['image_generation_call']


class ResponsesTypedItemMcpCall(TypedDict):
    type: Literal['mcp_call']


class ResponsesTypedItemMcpListTools(TypedDict):
    type: Literal['mcp_list_tools']


class ResponsesTypedItemCompaction(TypedDict):
    type: Literal['compaction']

ResponsesTypedItem: TypeAlias = "ResponsesTypedItemMessage | ResponsesTypedItemFunctionCall | ResponsesTypedItemFunctionCallOutput | ResponsesTypedItemCustomToolCall | ResponsesTypedItemCustomToolCallOutput | ResponsesTypedItemReasoning | ResponsesTypedItemWebSearchCall | ResponsesTypedItemFileSearchCall | ResponsesTypedItemCodeInterpreterCall | ResponsesTypedItemImageGenerationCall | ResponsesTypedItemMcpCall | ResponsesTypedItemMcpListTools | ResponsesTypedItemCompaction"

ResponsesRole: TypeAlias = "Literal['system', 'developer', 'user', 'assistant']"

ResponsesContent: TypeAlias = "str | list[ResponsesPart]"


class ResponsesPartInputText(TypedDict):
    type: Literal['input_text']
    text: str


class ResponsesPartOutputText(TypedDict):
    type: Literal['output_text']
    text: str


class ResponsesPartRefusal(TypedDict):
    type: Literal['refusal']
    refusal: str


class ResponsesPartInputImage(TypedDict):
    type: Literal['input_image']
    image_url: NotRequired[str | None]


class ResponsesPartInputFile(TypedDict):
    type: Literal['input_file']
    filename: NotRequired[str | None]
    file_data: NotRequired[str | None]
    file_url: NotRequired[str | None]

ResponsesPart: TypeAlias = "ResponsesPartInputText | ResponsesPartOutputText | ResponsesPartRefusal | ResponsesPartInputImage | ResponsesPartInputFile"


class ResponsesTool(TypedDict):
    type: str
    name: NotRequired[str | None]
    description: NotRequired[str | None]
    parameters: NotRequired[Any]
    # The tools of a namespace.
    tools: NotRequired[list[ResponsesTool] | None]

ResponsesChoice: TypeAlias = "Mode | ResponsesNamedTool"


class ResponsesNamedToolFunction(TypedDict):
    type: Literal['function']
    name: str


class ResponsesNamedToolCustom(TypedDict):
    type: Literal['custom']
    name: str


class ResponsesNamedToolAllowedTools(TypedDict):
    type: Literal['allowed_tools']
    mode: Mode
    tools: list[ResponsesAllowedTool]

ResponsesNamedTool: TypeAlias = "ResponsesNamedToolFunction | ResponsesNamedToolCustom | ResponsesNamedToolAllowedTools"


class ResponsesAllowedTool(TypedDict):
    name: NotRequired[str | None]


class ResponsesTextSettings(TypedDict):
    format: NotRequired[ResponsesFormat | None]
    verbosity: NotRequired[str | None]


class ResponsesFormatText(TypedDict):
    type: Literal['text']


class ResponsesFormatJsonObject(TypedDict):
    type: Literal['json_object']


class ResponsesFormatJsonSchema(TypedDict):
    type: Literal['json_schema']
    name: str
    schema: Any

ResponsesFormat: TypeAlias = "ResponsesFormatText | ResponsesFormatJsonObject | ResponsesFormatJsonSchema"


class ResponsesReasoning(TypedDict):
    effort: NotRequired[str | None]


MessagesRequestBody = TypedDict(
    'MessagesRequestBody',
    {
        'model': "NotRequired[str | None]",
        'stream': "NotRequired[bool | None]",
        'stream_options': "NotRequired[StreamOptions | None]",
        'x-onyx-session-id': "NotRequired[str | None]",
        'x-onyx-agent-id': "NotRequired[str | None]",
        'x-onyx-include-memory': "NotRequired[bool | None]",
        'messages': "list[MessagesMessage]",
        'max_tokens': "int",
        'system': "NotRequired[MessagesText | None]",
        'tools': "NotRequired[list[MessagesTool] | None]",
        'tool_choice': "NotRequired[MessagesChoice | None]",
        'temperature': "NotRequired[float | None]",
        'top_p': "NotRequired[float | None]",
        'top_k': "NotRequired[int | None]",
        'stop_sequences': "NotRequired[list[str] | None]",
        'thinking': "NotRequired[MessagesThinking | None]",
        'output_config': "NotRequired[MessagesOutputConfig | None]",
        'output_format': "NotRequired[MessagesFormat | None]",
    },
)


class MessagesMessage(TypedDict):
    role: MessagesRole
    content: MessagesContent

# `system`: An instruction that was added during the conversation.
MessagesRole: TypeAlias = "Literal['user', 'assistant', 'system']"

MessagesContent: TypeAlias = "str | list[MessagesBlock]"


class MessagesBlockText(TypedDict):
    type: Literal['text']
    text: str


class MessagesBlockImage(TypedDict):
    type: Literal['image']
    source: MessagesSource


class MessagesBlockDocument(TypedDict):
    type: Literal['document']
    source: MessagesSource
    title: NotRequired[str | None]


class MessagesBlockSearchResult(TypedDict):
    type: Literal['search_result']
    title: NotRequired[str | None]
    content: list[MessagesTextPart]


class MessagesBlockToolUse(TypedDict):
    type: Literal['tool_use']
    id: str
    name: str
    input: Any


class MessagesBlockToolResult(TypedDict):
    type: Literal['tool_result']
    tool_use_id: str
    content: NotRequired[MessagesResultContent | None]
    is_error: NotRequired[bool]


class MessagesBlockThinking(TypedDict):
    """A model's thinking is only replayed from our own log."""

    type: Literal['thinking']


class MessagesBlockRedactedThinking(TypedDict):
    type: Literal['redacted_thinking']


class MessagesBlockCompaction(TypedDict):
    """A summary that replaces what came before it."""

    type: Literal['compaction']
    content: NotRequired[str | None]


class MessagesBlockServerToolUse(TypedDict):
    """A call that ran at the maker is of no use to a model that cannot run it."""

    type: Literal['server_tool_use']


class MessagesBlockMcpToolUse(TypedDict):
    type: Literal['mcp_tool_use']


class MessagesBlockMcpToolResult(TypedDict):
    type: Literal['mcp_tool_result']


class MessagesBlockWebSearchToolResult(TypedDict):
    type: Literal['web_search_tool_result']


class MessagesBlockWebFetchToolResult(TypedDict):
    type: Literal['web_fetch_tool_result']


class MessagesBlockCodeExecutionToolResult(TypedDict):
    type: Literal['code_execution_tool_result']


class MessagesBlockBashCodeExecutionToolResult(TypedDict):
    type: Literal['bash_code_execution_tool_result']


class MessagesBlockTextEditorCodeExecutionToolResult(TypedDict):
    type: Literal['text_editor_code_execution_tool_result']


class MessagesBlockToolSearchToolResult(TypedDict):
    type: Literal['tool_search_tool_result']


class MessagesBlockToolReference(TypedDict):
    type: Literal['tool_reference']

MessagesBlock: TypeAlias = "MessagesBlockText | MessagesBlockImage | MessagesBlockDocument | MessagesBlockSearchResult | MessagesBlockToolUse | MessagesBlockToolResult | MessagesBlockThinking | MessagesBlockRedactedThinking | MessagesBlockCompaction | MessagesBlockServerToolUse | MessagesBlockMcpToolUse | MessagesBlockMcpToolResult | MessagesBlockWebSearchToolResult | MessagesBlockWebFetchToolResult | MessagesBlockCodeExecutionToolResult | MessagesBlockBashCodeExecutionToolResult | MessagesBlockTextEditorCodeExecutionToolResult | MessagesBlockToolSearchToolResult | MessagesBlockToolReference"


class MessagesSourceBase64(TypedDict):
    type: Literal['base64']
    media_type: str
    data: str


class MessagesSourceUrl(TypedDict):
    type: Literal['url']
    url: str


class MessagesSourceText(TypedDict):
    type: Literal['text']
    data: str


class MessagesSourceContent(TypedDict):
    type: Literal['content']
    content: MessagesText

MessagesSource: TypeAlias = "MessagesSourceBase64 | MessagesSourceUrl | MessagesSourceText | MessagesSourceContent"

MessagesText: TypeAlias = "str | list[MessagesTextBlock]"


class MessagesTextBlock(TypedDict):
    text: str


class MessagesTextPart(TypedDict):
    text: str

MessagesResultContent: TypeAlias = "str | list[MessagesResultBlock]"


class MessagesResultBlockText(TypedDict):
    type: Literal['text']
    text: str


class MessagesResultBlockImage(TypedDict):
    type: Literal['image']
    source: MessagesSource


class MessagesResultBlockDocument(TypedDict):
    type: Literal['document']
    source: MessagesSource
    title: NotRequired[str | None]

# The blocks of a tool's result, for the document only: client generators cannot read a choice that contains itself.
MessagesResultBlock: TypeAlias = "MessagesResultBlockText | MessagesResultBlockImage | MessagesResultBlockDocument"


class MessagesTool(TypedDict):
    type: NotRequired[str | None]
    name: str
    description: NotRequired[str]
    input_schema: NotRequired[Any]


class MessagesChoiceAuto(TypedDict):
    type: Literal['auto']
    disable_parallel_tool_use: NotRequired[bool | None]


class MessagesChoiceAny(TypedDict):
    type: Literal['any']
    disable_parallel_tool_use: NotRequired[bool | None]


class MessagesChoiceTool(TypedDict):
    type: Literal['tool']
    name: str
    disable_parallel_tool_use: NotRequired[bool | None]


class MessagesChoiceNone(TypedDict):
    type: Literal['none']

MessagesChoice: TypeAlias = "MessagesChoiceAuto | MessagesChoiceAny | MessagesChoiceTool | MessagesChoiceNone"


class MessagesThinkingEnabled(TypedDict):
    type: Literal['enabled']
    budget_tokens: int


class MessagesThinkingAdaptive(TypedDict):
    """The model decides how much to think."""

    type: Literal['adaptive']


class MessagesThinkingDisabled(TypedDict):
    type: Literal['disabled']

MessagesThinking: TypeAlias = "MessagesThinkingEnabled | MessagesThinkingAdaptive | MessagesThinkingDisabled"


class MessagesOutputConfig(TypedDict):
    format: NotRequired[MessagesFormat | None]
    effort: NotRequired[str | None]


class MessagesFormatJsonSchema(TypedDict):
    type: Literal['json_schema']
    schema: Any

MessagesFormat: TypeAlias = "MessagesFormatJsonSchema"


class EmbeddingRequest(TypedDict):
    model: str
    input: Input
    encoding_format: NotRequired[Encoding]
    dimensions: NotRequired[int | None]

Input: TypeAlias = "str | list[str] | list[int] | list[list[int]]"

Encoding: TypeAlias = "Literal['float', 'base64']"


class AuthorizeQuery(TypedDict):
    """The query that the program put into the address of the page."""

    response_type: str
    client_id: str
    redirect_uri: str
    code_challenge: str
    code_challenge_method: str
    state: NotRequired[str | None]
    scope: NotRequired[str | None]
    resource: NotRequired[str | None]


class LinkedInReturn(TypedDict):
    """What the browser brought back from LinkedIn."""

    state: str
    code: NotRequired[str | None]
    error: NotRequired[str | None]
