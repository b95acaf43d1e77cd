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
    # Its kind, and after a colon which one of them.
    name: str
    state: DependencyState
    detail: NotRequired[str | None]
    # What can be done about it.
    hint: NotRequired[str | None]
    # How far something is that is under way.
    progress: NotRequired[Progress | None]

# `off`: Nobody has set it up, and nothing waits for it. `degraded`: Something does not work; the rest does. `down`: Nothing can be done without it.
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
    # The action whose run this is, where it is one.
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
    """The action that a run performs, and the page that it leaves."""

    id: str
    label: str
    # Among the person's files, written at the end of the run.
    page: str

# The id a provider gave one tool call; opaque to us and unique only within a session.
ToolUseId: TypeAlias = "str"


class CallLabel(TypedDict):
    """What a call does, in words for people. Secrets are masked."""

    verb: Verb
    # What the call is about: a path, a question, an address. Empty where the verb says it all.
    subject: str
    target: NotRequired[CallTarget | None]
    # What an edit changes, where its arguments alone say it.
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
    """The one thing that a call is about, where it is one that a surface can show or open."""

    kind: CallTargetKind
    name: str
    # Where in a file.
    line: NotRequired[int | None]

# `file`: A file of the vault.
CallTargetKind: TypeAlias = "Literal['address', 'command', 'agent', 'session', 'person', 'file']"


class CallChange(TypedDict):
    """An edit as a unified diff, with its lines counted."""

    unified: str
    added: int
    removed: int


class CallReport(TypedDict):
    """What came of a call, beside what the model reads."""

    state: CallState
    # The strictest of what was planned; absent where nothing was.
    effect: NotRequired[ToolEffect | None]
    # How many lines of text the plan changes.
    lines: NotRequired[LineCounts | None]
    # In a dry run: what would have been done.
    rehearsal: NotRequired[Rehearsal | None]
    # The whole of an output that was too long for the model, or what the call attached to it.
    artifact: NotRequired[Artifact | None]

# `refused`: The gate, the tool or a person said no; nothing was done. `waiting`: A person decides; nothing has been done yet. `rehearsed`: In a dry run; nothing was done.
CallState: TypeAlias = "Literal['done', 'failed', 'refused', 'waiting', 'rehearsed']"

# What a tool call would do to the world, mildest first: the strictest of a plan counts.
ToolEffect: TypeAlias = "Literal['read', 'write', 'destroy', 'reach', 'execute']"


class LineCounts(TypedDict):
    added: int
    removed: int


class Rehearsal(TypedDict):
    """A call that a dry run only planned."""

    # One line for people.
    summary: str
    # What the gate would have said.
    verdict: Verdict
    preview: Preview

# What the gate answers to a plan.
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


class PreviewVariant4(TypedDict):
    """A question with answers to choose from; any other answer may be given too."""

    kind: Literal['choice']
    text: str
    options: list[str]

# What a person is shown before deciding. Whatever leaves the process of it is visible, also what was kept before.
Preview: TypeAlias = "PreviewVariant | PreviewVariant2 | PreviewVariant3 | PreviewVariant4"


class Artifact(TypedDict):
    """Output too long for the model, kept whole for a while."""

    key: str
    bytes: int

StatusCode: TypeAlias = "Literal['fallback', 'retry', 'compaction', 'waiting', 'degraded', 'tainted']"

# What a draft wants of a person. `approval`: A yes or a no to what it would do. `answer`: Words: it is a question.
AsksFor: TypeAlias = "Literal['approval', 'answer']"

# Every error a client can see. One table: code, HTTP status, sentence, hint.
ErrorCode: TypeAlias = "Literal['invalid_request', 'unauthenticated', 'sign_in_again', 'forbidden', 'owner_required', 'not_found', 'model_not_found', 'session_busy', 'confirmation_required', 'draft_stale', 'draft_decided', 'draft_expired', 'version_conflict', 'too_large', 'invalid_action', 'rate_limited', 'limit_steps', 'limit_tool_calls', 'limit_seconds', 'limit_output', 'limit_prompt', 'limit_budget', 'limit_loop', 'provider_auth', 'provider_rate_limited', 'provider_overloaded', 'provider_context_length', 'provider_truncated', 'provider_unavailable', 'provider_paused', 'provider_timeout', 'provider_refused', 'tool_denied', 'tool_failed', 'tool_timeout', 'cancelled', 'interrupted', 'overloaded', 'storage_full', 'storage_failed', 'storage_unavailable', 'key_unavailable', 'internal']"

RunStatus: TypeAlias = "Literal['done', 'cancelled', 'error', 'interrupted', 'awaiting_client']"


class Usage(TypedDict):
    """Tokens and money of one or more model calls."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    # In the currency of the price data; absent when no price is known.
    cost: NotRequired[float | None]


class ChatReply(TypedDict):
    """What came of a run."""

    session_id: str
    run_id: str
    message: str
    tools: list[ToolView]
    drafts: list[DraftView]
    usage: Usage


class ToolView(TypedDict):
    """One tool call, wherever a whole answer is shown."""

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
    # Give it as `before` to get what came before these; absent at the beginning.
    before: NotRequired[int | None]


class HistoryMessage(TypedDict):
    # The first turn of the message.
    id: str
    role: MessageRole
    # Who answered; absent for a person's words.
    agent: NotRequired[str | None]
    content: str
    status: MessageStatus
    created_at: str
    tools: list[ToolView]
    # Why the answer did not come, where it did not.
    error: NotRequired[Fault | None]

MessageRole: TypeAlias = "Literal['user', 'assistant']"

# `streaming`: Its run is still at work.
MessageStatus: TypeAlias = "Literal['complete', 'cancelled', 'error', 'interrupted', 'streaming']"


class Fault(TypedDict):
    """An error on its way to a person: a code from the table and what happened in particular."""

    code: ErrorCode
    message: str
    hint: NotRequired[str | None]
    # When asking again may help, in whole seconds on the wire.
    retry_after_seconds: NotRequired[int | None]


class PreferencesView(TypedDict):
    runtime_mode: RuntimeMode
    # `agents.md`: the person's standing instructions.
    prompt: str
    fallback: bool
    flags: dict[str, bool]
    # In the vault; not to be changed.
    actions_path: str
    # What the person chose; `null` where the server's zone counts.
    timezone: str | None
    # The one that counts for them now.
    current_timezone: str

RuntimeMode: TypeAlias = "Literal['anthropic_api_key', 'gateway_subscription']"


class ActionView(TypedDict):
    id: str
    label: str
    # Its file, among the person's files.
    path: str
    # Its prompt has a place for what the person has marked.
    asks_for_selection: bool
    requires_confirmation: bool
    max_steps: NotRequired[int | None]
    # Why it does not run.
    error: NotRequired[str | None]
    # What works but is probably not what was meant.
    warnings: NotRequired[list[str]]


class ActionPrompt(TypedDict):
    prompt: str


class ActionRuns(TypedDict):
    runs: list[ActionRunView]
    # Give it as `before` to get the older ones; absent at the end.
    before: NotRequired[str | None]


class ActionRunView(TypedDict):
    run_id: str
    # Among the person's files.
    page: str
    # Absent where the page cannot be read any more.
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
    # What the page says, without its head.
    text: str


class AgentHealth(TypedDict):
    runtime: AgentRuntime
    # The provider of the default agent's model; absent while no model is named.
    provider: Dependency | None
    linkedin: LinkedIn


class AgentRuntime(TypedDict):
    mode: RuntimeMode
    state: DependencyState
    detail: NotRequired[str | None]


class LinkedIn(TypedDict):
    # Whether the person's account is connected.
    token_present: bool
    # When LinkedIn last took its token, since the server started.
    last_validated_at: str | None
    # Why it is not taken, if it is not.
    last_error: str | None


class OlderLineToolUse(TypedDict):
    type: Literal['tool_use']
    id: ToolUseId
    tool: str
    args: Any
    label: CallLabel

# A line for clients of `/api/claude`: the same but for one name.
OlderLine: TypeAlias = "OlderLineToolUse | Line"


class AgentList(TypedDict):
    agents: list[AgentView]


class AgentView(TypedDict):
    """An agent as it works: what it says itself, filled in from the defaults."""

    id: str
    name: str
    default: bool
    # One that is not answers nobody.
    enabled: bool
    tier: Tier
    # None: the config's default.
    model: str | None
    fallbacks: list[str]
    temperature: float | None
    max_output_tokens: int | None

# How far an agent may go.
Tier: TypeAlias = "Literal['read', 'suggest', 'act']"


class AgentDetails(TypedDict):
    """An agent as it works: what it says itself, filled in from the defaults."""

    id: str
    name: str
    default: bool
    # One that is not answers nobody.
    enabled: bool
    tier: Tier
    # None: the config's default.
    model: str | None
    fallbacks: list[str]
    temperature: float | None
    max_output_tokens: int | None
    # Every tool that it has.
    tools: list[str]
    # What the config says of it; its version is the ETag.
    settings: AgentFields
    # Markdown files in the agent's own folder.
    files: list[str]


class AgentFields(TypedDict):
    """What an agent says of itself. What is absent is as `agents.defaults` has it."""

    name: str | None
    # Answers who names nobody; there is one.
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
    # A folder whose files are read instead of the agent's own.
    workspace: str | None
    # Other agents whose memory it may search.
    memory_read: list[str]
    # It uses models of this machine and no others.
    local_only: bool | None


class ToolFields(TypedDict):
    """Names of tools, or `group:<name>`. Deny wins."""

    # None: every tool.
    allow: list[str] | None
    deny: list[str]
    # Commands that need no person: each the beginning of an argument list.
    commands: NotRequired[list[list[str]]]


class SessionList(TypedDict):
    sessions: list[SessionView]
    # Give it as `before` to get the older ones; absent at the end.
    before: NotRequired[str | None]
    # Why titles and newest words alone were looked at, and not what was said.
    degraded: NotRequired[str | None]


class SessionView(TypedDict):
    """One session as the wire shows it."""

    id: str
    agent: str
    origin: SessionOrigin
    # Who answers, in this order.
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
    # Something was answered since the person last read it.
    unread: bool
    # The person keeps it, with its forks, at the top of the list.
    pinned: bool
    # What the person sorts their conversations by, in order.
    tags: NotRequired[list[str]]
    # What the conversation is about.
    attached: NotRequired[EntityRef | None]
    # In a list that was asked for a text: where somebody said it. Absent where only the title or the preview holds it.
    found: NotRequired[FoundTurn | None]

# Where a session lives. `temporary`: A chat that is not listed, not indexed and deleted a day after it was last used.
SessionOrigin: TypeAlias = "Literal['chat', 'companion', 'thread', 'agent_editor', 'connector', 'job', 'api', 'temporary']"

# How several agents answer one message. `sequential`: One after the other; each sees what those before it said.
LaneOrder: TypeAlias = "Literal['parallel', 'sequential']"

SessionStatus: TypeAlias = "Literal['active', 'archived']"


class EntityRef(TypedDict):
    """One page, task, ref or project of a person."""

    space: str
    kind: EntityKind
    id: str

# What a space holds.
EntityKind: TypeAlias = "Literal['page', 'task', 'ref', 'project']"


class FoundTurn(TypedDict):
    """The message of a conversation that says best what was looked for."""

    # Where it was said: the listed session, or another fork of it.
    session: str
    run: NotRequired[str | None]
    # The turn to open at.
    turn: NotRequired[str | None]
    author: NotRequired[str | None]
    # A part of what was said, in pieces; a hit is what was looked for.
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
    # Who answers, in this order.
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
    # Something was answered since the person last read it.
    unread: bool
    # The person keeps it, with its forks, at the top of the list.
    pinned: bool
    # What the person sorts their conversations by, in order.
    tags: NotRequired[list[str]]
    # What the conversation is about.
    attached: NotRequired[EntityRef | None]
    # In a list that was asked for a text: where somebody said it. Absent where only the title or the preview holds it.
    found: NotRequired[FoundTurn | None]
    # The first of the family and all forks, this one among them, in the order they were made.
    siblings: list[Sibling]


class Sibling(TypedDict):
    id: str
    title: str | None
    status: SessionStatus
    created_at: str
    updated_at: str
    message_count: int
    preview: str
    # Where it leaves the one it was forked from; absent for the first.
    fork_turn: str | None


class Feedback(TypedDict):
    """What a person thinks of an answer. The newest one about an answer counts; no prompt ever holds it."""

    # A text of the answer, in the same log.
    about: str
    # Absent: what was said before is taken back.
    rating: NotRequired[Rating | None]
    note: NotRequired[str | None]

Rating: TypeAlias = "Literal['good', 'bad']"


class TagList(TypedDict):
    tags: list[TagCount]


class TagCount(TypedDict):
    """A tag, and how many conversations have it."""

    tag: str
    conversations: int


class QueuedMessages(TypedDict):
    # In the order in which they were said.
    messages: list[QueuedMessage]


class QueuedMessage(TypedDict):
    # Its turn in the log, once a run has read it.
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
    # The action whose run this is, where it is one.
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
    # One human line, secrets masked.
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
    # In the currency of the price data; absent when no price is known.
    cost: NotRequired[float | None]


class EnvelopeError(TypedDict):
    seq: int
    run_id: str
    lane: LaneId
    type: Literal['error']
    code: ErrorCode
    message: str
    hint: str
    # When asking again may help.
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
    # Names the chunk until its file is indexed anew.
    chunk_id: str
    # What people call the source.
    title: str
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

# Where content came from, which decides whether it may be believed. `person`: Written or edited by the person. `agent`: Written by an agent that had read nothing from outside. `agent_tainted`: Written by an agent after it had read external content. `external`: Came from outside: the web, captures, other people, tools' output.
Origin: TypeAlias = "Literal['person', 'agent', 'agent_tainted', 'external']"

# How a search found a chunk.
MatchType: TypeAlias = "Literal['fts', 'vec', 'hybrid']"


class Undone(TypedDict):
    # What holds again what it held before the run; with `dry_run`, what would.
    restored: list[str]
    dry_run: NotRequired[bool]


class Redone(TypedDict):
    # What holds again what the run had left in it.
    restored: list[str]


class ChangesOfRun(TypedDict):
    paths: list[str]
    # Every one of them holds again what it held before the run.
    undone: bool


class MembersChanges(TypedDict):
    drafts: list[MembersChange]


class MembersChange(TypedDict):
    """A draft as clients see it."""

    person: str
    id: str
    state: DraftState
    tool: str
    # read, write, destroy, reach or execute.
    effect: str
    summary: str
    preview: Preview
    asks_for: AsksFor
    targets: list[str]
    # Files that steer agents are among the targets.
    instruction: bool
    # The run had read from outside when it proposed this.
    tainted: bool
    # Only the owner may approve it, whoever it belongs to.
    needs_owner: bool
    session_id: str
    run_id: str
    tool_use_id: ToolUseId
    agent: str
    created_at: str
    expires_at: str
    # Stands for exactly what will happen: give it back to approve what was looked at.
    plan_hash: str
    decided_at: NotRequired[str | None]
    decided_by: NotRequired[str | None]
    reason: NotRequired[str | None]
    # What came of it.
    output: NotRequired[str | None]
    superseded_by: NotRequired[str | None]

DraftState: TypeAlias = "Literal['pending', 'applying', 'applied', 'failed', 'stale', 'unknown', 'rejected', 'superseded', 'expired']"


class PendingChange(TypedDict):
    """A draft as clients see it."""

    id: str
    state: DraftState
    tool: str
    # read, write, destroy, reach or execute.
    effect: str
    summary: str
    preview: Preview
    asks_for: AsksFor
    targets: list[str]
    # Files that steer agents are among the targets.
    instruction: bool
    # The run had read from outside when it proposed this.
    tainted: bool
    # Only the owner may approve it, whoever it belongs to.
    needs_owner: bool
    session_id: str
    run_id: str
    tool_use_id: ToolUseId
    agent: str
    created_at: str
    expires_at: str
    # Stands for exactly what will happen: give it back to approve what was looked at.
    plan_hash: str
    decided_at: NotRequired[str | None]
    decided_by: NotRequired[str | None]
    reason: NotRequired[str | None]
    # What came of it.
    output: NotRequired[str | None]
    superseded_by: NotRequired[str | None]


class JobViews(TypedDict):
    jobs: list[JobView]


class JobView(TypedDict):
    """When it fires and what it does then."""

    id: str
    kind: KindView
    state: StateView
    # Why it is paused.
    reason: NotRequired[str | None]
    # What is wrong with it.
    error: NotRequired[FlawView | None]
    warnings: list[str]
    # Give it back to accept what was looked at, and as `If-Match`.
    hash: str
    # What it would change of what was accepted; for a job that waits.
    diff: NotRequired[str | None]
    fields: dict[str, Any]
    prompt: str
    # When, in plain words.
    words: str
    timezone: str
    # The next five times.
    next: list[str]
    # Those of the next seven days, at most a hundred.
    week: list[str]
    agent: NotRequired[str | None]
    # `prompt`, `command`, `action` or `system`.
    does: str
    deliver: list[str]
    # The newest thing that became of it.
    last: NotRequired[JobRunView | None]
    # Troubles that the person has not looked at.
    troubles: int
    # The conversation that its runs go on with.
    session_id: NotRequired[str | None]

KindView: TypeAlias = "Literal['file', 'action', 'system']"

# `waiting`: Nobody has accepted what its file says now.
StateView: TypeAlias = "Literal['active', 'paused', 'disabled', 'broken', 'finished', 'waiting']"


class FlawView(TypedDict):
    field: str
    message: str
    # What would do instead.
    example: NotRequired[str | None]


class JobRunView(TypedDict):
    """One time of a job and what became of it, or several in a row that were left out."""

    scheduled_at: str
    # The last time that this stands for.
    last_at: str
    # How many times it stands for.
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

# `queued`: Waits for room, or for the run before it. `nothing`: It ran, or its check did, and there was nothing to tell. `interrupted`: The process ended while it ran. It is not repeated. `replaced`: A later slot took its place. `skipped`: A rule of the job left it out. `missed`: Its time passed while nobody could fire it.
SlotState: TypeAlias = "Literal['running', 'done', 'failed', 'queued', 'nothing', 'interrupted', 'replaced', 'skipped', 'missed']"

# Why a slot fires. `person`: A person asked for it now.
SlotTrigger: TypeAlias = "Literal['schedule', 'person']"

# Whether what came of a slot has reached those who are to be told beside the session.
SlotDelivery: TypeAlias = "Literal['pending', 'delivered', 'failed']"


class JobPreview(TypedDict):
    """What a job would be, or what is wrong with it."""

    error: NotRequired[FlawView | None]
    # When, in plain words.
    words: str
    timezone: str
    # The next five times.
    next: list[str]
    # Those of the next seven days, at most a hundred.
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
    # The agent in whose folder it lies.
    agent: NotRequired[str | None]
    # Where its `SKILL.md` lies, in the vault or in the agent's folder.
    path: str
    state: SkillStateView
    # Why it is no skill, where it is broken.
    problem: NotRequired[str | None]
    description: str
    license: NotRequired[str | None]
    compatibility: NotRequired[str | None]
    metadata: dict[str, str]
    # What it asks to be allowed. It is only shown: nothing is allowed by it.
    allowed_tools: NotRequired[str | None]
    # Of all its files; say it when you accept it.
    hash: str
    # Beside its `SKILL.md`, with their sizes.
    files: dict[str, int]
    # The whole `SKILL.md`; left out in lists.
    text: NotRequired[str | None]
    # What waits to be accepted, as a difference to what was.
    diff: NotRequired[str | None]

# `agent`: The folder `skills` of an agent: its owner's words. `vault`: `agent/skills` of the vault. `vault_shared`: `.agents/skills` of the vault, which other programs use too.
SkillPlaceView: TypeAlias = "Literal['agent', 'vault', 'vault_shared']"

# `new`: Nobody has accepted it; no agent is told of it. `changed`: It is not what was accepted any more; no agent is told of it. `shadowed`: Another one with its name counts.
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
    # The version of the protocol that was agreed on; absent before.
    protocol: NotRequired[str | None]
    # Somebody has signed in there.
    signed_in: bool
    # Servers that its command may reach.
    network: list[str]
    # The only agents that have its tools.
    agents: NotRequired[list[str] | None]
    tools: list[McpToolView]
    # The last lines of its error stream.
    log: list[str]

# `idle`: Nobody needs it now; the next call starts it.
McpStatusView: TypeAlias = "Literal['starting', 'running', 'failing', 'idle']"


class McpToolView(TypedDict):
    name: str
    description: str
    schema: Any
    # What its server says of its effect. Only shown: it is no right.
    hints: NotRequired[Any]
    # What the owner says that it does.
    effect: ToolEffect
    state: McpToolStateView
    # Why it cannot be used.
    problem: NotRequired[str | None]
    # Say it when you accept the tool.
    hash: NotRequired[str | None]
    # What waits to be accepted, as a difference to what was.
    diff: NotRequired[str | None]

# `new`: Nobody has accepted it; no agent has it. `changed`: It describes itself otherwise than what was accepted; no agent has it. `missing`: It was accepted, and its server does not have it any more. `off`: Switched off.
McpToolStateView: TypeAlias = "Literal['ready', 'unusable', 'new', 'changed', 'missing', 'off']"


class McpLoginBegun(TypedDict):
    # Where to send the browser.
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
    # Why it does not work, or not all of it.
    problems: list[str]
    # What it has once it is accepted, and nothing else.
    grants: GrantsView
    hooks: list[HookView]
    # Networks that it brings.
    connectors: list[str]
    # MCP servers that it brings; their tools wait to be accepted.
    mcp_servers: list[str]
    # Skills that it brings; they wait to be accepted.
    skills: list[str]
    # A JSON schema of its settings.
    config_schema: NotRequired[Any]
    # Its settings in the config, secrets shortened.
    config: dict[str, Any]
    # Say it when you accept the plugin.
    hash: NotRequired[str | None]
    # What waits to be accepted, as a difference to what was.
    diff: NotRequired[str | None]
    # The last lines of its program's error stream.
    log: list[str]

# `new`: Nobody has accepted it; nothing of it counts. `changed`: It is not what was accepted; nothing of it runs. `missing`: It is on, and its folder is gone.
PluginStateView: TypeAlias = "Literal['accepted', 'broken', 'new', 'changed', 'missing']"

# `failing`: It is started again, later with each failure. `parked`: It failed too often, or is not what it says; it is not started again by itself.
PluginStatusView: TypeAlias = "Literal['idle', 'starting', 'running', 'failing', 'parked']"


class GrantsView(TypedDict):
    # Servers that it may reach.
    network: list[str]
    # Folders that it may read.
    read: list[str]
    # Folders that it may change.
    write: list[str]
    # Secrets that it is given, by name.
    secrets: list[str]
    events: list[str]
    # Whose events; `*` is everybody.
    people: list[str]
    # It sees words, arguments and results.
    content: bool


class HookView(TypedDict):
    event: str
    # It can say no; without its answer the call does not happen.
    veto: bool
    annotate: bool
    # The tools whose calls it hears of; all where there are none.
    tools: list[str]
    deadline_ms: int


class AccountList(TypedDict):
    # The networks that can be connected to.
    networks: list[str]
    accounts: list[AccountJson]
    # Which agent answers whom; the most specific that matches counts.
    bindings: list[BindingJson]
    # What the owner was told since the server started, newest first.
    notices: list[NoticeJson]


class AccountJson(TypedDict):
    """One account and how it is."""

    network: str
    account: str
    state: AccountState
    # What is wrong, where something is.
    detail: str | None
    # Who it is there.
    name: str | None
    # Where people can write to it.
    link: str | None
    # The link as a picture for phones.
    qr: QrPicture | None
    # Who answers somebody new.
    agent: str
    # When the network last answered.
    last_heard: str | None
    silent_seconds: int | None
    restarts: int
    # Messages that wait to be answered, and to be sent.
    incoming: int
    outgoing: int
    dead_letters: int

# `listening`: The network answers. `failing`: The last question failed; it is asked again. `deaf`: Nothing was heard for too long. `unusable`: The config does not let it work.
AccountState: TypeAlias = "Literal['starting', 'listening', 'failing', 'deaf', 'unusable']"


class QrPicture(TypedDict):
    """The dark squares of a QR code, with the quiet edge that readers need."""

    # Squares along one side.
    size: int
    # The squares as the path of an SVG, each one unit wide.
    path: str


class BindingJson(TypedDict):
    """A binding of the config; what it leaves out matches everything."""

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
    """Somebody that an account has met."""

    network: str
    account: str
    # The network's own id.
    id: str
    kind: PeerKind
    name: str
    state: PeerState
    # Whether it speaks to the caller's own agents.
    is_mine: bool
    # Who answers it.
    agent: str
    # What it has to show, while it waits.
    code: str | None
    last_seen: str

PeerKind: TypeAlias = "Literal['person', 'group']"

# `waiting`: Has a code and waits for somebody to approve it.
PeerState: TypeAlias = "Literal['paired', 'blocked', 'waiting']"


class TestedAccount(TypedDict):
    """What the network says of a token."""

    name: str
    link: str | None
    # The link as a picture for phones.
    qr: QrPicture | None


class MailList(TypedDict):
    messages: list[MailJson]


class MailJson(TypedDict):
    id: int
    text: str


class AccountDetails(TypedDict):
    """One account and how it is."""

    network: str
    account: str
    state: AccountState
    # What is wrong, where something is.
    detail: str | None
    # Who it is there.
    name: str | None
    # Where people can write to it.
    link: str | None
    # The link as a picture for phones.
    qr: QrPicture | None
    # Who answers somebody new.
    agent: str
    # When the network last answered.
    last_heard: str | None
    silent_seconds: int | None
    restarts: int
    # Messages that wait to be answered, and to be sent.
    incoming: int
    outgoing: int
    dead_letters: int
    # As onyx.json has it, secrets shortened.
    settings: dict[str, Any]


class LetterList(TypedDict):
    dead_letters: list[LetterJson]


class LetterJson(TypedDict):
    # `in-…` for a message that nobody could answer, `out-…` for one that did not arrive.
    id: str
    peer: str
    # It may have arrived.
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
    result: str
    # Hash of the row before.
    previous: str
    hash: str


class AuditChains(TypedDict):
    chains: list[AuditChain]


class AuditChain(TypedDict):
    person: str
    whole: bool
    rows: NotRequired[int | None]
    # Up to this row no key that is here protects the chain: the rows are older than the key, or came with a home whose key lies elsewhere.
    unkeyed_until: NotRequired[int | None]
    # The first row that is missing, changed or does not belong.
    broken_at: NotRequired[int | None]


class Reindexed(TypedDict):
    sessions: int
    # Logs with lines that cannot be read; the rest of them was.
    damaged: int
    # Files that were read for the index, and how many of them held something new.
    files: int
    changed: int


class ConfigView(TypedDict):
    # The file, with keys shortened; empty where there is none. `PUT` it back as it is or edited: a shortened key stands for the one in the file.
    text: str
    # What works but is probably not what was meant.
    warnings: list[str]
    # Why the file is not the config that counts.
    error: ConfigFlaw | None
    # Where it is not: the one that counts instead, with keys shortened.
    last_good: str | None


class ConfigFlaw(TypedDict):
    message: str
    # The path of the key that is to blame, where it is one.
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
    # Nothing was written.
    dry_run: bool
    counts: ImportReportCounts
    entries: list[ImportEntry]
    # What the other program has and Onyx did not take, with the reason.
    left_out: list[ImportRemark]
    # What has another name here.
    renamed: list[ImportRemark]


class ImportCounts(TypedDict):
    new: int
    # Something of it was here; the rest was added.
    added: int
    already_there: int
    # Something else is here in its place, and stays.
    kept: int


class ImportEntry(TypedDict):
    kind: ImportKind
    name: str
    outcome: ImportOutcome
    why: NotRequired[str | None]

ImportKind: TypeAlias = "Literal['agent', 'provider', 'connector', 'mcp_server', 'persona', 'memory', 'file', 'skill', 'job', 'session']"

# What became of one thing; in a dry run, what would. `kept`: What is here is something else, and stays as it is.
ImportOutcome: TypeAlias = "Literal['new', 'added', 'already_there', 'kept']"


class ImportRemark(TypedDict):
    what: str
    why: str


class ImportLineProgress(TypedDict):
    """So many of the things that were read are looked at or written."""

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
    # Shortened beyond use.
    key: NotRequired[str | None]
    locality: NotRequired[str | None]
    # `untried`, `well` or `failing`.
    health: str
    # Those that the config names.
    models: list[str]
    # Those that were called since the start.
    called: list[CalledModelView]
    # Of a provider that people sign in at.
    login: NotRequired[LoginView | None]
    # As whom it is asked, where this machine's own identity takes the place of a key.
    account: NotRequired[str | None]


class CalledModelView(TypedDict):
    model: str
    # `closed`, `open` (it is left alone) or `half_open` (one call tries it).
    circuit: str
    # In a row.
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
    """What does not apply is null."""

    # `none`, `waiting`, `signed_in`, `failed` or `sign_in_again`.
    state: str
    account: str | None
    user_code: str | None
    verification_uri: str | None
    expires_at: str | None
    # Why the last try came to nothing, or why it must be made again.
    error: str | None
    # When a sign-in ends that cannot be renewed.
    until: str | None
    # How people can sign in: `code`, `browser`.
    ways: list[str]
    # What was last told of how much of a plan is used.
    quota: QuotaView | None


class QuotaView(TypedDict):
    # Which limit it is, in words.
    limit: str
    used_percent: int | None
    resets_at: str | None


class FoundProviders(TypedDict):
    found: list[FoundView]


class FoundView(TypedDict):
    """A server that answered at its usual address."""

    # As the vendor is known: a provider of this name needs no other settings.
    name: str
    base_url: str
    models: list[str]
    # The first of them that answers, and does not only make vectors.
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
    # Shortened beyond use.
    key: NotRequired[str | None]
    locality: NotRequired[str | None]
    # `untried`, `well` or `failing`.
    health: str
    # Those that the config names.
    models: list[str]
    # Those that were called since the start.
    called: list[CalledModelView]
    # Of a provider that people sign in at.
    login: NotRequired[LoginView | None]
    # As whom it is asked, where this machine's own identity takes the place of a key.
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
    """A field that is absent is not known."""

    # `<provider>/<model>`.
    id: str
    context_window: NotRequired[int | None]
    max_output_tokens: NotRequired[int | None]
    price: NotRequired[PriceView | None]
    inputs: NotRequired[list[str] | None]
    tools: NotRequired[bool | None]
    reasoning: NotRequired[bool | None]
    locality: NotRequired[str | None]
    # It fails of late and is left alone for now.
    rests: bool
    # Of a model that runs on this machine, where one is asked for by its id.
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
    # The tokens that it was trained to read at once.
    trained_window: NotRequired[int | None]
    # Whether it is in memory now.
    loaded: bool


class WeightsFileView(TypedDict):
    path: str
    bytes: int
    # What its SHA-256 must be, where that is known.
    pinned_sha256: NotRequired[str | None]


class LoginBegun(TypedDict):
    """A code that waits to be entered, or a page that waits to be opened."""

    # `waiting`.
    state: str
    # `code` or `browser`.
    way: str
    # To be entered on the page; none where the browser comes back by itself.
    user_code: str | None
    # The page.
    verification_uri: str
    # Holds the code already, where the provider gives such an address.
    verification_uri_complete: str | None
    expires_at: str


class DefaultModel(TypedDict):
    """`agents.defaults.model` of onyx.json."""

    # `<provider>/<model>`; null leaves it to the first provider that works.
    primary: str | None
    # Asked in this order when it cannot answer.
    fallbacks: list[str]


class Budgets(TypedDict):
    """Today's spending beside its limits; 0 is no limit. In the currency of the price data."""

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
    # Each holds every part of the total once; names in their order, days without use left out.
    days: list[Sum]
    agents: list[Sum]
    models: list[Sum]
    people: list[Sum]


class Sum(TypedDict):
    # The day, agent, model or person; empty for the total, and for a model that was not noted.
    name: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    # In the currency of the price data; unknown prices count as nothing.
    cost: float


class GatewayList(TypedDict):
    # None where one process keeps everything to itself.
    gateways: list[GatewayView]


class GatewayView(TypedDict):
    """One of several gateways, and what it does."""

    id: str
    # Where the others reach it.
    url: str
    # Of the program that runs there.
    version: str
    state: GatewayViewState
    # Is it the one that answers this request?
    answers_you: bool
    # When it started.
    since: str
    # How long ago it last told the database that it lives, in milliseconds.
    silent_for_ms: int
    # Answers under way.
    runs: int
    # Jobs that run now.
    jobs: int
    # Approved changes that it is applying.
    drafts: int
    # Accounts of other networks that it asks for messages.
    connectors: list[str]
    # What else one gateway does for all.
    duties: list[GatewayDuty]

# `silent`: Nothing was heard of it for longer than its life. The others have what it held. `draining`: Its answers under way end, and nothing new is begun. `drained`: It holds nothing and begins nothing until it is restarted.
GatewayViewState: TypeAlias = "Literal['serving', 'silent', 'draining', 'drained']"


class GatewayDutyVariant(TypedDict):
    """Ends what gateways that died left behind."""

    kind: Literal['cleans_up']


class GatewayDutyVariant2(TypedDict):
    """Renews what is kept of a sign-in."""

    kind: Literal['renews_sign_in']
    of: str


class GatewayDutyVariant3(TypedDict):
    """Asks a provider whether a sign-in was finished."""

    kind: Literal['awaits_sign_in']
    of: str


class GatewayDutyVariant4(TypedDict):
    """Of a newer gateway, by the name that it has in the database."""

    kind: Literal['other']
    name: str

# Something that one gateway does for all.
GatewayDuty: TypeAlias = "GatewayDutyVariant | GatewayDutyVariant2 | GatewayDutyVariant3 | GatewayDutyVariant4"


class LogLines(TypedDict):
    lines: list[LogLine]


class LogLine(TypedDict):
    """One thing that was logged."""

    # Rises by one with each line; give it as `after` to go on from there.
    seq: int
    ts: str
    level: LogLevel
    # Which part of the program says it.
    target: str
    message: str
    # Run, session, request and other details.
    fields: NotRequired[dict[str, Any]]

LogLevel: TypeAlias = "Literal['trace', 'debug', 'info', 'warn', 'error']"


class LogLevels(TypedDict):
    """What is logged, and what was at the start."""

    # This level and worse.
    level: LogLevel
    # What the next start logs: what `ONYX_LOG` says, or `info`.
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
    """How far an import is; the last of a stream has another state than `importing`."""

    state: SourceState
    done: int
    failed: int
    total: NotRequired[int | None]
    current: NotRequired[str | None]


class SearchResultsView(TypedDict):
    """What was found, best first."""

    results: list[FoundView2]
    # Meaning was not searched for, only words; `reason` says why.
    degraded: bool
    reason: NotRequired[str | None]
    # Not everything is indexed yet: more may be found later.
    partial: bool


class FoundView2(TypedDict):
    # What it is: a memory, a note, a page, …
    source: SourceKind
    path: str
    title: str
    heading: str
    scope: Scope
    origin: Origin
    start_line: int
    end_line: int
    text: str
    # A part of the text in pieces; a hit is what was looked for.
    snippet: list[SnippetPart]
    score: float
    match_type: MatchType
    modified: str
    # Of a message: the conversation it was said in, its run and its turn.
    session: NotRequired[str | None]
    run: NotRequired[str | None]
    turn: NotRequired[str | None]
    # Who said it.
    author: NotRequired[str | None]
    # When it was said.
    time: NotRequired[str | None]

# What a document is. `source`: Text of a knowledge source that somebody attached.
SourceKind: TypeAlias = "Literal['memory', 'daily', 'note', 'page', 'task', 'ref', 'project', 'session', 'shared', 'source']"


class Remembered(TypedDict):
    # Where it was written.
    path: str


class IndexStatus(TypedDict):
    """How the index is, for whoever wonders why something was not found."""

    sources: int
    chunks: int
    # Chunks that can be found by meaning.
    vectors: int
    # Everything was looked through since the start.
    complete: bool
    # Files that are waiting to be read.
    waiting: int
    # What is being looked through now.
    progress: Progress | None
    synced_at: str | None
    embedding: Embedding
    watching: Watching
    # What went wrong last and has not gone right since.
    error: str | None
    # Files of which nothing can be found.
    problem_count: int
    problems: list[Problem]


class EmbeddingVariant(TypedDict):
    """No embedder is configured: searches go by words alone."""

    state: Literal['off']


class EmbeddingVariant2(TypedDict):
    state: Literal['ready']
    model: str


class EmbeddingVariant3(TypedDict):
    """Searches go by words alone until it works again."""

    state: Literal['failing']
    model: str
    reason: str

Embedding: TypeAlias = "EmbeddingVariant | EmbeddingVariant2 | EmbeddingVariant3"


class WatchingVariant(TypedDict):
    """Files are looked at when a session starts."""

    state: Literal['off']


class WatchingVariant2(TypedDict):
    state: Literal['on']


class WatchingVariant3(TypedDict):
    state: Literal['failing']
    reason: str

Watching: TypeAlias = "WatchingVariant | WatchingVariant2 | WatchingVariant3"


class Problem(TypedDict):
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
    # Why nothing of it can be found.
    problem: str | None


class Graph(TypedDict):
    # Those said of last first; empty where one was asked for.
    entities: list[GraphEntity]
    # The one that was asked for, or that came of a change.
    entity: NotRequired[GraphEntityPage | None]


class GraphEntity(TypedDict):
    name: str
    facts: int
    last_said: str


class GraphEntityPage(TypedDict):
    name: str
    # Other names that were made one with it.
    also: list[str]
    # By relation, the newest of each first.
    facts: list[FactView]
    # Not every text was looked through yet.
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
    # From 1; of a conversation the message of its run.
    line: int
    text: str
    origin: Origin
    said_at: str
    # `rules`, or the model that found it.
    found_by: str
    author: NotRequired[str | None]
    turn: NotRequired[str | None]


class KeepingReport(TypedDict):
    # The drafts that wait for a decision.
    drafts: list[str]
    # Absent where there were no daily logs to look at.
    session_id: NotRequired[str | None]
    run_id: NotRequired[str | None]
    status: NotRequired[RunStatus | None]


class SignedIn(TypedDict):
    """Who signed in, and what the page keeps to show with every request."""

    person: str
    name: str | None
    role: Role
    credential: CallerKind
    scopes: list[Grant]
    expires_at: str | None
    # Sent as `X-Onyx-Page-Key`: without it the cookie opens nothing. Told here and never again.
    page_key: str

Role: TypeAlias = "Literal['owner', 'member']"

# How a caller came in. `local_user`: The home's own socket: the kernel says that it is the same user. `owner_token`: The owner's token of the config or the token file. `access`: A short-lived token that a refresh token was exchanged for.
CallerKind: TypeAlias = "Literal['token', 'session', 'password', 'local_user', 'owner_token', 'access']"

# One thing that a credential may be good for. `read`: Looking at what is the person's. `write`: Changing it, and approving what agents propose to change. `chat`: Setting agents and models to work. `admin`: What only the owner may do; worth nothing in the hands of anybody else.
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
    # For a device.
    token: NotRequired[str | None]
    # For a browser, beside its cookie: sent as `X-Onyx-Page-Key` with every request.
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

# Where it is written that there is such a person: there they are changed. `config`: `people` of onyx.json, or VALID_PERSONS. `added`: Made at the first start, or added since.
PersonSource: TypeAlias = "Literal['config', 'added']"


class Credentials(TypedDict):
    tokens: list[CredentialView]


class CredentialView(TypedDict):
    """A credential as it may be shown: everything but what opens the door."""

    id: str
    kind: CredentialKind
    name: str
    people: list[str]
    scopes: list[Grant]
    created_at: str
    expires_at: str | None

# `token`: `onyx_sk_…`, for programs. `session`: A browser's cookie. `refresh`: What an SDK gets short-lived tokens with.
CredentialKind: TypeAlias = "Literal['token', 'session', 'refresh']"


class TokenMade(TypedDict):
    """A credential as it may be shown: everything but what opens the door."""

    id: str
    kind: CredentialKind
    name: str
    people: list[str]
    scopes: list[Grant]
    created_at: str
    expires_at: str | None
    # Shown here and never again.
    token: str


class Pairings(TypedDict):
    pairings: list[Pairing]


class Pairing(TypedDict):
    """A device that waits, as the owner sees it."""

    code: str
    name: str
    client: PairingFor
    expires_in: int

# What the device wants to have in the end. `browser`: A cookie. `device`: An API token.
PairingFor: TypeAlias = "Literal['browser', 'device']"


class Link(TypedDict):
    # To be opened in a browser on the machine that runs the server.
    url: str


class SecretList(TypedDict):
    secrets: list[SecretView]


class SecretView(TypedDict):
    """A secret as it may be shown."""

    name: str
    # Enough to recognise it by, and no more.
    hint: str
    updated_at: str
    # Where the key lies that opens it.
    key: KeyPlace
    # Why it cannot be used, if it cannot.
    error: NotRequired[str | None]

# Where a key lies. `master_key`: Made from the key that all gateways of a server are given.
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
    # Give it as `before` to get what came before these; absent at the beginning.
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
    # The conversation in which the caller edits it, if there is one.
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
    # Absent: the agent that answers where none is named.
    default_agent: NotRequired[str | None]
    # The session of its companion, once there is one.
    companion: NotRequired[str | None]
    # Its conversations are for models of this machine only.
    local_only: bool
    # How far agents may go in it, whatever their own tier allows.
    tier: Tier
    created_at: NotRequired[str | None]
    # Why its `space.json` cannot be read; what is in the space is not harmed.
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
    # Every other key of its front matter that has a value of one line.
    fields: dict[str, str]
    # As searches and agents name its file.
    path: str
    # What its ETag says.
    version: str
    body: NotRequired[str | None]


class EntityList(TypedDict):
    # Changed last first, without their bodies.
    entities: list[EntityView]
    # Give it as `before` for the rest.
    before: NotRequired[str | None]


class AttachedConversations(TypedDict):
    sessions: list[SessionView]


class CompanionView(TypedDict):
    conversation_id: str
    space: str
    # Who answers now.
    agent: str
    agent_name: str


class Messages(TypedDict):
    # Oldest first.
    messages: list[ConversationMessage]
    # Give it as `before` for what came before these; absent at the beginning.
    before: NotRequired[str | None]


class ConversationMessage(TypedDict):
    id: str
    role: MessageRole
    # The agent that answered; `person` for their own words.
    author: str
    content: str
    status: MessageStatus
    created_at: str
    # Why the answer did not come, where it did not.
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

# How far a tool call is.
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
    # What came of it.
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
    # Answers where nobody is named: the one marked so, else the earliest assigned.
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
    # One for each coworker that answers, empty still.
    assistant_messages: list[ConversationMessage]


class ThreadContext(TypedDict):
    # Best first.
    pieces: list[ThreadContextPiece]
    # How many tokens a message may be given, about: the smallest of who would answer it.
    budget: int
    # Why less was found than there is.
    degraded: NotRequired[str | None]


class ThreadContextPiece(TypedDict):
    source: str
    source_id: str
    chunk_id: str
    title: str
    scope: Scope
    origin: Origin
    score: float
    match_type: MatchType
    start_line: int
    end_line: int
    # Without the front matter that a file begins with.
    text: str
    # What it takes of the budget, about.
    tokens: int
    # There is room for it beside what is better.
    fits: bool


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
    """The last event of a thread that is no more."""

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
    data: list[Embedding2]
    model: str
    usage: EmbeddingUsage


class Embedding2(TypedDict):
    object: str
    index: int
    embedding: Vector

Vector: TypeAlias = "list[float] | str"


class EmbeddingUsage(TypedDict):
    prompt_tokens: int
    total_tokens: int


class ModelList(TypedDict):
    object: str
    data: list[ModelView2]
    first_id: str | None
    last_id: str | None
    has_more: bool


class ModelView2(TypedDict):
    id: str
    object: str
    type: str
    display_name: str
    created: int
    created_at: str
    owned_by: str
    context_window: NotRequired[int | None]
    # As Anthropic calls the window.
    max_input_tokens: NotRequired[int | None]
    # As Anthropic calls the longest answer.
    max_tokens: NotRequired[int | None]
    capabilities: Capabilities


class Capabilities(TypedDict):
    """What is known of it; what is not known is not there."""

    tools: NotRequired[bool | None]
    reasoning: NotRequired[bool | None]
    images: NotRequired[bool | None]


class AccessRequestView(TypedDict):
    # As the program calls itself; nobody has checked it.
    name: str
    # Where the browser goes then: who gets in.
    goes_to: str
    # chat, read, write.
    scopes: list[str]


class AccessGranted(TypedDict):
    redirect: str


class LinkedInView(TypedDict):
    """A person's account, as far as it is known."""

    # Whether the owner named an application of LinkedIn's in the config.
    configured: bool
    # What the owner has to mend before anybody can connect.
    trouble: str | None
    login: LoginView
    # When LinkedIn last took the account's token, since the server started.
    last_validated_at: str | None
    # Why LinkedIn did not take the last request; null after one that it took.
    last_error: str | None
    # To be registered with the application at LinkedIn.
    redirect_uri: str


class LinkedInRevoked(TypedDict):
    # Whether LinkedIn confirmed that its tokens are of no more use.
    confirmed: bool
    # Why not, and what to do then.
    detail: str | None


class Problem2(TypedDict):
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
    # Without a `session_id`: begins a chat that is not listed, not indexed, not remembered and deleted a day after it was last used.
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
    # Each by itself; `null` removes it.
    flags: NotRequired[dict[str, bool | None]]
    actions_path: NotRequired[str | None]
    # An IANA name such as `Europe/Berlin`; empty for the server's.
    timezone: NotRequired[str | None]


class RunAction(TypedDict):
    session_id: NotRequired[str | None]
    confirm: NotRequired[bool | None]
    dry_run: NotRequired[bool | None]
    # What `{{selection}}` stands for.
    selection: NotRequired[str | None]


class FilledWith(TypedDict):
    # What `{{selection}}` stands for.
    selection: NotRequired[str | None]


class RunsQuery(TypedDict):
    # Only those before this run.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class NewAgent(TypedDict):
    """What is read in two parts: fields within a flattened one would have lost their paths."""

    id: str
    name: NotRequired[str | None]
    # Answers who names nobody; there is one.
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
    # A folder whose files are read instead of the agent's own.
    workspace: NotRequired[str | None]
    # Other agents whose memory it may search.
    memory_read: NotRequired[list[str]]
    # It uses models of this machine and no others.
    local_only: NotRequired[bool | None]


class ToolFieldsInput(TypedDict):
    """Names of tools, or `group:<name>`. Deny wins."""

    # None: every tool.
    allow: NotRequired[list[str] | None]
    deny: NotRequired[list[str]]
    # Commands that need no person: each the beginning of an argument list.
    commands: NotRequired[list[list[str]]]


class AgentFieldsInput(TypedDict):
    """What an agent says of itself. What is absent is as `agents.defaults` has it."""

    name: NotRequired[str | None]
    # Answers who names nobody; there is one.
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
    # A folder whose files are read instead of the agent's own.
    workspace: NotRequired[str | None]
    # Other agents whose memory it may search.
    memory_read: NotRequired[list[str]]
    # It uses models of this machine and no others.
    local_only: NotRequired[bool | None]


class AcceptFile(TypedDict):
    # The ETag of what was read.
    seen: str


class ListQuery(TypedDict):
    agent: NotRequired[str | None]
    status: NotRequired[SessionStatus | None]
    origin: NotRequired[SessionOrigin | None]
    # Part of the title or of the newest words, or words that somebody said in it.
    q: NotRequired[str | None]
    since: NotRequired[str | None]
    until: NotRequired[str | None]
    # Only those that are, or are not, pinned.
    pinned: NotRequired[bool | None]
    # Only those that have this tag.
    tag: NotRequired[str | None]
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class Patch(TypedDict):
    title: NotRequired[str | None]
    status: NotRequired[SessionStatus | None]
    agents: NotRequired[list[str] | None]
    mode: NotRequired[LaneOrder | None]
    # Kept at the top of the list, with its forks.
    pinned: NotRequired[bool | None]
    # In the place of those it has, with its forks.
    tags: NotRequired[list[str] | None]
    # The page, task, ref or project that it is about; `null` detaches it.
    attached: NotRequired[EntityRef | None]


class GivenFeedback(TypedDict):
    # Absent or `null`: what was said before is taken back.
    rating: NotRequired[Rating | None]
    note: NotRequired[str | None]


class Fork(TypedDict):
    turn_id: str
    # Leave the turn itself out: for saying it differently.
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
    """What a person says with a decision."""

    reason: NotRequired[str | None]
    scope: NotRequired[ScopeInput | None]
    # The `plan_hash` of what was looked at; needed for a draft that is `stale`.
    plan_hash: NotRequired[str | None]

# `once`: This call alone. `run`: The same tool may reach the same host for the rest of the run.
ScopeInput: TypeAlias = "Literal['once', 'run']"


class JobBody(TypedDict):
    """A new job: its name and fields."""

    id: str
    # Five or six fields, such as `0 8 * * MON-FRI`.
    cron: NotRequired[str | None]
    # Such as `2h` or `2w`; with `at` as the first time.
    every: NotRequired[str | None]
    # Such as `2030-12-01T09:00`.
    at: NotRequired[str | None]
    # An IANA name; the person's where there is none.
    timezone: NotRequired[str | None]
    # Firings are put off by up to this long.
    jitter: NotRequired[str | None]
    # `skip`, `once` or `all`: what becomes of times that passed while nothing ran.
    misfire: NotRequired[str | None]
    # A time that is late by less than this counts as on time.
    grace: NotRequired[str | None]
    # `skip`, `queue` or `replace`: what becomes of a time while the job is at work.
    overlap: NotRequired[str | None]
    agent: NotRequired[str | None]
    model: NotRequired[str | None]
    # `fresh` or `kept`.
    session: NotRequired[str | None]
    # `session`, `notification`, `{webhook}`, `{email}`, `{connector}` or several of them.
    deliver: NotRequired[Any]
    # A command (text or list), or `{url, status, contains}`: asked first.
    when: NotRequired[Any]
    # A command (text or list) in the place of a prompt.
    run: NotRequired[Any]
    max_cost: NotRequired[float | None]
    enabled: NotRequired[bool | None]
    expires: NotRequired[str | None]
    prompt: NotRequired[str | None]


class JobChangeBody(TypedDict):
    """The front matter of a job, and its prompt. `null` takes a field away."""

    # Five or six fields, such as `0 8 * * MON-FRI`.
    cron: NotRequired[str | None]
    # Such as `2h` or `2w`; with `at` as the first time.
    every: NotRequired[str | None]
    # Such as `2030-12-01T09:00`.
    at: NotRequired[str | None]
    # An IANA name; the person's where there is none.
    timezone: NotRequired[str | None]
    # Firings are put off by up to this long.
    jitter: NotRequired[str | None]
    # `skip`, `once` or `all`: what becomes of times that passed while nothing ran.
    misfire: NotRequired[str | None]
    # A time that is late by less than this counts as on time.
    grace: NotRequired[str | None]
    # `skip`, `queue` or `replace`: what becomes of a time while the job is at work.
    overlap: NotRequired[str | None]
    agent: NotRequired[str | None]
    model: NotRequired[str | None]
    # `fresh` or `kept`.
    session: NotRequired[str | None]
    # `session`, `notification`, `{webhook}`, `{email}`, `{connector}` or several of them.
    deliver: NotRequired[Any]
    # A command (text or list), or `{url, status, contains}`: asked first.
    when: NotRequired[Any]
    # A command (text or list) in the place of a prompt.
    run: NotRequired[Any]
    max_cost: NotRequired[float | None]
    enabled: NotRequired[bool | None]
    expires: NotRequired[str | None]
    prompt: NotRequired[str | None]


class JobShown(TypedDict):
    """Says what was looked at."""

    # The `hash` of the job as it was shown.
    hash: str


class RunsQuery2(TypedDict):
    # Only times before this one.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class SkillImport(TypedDict):
    """Files, or a ZIP archive of them. Each folder with a `SKILL.md` is a skill."""

    # What a skill at the top is called where it does not say so itself.
    name: NotRequired[str | None]
    files: NotRequired[list[BroughtFile] | None]
    # In base64.
    zip: NotRequired[str | None]
    # The https address of a repository; its newest commit is taken.
    git: NotRequired[str | None]


class BroughtFile(TypedDict):
    path: str
    # In base64.
    content: str


class WhoseSkill(TypedDict):
    # The agent in whose folder it lies; the vault's without it.
    agent: NotRequired[str | None]


class SkillText(TypedDict):
    """The whole `SKILL.md`."""

    text: str


class SeenSkill(TypedDict):
    """Says what was looked at."""

    # The `hash` of the skill as it was shown.
    hash: str


class FileOfSkill(TypedDict):
    # As the skill's `files` name it.
    path: str
    agent: NotRequired[str | None]

# `{"mcpServers": {…}}` as other clients have it, or servers by name.
NewMcpServers: TypeAlias = "dict[str, Any]"


class SeenTools(TypedDict):
    """Says what was looked at."""

    # The `hash` of each tool as it was shown.
    tools: dict[str, str]


class McpLogin(TypedDict):
    # Where the browser comes back to: an address of this machine.
    redirect_uri: str


class McpCallback(TypedDict):
    """As the browser brought it."""

    state: str
    code: NotRequired[str | None]
    iss: NotRequired[str | None]
    error: NotRequired[str | None]


class McpToolSettings(TypedDict):
    """What is not said stays."""

    enabled: NotRequired[bool | None]
    effect: NotRequired[ToolEffect | None]


class WhichAgent(TypedDict):
    # Whose tools; the default agent's without it.
    agent: NotRequired[str | None]


class JsonRpc(TypedDict):
    """A message of JSON-RPC 2.0."""

    jsonrpc: str
    id: NotRequired[Any]
    method: str
    params: NotRequired[dict[str, Any] | None]


class NewPlugin(TypedDict):
    """One of the three."""

    files: NotRequired[list[PluginFile] | None]
    # A ZIP archive, in base64.
    zip: NotRequired[str | None]
    # The https address of a repository; its newest commit is taken.
    git: NotRequired[str | None]


class PluginFile(TypedDict):
    path: str
    # In base64.
    content: str


class SeenPlugin(TypedDict):
    """Says what was looked at."""

    # The `hash` of the plugin as it was shown.
    hash: str

# By the plugin's own schema.
PluginConfig: TypeAlias = "dict[str, Any]"


class PairCode(TypedDict):
    code: str


class TestAccount(TypedDict):
    network: str
    token: str
    api_base: NotRequired[str | None]


class WrittenByVisitor(TypedDict):
    # Made up by the page; the same message sent again has the same one.
    id: str
    text: str


class MailAsked(TypedDict):
    # The number of the last message that the page has.
    after: NotRequired[int]


class PutAccount(TypedDict):
    # What `connectors.<network>.accounts.<account>` is to hold: `allow`, `groups`, `apiBase`, …
    settings: NotRequired[dict[str, Any]]
    # Kept encrypted as `<network>-<account>`, and named as `token` in the settings.
    token: NotRequired[str | None]


class BindPeer(TypedDict):
    # Who answers from now on; `null` leaves it to the other bindings.
    agent: NotRequired[str | None]


class ApprovePeer(TypedDict):
    # Whose agents it talks to; the owner's where it is left out.
    member: NotRequired[str | None]


class PendingChangesQuery(TypedDict):
    state: NotRequired[DraftState | None]
    session: NotRequired[str | None]
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class AuditQuery(TypedDict):
    # Whose; without it the caller's own.
    person: NotRequired[str | None]
    before: NotRequired[int | None]
    limit: NotRequired[int | None]


class VerifyQuery(TypedDict):
    # Whose; without it everybody's.
    person: NotRequired[str | None]


class NewConfig(TypedDict):
    # The whole file. A shortened key in it stands for the one that the file has.
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

# The program that somebody moves from.
ImportSource: TypeAlias = "Literal['openclaw', 'nanobot', 'open-webui', 'chatgpt', 'claude']"

# `export`: The file that the other program exported, or an archive of its folder. `items`: What was read of it, one item a line.
Form: TypeAlias = "Literal['export', 'items']"


class PutProvider(TypedDict):
    # What `providers.<name>` of onyx.json is to hold: `kind`, `baseUrl`, `models`, … A shortened key in it stands for the one that is there.
    settings: NotRequired[dict[str, Any]]
    # Kept encrypted under the provider's name, and named as `apiKey` in the settings.
    api_key: NotRequired[str | None]


class BeginLogin(TypedDict):
    # One of the ways that the provider has; without it, the first.
    way: NotRequired[SignInWay | None]

# `code`: A code that is entered on a page of the provider's, on any machine. `browser`: A browser that comes back to the machine that Onyx runs on.
SignInWay: TypeAlias = "Literal['code', 'browser']"


class FinishLogin(TypedDict):
    # The whole address of the page that the browser ended at.
    address: str


class DefaultModelInput(TypedDict):
    """`agents.defaults.model` of onyx.json."""

    # `<provider>/<model>`; null leaves it to the first provider that works.
    primary: NotRequired[str | None]
    # Asked in this order when it cannot answer.
    fallbacks: NotRequired[list[str]]


class NewLimits(TypedDict):
    """What is absent stays."""

    limit_per_run: NotRequired[float | None]
    limit_per_person: NotRequired[float | None]
    limit_per_agent: NotRequired[float | None]


class UsageQuery(TypedDict):
    # The first day, UTC; 30 days before the last unless given.
    since: NotRequired[str | None]
    # The last day, UTC; today unless given.
    until: NotRequired[str | None]
    person: NotRequired[str | None]
    agent: NotRequired[str | None]
    model: NotRequired[str | None]


class LogsQuery(TypedDict):
    # This level and worse.
    level: NotRequired[LogLevel | None]
    # Part of the words, the target or a detail.
    q: NotRequired[str | None]
    # Only lines after this one.
    after: NotRequired[int | None]
    # The newest so many; 200 unless given.
    limit: NotRequired[int | None]


class NewLevel(TypedDict):
    # This level and worse.
    level: LogLevel


class SourcesQuery(TypedDict):
    # Only those of this space, channel, thread or agent.
    scope: NotRequired[str | None]


class SourceRequest(TypedDict):
    """What to attach, and to what."""

    scope: ScopeRequest
    title: NotRequired[str | None]


class ScopeRequest(TypedDict):
    type: ScopeKind
    id: str
    # Where a channel or thread is, when no space lists it.
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
    # Of MEMORY.md; needed there.
    heading: NotRequired[str | None]

Target: TypeAlias = "Literal['daily', 'memory']"


class FilesQuery(TypedDict):
    # Some of the kinds of sources, by commas; memory and daily unless told otherwise.
    types: NotRequired[str | None]
    # Only paths after this one.
    after: NotRequired[str | None]
    limit: NotRequired[int | None]


class ReadQuery(TypedDict):
    # What it held before this change, instead of what it holds.
    version: NotRequired[int | None]


class FileAct(TypedDict):
    # Of `restore`: what the file held before this change is put back.
    version: NotRequired[int | None]
    # Of `accept`: the ETag of what was read.
    seen: NotRequired[str | None]


class GraphQuery(TypedDict):
    # A name; its facts are answered.
    entity: NotRequired[str | None]
    # A part of the names that are listed; with `entity`, of the facts that are told.
    q: NotRequired[str | None]
    limit: NotRequired[int | None]


class Merge(TypedDict):
    # What it is called from now on.
    into: str
    # The names that become one with it.
    names: list[str]


class Split(TypedDict):
    name: str
    # What some texts mean by it. Absent: the name is taken out of the one that it was made one with.
    apart: NotRequired[Apart | None]


class Apart(TypedDict):
    """A name means another in these texts."""

    # What it is called there from now on.
    into: str
    paths: list[str]


class Keep(TypedDict):
    # None: the default agent.
    agent: NotRequired[str | None]


class KnowledgeQuery(TypedDict):
    q: str
    space: NotRequired[str | None]
    # Some of page, task, ref, project, note, source, memory, daily, session, shared, by commas.
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
    # The one that counts now, where there is one.
    current: NotRequired[str | None]
    password: str


class NewPerson(TypedDict):
    id: str
    name: NotRequired[str | None]


class NewPassword(TypedDict):
    password: str


class TokenRequest(TypedDict):
    name: str
    # Absent: the caller. Several make a household token.
    people: NotRequired[list[str]]
    # Absent: everything a person does for themselves.
    scopes: NotRequired[list[Grant] | None]
    # Seconds; absent: until it is revoked.
    expires_in: NotRequired[int | None]


class Approve(TypedDict):
    code: str
    # Whom the device is for; absent: the caller.
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
    """What is not there stays as it is."""

    name: NotRequired[str | None]
    systemPrompt: NotRequired[str | None]


class TestInputContent(TypedDict):
    content: str


class NewSpace(TypedDict):
    name: str
    # Made from the name unless it is given.
    id: NotRequired[str | None]
    default_agent: NotRequired[str | None]
    # Its conversations are for models of this machine only.
    local_only: NotRequired[bool | None]


class SpacePatch(TypedDict):
    name: NotRequired[str | None]
    # `null`: nobody in particular.
    default_agent: NotRequired[str | None]
    # Its conversations are for models of this machine only.
    local_only: NotRequired[bool | None]
    tier: NotRequired[Tier | None]


class CaptureRequest(TypedDict):
    """One of `url`, `text`, and `data` with its `name`."""

    # Fetched now.
    url: NotRequired[str | None]
    # Markdown or plain words.
    text: NotRequired[str | None]
    # A file (PDF, HTML, CSV, text, code) as base64.
    data: NotRequired[str | None]
    name: NotRequired[str | None]
    media_type: NotRequired[str | None]
    # As the document names itself, unless it is given.
    title: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class EntitiesQuery(TypedDict):
    # Only those after this one: the last id of the page before.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]
    # Only those of this status.
    status: NotRequired[str | None]
    # Only those that link to this one of the same space, given as `pages/<id>`: `[[its title]]` in their text.
    links_to: NotRequired[str | None]


class NewEntity(TypedDict):
    title: str
    status: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    # Other keys of the front matter.
    fields: NotRequired[dict[str, str | None]]
    body: NotRequired[str | None]


class EntityPatch(TypedDict):
    """What is left out stays as it is."""

    title: NotRequired[str | None]
    # Empty: it has none.
    status: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    # Other keys of the front matter; `null` or empty: it goes.
    fields: NotRequired[dict[str, str | None]]
    body: NotRequired[str | None]


class MessagesQuery(TypedDict):
    # Only those before this message.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class PostMessage(TypedDict):
    content: str
    # What the person looks at.
    view: NotRequired[ViewRequest | None]


class ViewRequest(TypedDict):
    entityType: str
    entityId: str


class StreamQuery(TypedDict):
    # The latest message unless it is given.
    messageId: NotRequired[str | None]


class ChannelsQuery(TypedDict):
    # Only those of this space.
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
    # Only those of this channel.
    channel: NotRequired[str | None]


class NewThread(TypedDict):
    channel: str
    title: str


class PatchThread(TypedDict):
    title: str


class ThreadMessagesQuery(TypedDict):
    # Only those before this message of the person's.
    before: NotRequired[str | None]
    limit: NotRequired[int | None]


class ThreadMessage(TypedDict):
    content: str


class ContextQuery(TypedDict):
    q: str


class UiChatRequest(TypedDict):
    messages: list[UiMessage]
    systemPrompt: NotRequired[str | None]
    # Evidence for the answer; never a part of the instructions.
    ragContext: NotRequired[list[RagPiece]]
    # `<provider>/<model>`, or an agent whose model is taken. Absent: the default agent's.
    model: NotRequired[str | None]
    maxTokens: NotRequired[int | None]
    temperature: NotRequired[float | None]
    # `useChat`'s name for the chat. With an agent, the id of a session goes on with that session.
    id: NotRequired[str | None]
    # The agent that answers, with its own instructions, tools and memory. The conversation is then kept in a session, and of `messages` only what is new is read.
    agent: NotRequired[str | None]
    # The session to go on with; its agent answers.
    sessionId: NotRequired[str | None]
    trigger: NotRequired[UiTrigger]


class UiMessage(TypedDict):
    role: UiRole
    # The words, or `parts`.
    content: NotRequired[str | None]
    parts: NotRequired[list[Any] | None]
    # Of an agent's answer: `sessionId` names its session.
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
    """Takes a text. A grammar for it is left out: models of other wires cannot be held to one."""

    name: str
    description: NotRequired[str]

ChatChoice: TypeAlias = "Mode | ChatNamedTool"

# The words that both of OpenAI's wires have for it.
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
    """What ran at the maker's says nothing to a model that cannot run it."""

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
    # Of a namespace.
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

# `system`: An instruction that came while the conversation went on.
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
    """What a model thought is its own; we replay it from the log."""

    type: Literal['thinking']


class MessagesBlockRedactedThinking(TypedDict):
    type: Literal['redacted_thinking']


class MessagesBlockCompaction(TypedDict):
    """A summary that stands for what came before it."""

    type: Literal['compaction']
    content: NotRequired[str | None]


class MessagesBlockServerToolUse(TypedDict):
    """What ran at the maker's says nothing to a model that cannot run it."""

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

# The blocks that tools answer with, for the document alone: generators of clients cannot read a choice that holds itself.
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
    """As hard as the model sees fit."""

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
    """What the program put into the address of the page."""

    response_type: str
    client_id: str
    redirect_uri: str
    code_challenge: str
    code_challenge_method: str
    state: NotRequired[str | None]
    scope: NotRequired[str | None]
    resource: NotRequired[str | None]


class LinkedInReturn(TypedDict):
    """As the browser brought it."""

    state: str
    code: NotRequired[str | None]
    error: NotRequired[str | None]
