-- Everything that server mode keeps in PostgreSQL, equal in meaning to the ledger and the index of the embedded mode.
-- Texts that are compared or sorted have the collation "C": the order is then that of bytes, as in SQLite and in Rust.
-- Times that callers give are milliseconds; deadlines that the database's own clock decides are TIMESTAMPTZ.

-- Which binaries may use these tables: those that know `version`, or an older one from `compatible_from` on.
CREATE TABLE onyx_schema (
    id              SMALLINT PRIMARY KEY CHECK (id = 0),
    version         INTEGER NOT NULL,
    compatible_from INTEGER NOT NULL
);
INSERT INTO onyx_schema VALUES (0, 1, 1);

-- Gateways and what they own.

-- One row a gateway. A new process under the same id gets a new incarnation, and what the old one held is free.
CREATE TABLE gateways (
    id          TEXT COLLATE "C" PRIMARY KEY,
    incarnation BIGINT NOT NULL,
    url         TEXT NOT NULL,
    until       TIMESTAMPTZ NOT NULL
);
CREATE SEQUENCE incarnations;
-- Never given twice, so that a fence stays greater than an older one even after its row was removed.
CREATE SEQUENCE fences;

-- One owner each: connector pollers, source syncs, drafts that are being applied.
CREATE TABLE owners (
    name        TEXT COLLATE "C" PRIMARY KEY,
    fence       BIGINT NOT NULL,
    gateway     TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT NOT NULL
);

-- Rows that are locked where something is counted over a whole table.
CREATE TABLE counters (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters VALUES ('sessions', 0), ('chunks', 0), ('vectors', 0), ('jobs', 0),
    -- These grow with every change, in its own transaction: each gateway looks at them several times a second.
    ('accounts', 0), ('secrets', 0), ('config', 0);

-- On what all gateways agree: the first who says something is believed.
CREATE TABLE agreed (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

-- `onyx.json`. The newest version counts.
CREATE TABLE config_versions (
    version BIGINT PRIMARY KEY,
    text    TEXT NOT NULL,
    gateway TEXT COLLATE "C" NOT NULL,
    written TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- Hints from one gateway to the others to look at something again. Written without waiting for the disk, and removed after
-- two minutes.
CREATE TABLE gateway_notices (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    gateway TEXT COLLATE "C" NOT NULL,
    body    TEXT NOT NULL,
    noted   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX gateway_notices_noted ON gateway_notices (noted);

-- Logs of turns.

CREATE TABLE session_log (
    person      TEXT COLLATE "C" NOT NULL,
    agent       TEXT COLLATE "C" NOT NULL,
    session     TEXT COLLATE "C" NOT NULL,
    fence       BIGINT NOT NULL,
    gateway     TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT NOT NULL,
    until       TIMESTAMPTZ NOT NULL,
    next_seq    BIGINT NOT NULL,
    next_pos    BIGINT NOT NULL,
    -- Where the rows begin that no segment holds.
    sealed_seq  BIGINT NOT NULL DEFAULT 0,
    sealed_pos  BIGINT NOT NULL DEFAULT 0,
    -- How often the log was deleted: what was read of it before then is void.
    generation  BIGINT NOT NULL DEFAULT 0,
    -- When it was last appended to.
    written     TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (person, agent, session)
);

-- The tail that is not sealed yet. `line` is the exact bytes: jsonb would reorder keys and refuse NUL.
CREATE TABLE turns (
    person  TEXT COLLATE "C" NOT NULL,
    agent   TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    seq     BIGINT NOT NULL,
    pos     BIGINT NOT NULL,
    turn    TEXT COLLATE "C" NOT NULL,
    line    BYTEA NOT NULL,
    PRIMARY KEY (person, agent, session, pos)
);

CREATE TABLE segments (
    person    TEXT COLLATE "C" NOT NULL,
    agent     TEXT COLLATE "C" NOT NULL,
    session   TEXT COLLATE "C" NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq  BIGINT NOT NULL,
    first_pos BIGINT NOT NULL,
    end_pos   BIGINT NOT NULL,
    -- The name of the object is the SHA-256 of what it holds.
    sha256    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (person, agent, session, first_pos)
);
CREATE INDEX segments_of_object ON segments (person, sha256);

-- Text that is still being said; written without waiting for the disk.
CREATE TABLE live_texts (
    id      BIGINT GENERATED ALWAYS AS IDENTITY,
    person  TEXT COLLATE "C" NOT NULL,
    agent   TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    pieces  BYTEA NOT NULL,
    PRIMARY KEY (person, agent, session, id)
);

-- Files.

-- What the object store holds. `touched` keeps a blob that is being written from the sweep.
CREATE TABLE blobs (
    person  TEXT COLLATE "C" NOT NULL,
    sha256  TEXT COLLATE "C" NOT NULL,
    -- writing, stored or deleting
    state   TEXT COLLATE "C" NOT NULL,
    touched TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (person, sha256)
);

-- A file or a folder of the home by its whole path. The person is empty for what belongs to nobody in particular.
CREATE TABLE files (
    person    TEXT COLLATE "C" NOT NULL,
    path      TEXT COLLATE "C" NOT NULL,
    parent    TEXT COLLATE "C" NOT NULL,
    is_folder BOOLEAN NOT NULL,
    hash      TEXT COLLATE "C" NOT NULL,
    size      BIGINT NOT NULL,
    version   BIGINT NOT NULL,
    -- A small content, else the name of the blob that holds it.
    bytes     BYTEA,
    sha256    TEXT COLLATE "C",
    modified  BIGINT NOT NULL,
    changed   BIGINT NOT NULL,
    PRIMARY KEY (person, path)
);
CREATE INDEX files_of_folder ON files (person, parent, path);
CREATE INDEX files_of_object ON files (person, sha256);
CREATE INDEX files_of_roots ON files (parent, path) WHERE parent IN ('people', 'agents');

-- Sessions and runs.

CREATE TABLE sessions (
    person          TEXT COLLATE "C" NOT NULL,
    session         TEXT COLLATE "C" NOT NULL,
    agent           TEXT COLLATE "C" NOT NULL,
    origin          TEXT COLLATE "C" NOT NULL,
    title           TEXT,
    titled_by       TEXT COLLATE "C" NOT NULL DEFAULT 'words',
    status          TEXT COLLATE "C" NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    message_count   BIGINT NOT NULL,
    token_count     BIGINT NOT NULL,
    preview         TEXT NOT NULL,
    root            TEXT COLLATE "C" NOT NULL,
    fork_turn       TEXT COLLATE "C",
    last_run        TEXT COLLATE "C",
    last_run_status TEXT COLLATE "C",
    -- Ids with spaces between; empty: the one of `agent`.
    agents          TEXT COLLATE "C",
    mode            TEXT COLLATE "C" NOT NULL DEFAULT 'sequential',
    PRIMARY KEY (person, session)
);
CREATE INDEX sessions_newest ON sessions (person, updated_at DESC, session DESC);
CREATE INDEX sessions_family ON sessions (person, root, session DESC);

CREATE TABLE unread (
    person  TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    since   BIGINT NOT NULL,
    PRIMARY KEY (person, session)
);

CREATE TABLE pins (
    person TEXT COLLATE "C" NOT NULL,
    root   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (person, root)
);

CREATE TABLE session_tags (
    person TEXT COLLATE "C" NOT NULL,
    root   TEXT COLLATE "C" NOT NULL,
    tag    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (person, root, tag)
);

CREATE TABLE session_attachments (
    person TEXT COLLATE "C" NOT NULL,
    root   TEXT COLLATE "C" NOT NULL,
    entity TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (person, root)
);
CREATE INDEX session_attachments_of_entity ON session_attachments (person, entity);

-- The newest change of each session, deleted ones included. A change has no number until somebody asks for changes:
-- numbers given by the writers would become visible out of their order.
CREATE TABLE session_changes (
    person  TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    seq     BIGINT,
    noted   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (person, session)
);
CREATE INDEX session_changes_by_seq ON session_changes (seq);

CREATE TABLE session_epoch (id SMALLINT PRIMARY KEY CHECK (id = 0), value BIGINT NOT NULL);
INSERT INTO session_epoch VALUES (0, (random() * 9007199254740991)::BIGINT);

CREATE TABLE runs (
    run         TEXT COLLATE "C" PRIMARY KEY,
    person      TEXT COLLATE "C" NOT NULL,
    agent       TEXT COLLATE "C" NOT NULL,
    session     TEXT COLLATE "C" NOT NULL,
    input_turn  TEXT COLLATE "C" NOT NULL,
    started_at  BIGINT NOT NULL,
    ended_at    BIGINT,
    -- Empty while it works.
    status      TEXT COLLATE "C",
    input       BIGINT NOT NULL DEFAULT 0,
    output      BIGINT NOT NULL DEFAULT 0,
    cache_read  BIGINT NOT NULL DEFAULT 0,
    cache_write BIGINT NOT NULL DEFAULT 0,
    cost        DOUBLE PRECISION,
    -- Who works on it, or did: what it told can be asked for there.
    gateway     TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT NOT NULL
);
CREATE INDEX runs_active ON runs (started_at, run) WHERE status IS NULL;
CREATE INDEX runs_of_session ON runs (person, session) WHERE status IS NULL;

-- An input that runs now or has run to a good end. One that went wrong is taken out, and may run again.
CREATE TABLE run_inputs (
    person     TEXT COLLATE "C" NOT NULL,
    session    TEXT COLLATE "C" NOT NULL,
    input_turn TEXT COLLATE "C" NOT NULL,
    run        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (person, session, input_turn)
);

CREATE TABLE inbox (
    person      TEXT COLLATE "C" NOT NULL,
    session     TEXT COLLATE "C" NOT NULL,
    turn        TEXT COLLATE "C" NOT NULL,
    delivery    TEXT COLLATE "C" NOT NULL,
    -- JSON: content and view as a user turn holds them.
    words       TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (person, session, turn)
);

-- What was used on a day (of the person), by whom, through which agent, of which model.
CREATE TABLE usage (
    day         TEXT COLLATE "C" NOT NULL,
    person      TEXT COLLATE "C" NOT NULL,
    agent       TEXT COLLATE "C" NOT NULL,
    model       TEXT COLLATE "C" NOT NULL,
    input       BIGINT NOT NULL,
    output      BIGINT NOT NULL,
    cache_read  BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    -- An unknown price counts as nothing.
    cost        DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (person, day, agent, model)
);
CREATE INDEX usage_of_day ON usage (day, agent);

-- The audit chain.

CREATE TABLE audit (
    person       TEXT COLLATE "C" NOT NULL,
    seq          BIGINT NOT NULL,
    ts           BIGINT NOT NULL,
    actor_kind   TEXT NOT NULL,
    actor        TEXT NOT NULL,
    agent        TEXT COLLATE "C",
    session      TEXT COLLATE "C",
    run          TEXT COLLATE "C",
    tool         TEXT,
    effect       TEXT COLLATE "C",
    decision     TEXT COLLATE "C",
    diff_summary TEXT NOT NULL,
    result       TEXT NOT NULL,
    previous     TEXT COLLATE "C" NOT NULL,
    hash         TEXT COLLATE "C" NOT NULL,
    -- The key that the row is hashed with.
    key          TEXT COLLATE "C",
    PRIMARY KEY (person, seq)
);

-- The newest row of each chain: without it, removing rows at the end would go unnoticed. Whoever adds to a chain holds
-- its row, so that one chain has one writer at a time.
CREATE TABLE audit_heads (
    person TEXT COLLATE "C" PRIMARY KEY,
    seq    BIGINT NOT NULL,
    hash   TEXT COLLATE "C" NOT NULL
);

-- Drafts, jobs, acceptances, people.

CREATE TABLE drafts (
    person        TEXT COLLATE "C" NOT NULL,
    draft         TEXT COLLATE "C" NOT NULL,
    -- Where the session's log lies, and who proposed it there.
    log_agent     TEXT COLLATE "C" NOT NULL,
    session       TEXT COLLATE "C" NOT NULL,
    agent         TEXT COLLATE "C" NOT NULL,
    run           TEXT COLLATE "C" NOT NULL,
    call          TEXT NOT NULL,
    -- JSON as the model wrote it; empty where several calls were combined.
    input         TEXT,
    tainted       BOOLEAN NOT NULL,
    -- JSON.
    plan          TEXT NOT NULL,
    hash          TEXT COLLATE "C" NOT NULL,
    state         TEXT COLLATE "C" NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    decided_at    BIGINT,
    decided_by    TEXT COLLATE "C",
    reason        TEXT,
    output        TEXT,
    origin        TEXT COLLATE "C" NOT NULL,
    superseded_by TEXT COLLATE "C",
    -- Its session's log tells of the decision.
    delivered     BOOLEAN NOT NULL,
    PRIMARY KEY (person, draft)
);
CREATE INDEX drafts_of_session ON drafts (person, session, draft);
CREATE INDEX drafts_unsettled ON drafts (expires_at) WHERE state IN ('pending', 'stale', 'applying');

CREATE TABLE jobs (
    person        TEXT COLLATE "C" NOT NULL,
    job           TEXT COLLATE "C" NOT NULL,
    accepted_hash TEXT COLLATE "C" NOT NULL,
    accepted_text TEXT NOT NULL,
    accepted_at   BIGINT NOT NULL,
    anchor        BIGINT NOT NULL,
    settled       BIGINT NOT NULL,
    paused        TEXT,
    failures      BIGINT NOT NULL,
    session       TEXT COLLATE "C",
    seen_at       BIGINT,
    PRIMARY KEY (person, job)
);

CREATE TABLE job_slots (
    person       TEXT COLLATE "C" NOT NULL,
    job          TEXT COLLATE "C" NOT NULL,
    scheduled_at BIGINT NOT NULL,
    last         BIGINT NOT NULL,
    count        BIGINT NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    trigger      TEXT COLLATE "C" NOT NULL,
    run          TEXT COLLATE "C",
    session      TEXT COLLATE "C",
    started_at   BIGINT,
    ended_at     BIGINT,
    cost         DOUBLE PRECISION,
    detail       TEXT NOT NULL,
    delivery     TEXT COLLATE "C",
    -- Who fires it.
    gateway      TEXT COLLATE "C",
    incarnation  BIGINT,
    PRIMARY KEY (person, job, scheduled_at)
);
CREATE INDEX job_slots_open ON job_slots (state, scheduled_at) WHERE state IN ('queued', 'running');
CREATE INDEX job_slots_undelivered ON job_slots (scheduled_at) WHERE delivery = 'pending';

CREATE TABLE acceptances (
    person      TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    hash        TEXT COLLATE "C" NOT NULL,
    content     TEXT NOT NULL,
    accepted_at BIGINT NOT NULL,
    PRIMARY KEY (person, kind, name)
);

CREATE TABLE people (
    person   TEXT COLLATE "C" PRIMARY KEY,
    name     TEXT,
    role     TEXT COLLATE "C" NOT NULL,
    added_at BIGINT NOT NULL
);

CREATE TABLE passwords (
    person TEXT COLLATE "C" PRIMARY KEY,
    hash   TEXT NOT NULL
);

CREATE TABLE credentials (
    credential TEXT COLLATE "C" PRIMARY KEY,
    kind       TEXT COLLATE "C" NOT NULL,
    -- Whom it may speak for, the one it means by itself first.
    people     TEXT COLLATE "C" NOT NULL,
    name       TEXT NOT NULL,
    hash       TEXT COLLATE "C" NOT NULL UNIQUE,
    grants     TEXT COLLATE "C" NOT NULL,
    parent     TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    expires_at BIGINT
);

CREATE TABLE secrets (
    person     TEXT COLLATE "C" NOT NULL,
    provider   TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    nonce      BYTEA NOT NULL,
    sealed     BYTEA NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (person, provider, name)
);

-- Where contents of files came from.

-- Held by whoever writes down something of an owner; the version grows with every such change.
CREATE TABLE origin_owners (
    owner   TEXT COLLATE "C" PRIMARY KEY,
    version BIGINT NOT NULL
);

CREATE TABLE origins (
    id     BIGINT GENERATED ALWAYS AS IDENTITY,
    owner  TEXT COLLATE "C" NOT NULL,
    path   TEXT COLLATE "C" NOT NULL,
    -- Empty: the file went.
    hash   TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    prints BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (owner, path, hash)
);
CREATE INDEX origins_of_path ON origins (owner, path, id);
CREATE INDEX origins_of_hash ON origins (owner, hash);
CREATE UNIQUE INDEX origins_by_id ON origins (id);

CREATE TABLE prints (
    owner TEXT COLLATE "C" NOT NULL,
    print BIGINT NOT NULL,
    note  BIGINT NOT NULL,
    PRIMARY KEY (owner, print, note)
);
CREATE INDEX prints_of_note ON prints (note);

CREATE TABLE foreign_names (
    owner  TEXT COLLATE "C" NOT NULL,
    path   TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, path)
);

CREATE TABLE open_commands (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL
);
CREATE INDEX open_commands_of_owner ON open_commands (owner, started_at);

-- Connectors.

CREATE TABLE connector_accounts (
    network TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    cursor  TEXT,
    PRIMARY KEY (network, account)
);

CREATE TABLE connector_peers (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network      TEXT COLLATE "C" NOT NULL,
    account      TEXT COLLATE "C" NOT NULL,
    peer         TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    name         TEXT NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    person       TEXT COLLATE "C",
    code         TEXT COLLATE "C",
    code_expires BIGINT,
    first_seen   BIGINT NOT NULL,
    last_seen    BIGINT NOT NULL,
    UNIQUE (network, account, peer)
);

CREATE TABLE connector_conversations (
    peer    BIGINT NOT NULL,
    thread  TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C",
    agent   TEXT COLLATE "C",
    model   TEXT,
    PRIMARY KEY (peer, thread)
);

CREATE TABLE connector_proposals (
    peer   BIGINT NOT NULL,
    number BIGINT NOT NULL,
    draft  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (peer, number),
    UNIQUE (peer, draft)
);

CREATE TABLE connector_inbox (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network     TEXT COLLATE "C" NOT NULL,
    account     TEXT COLLATE "C" NOT NULL,
    update_id   TEXT COLLATE "C" NOT NULL,
    peer        TEXT COLLATE "C" NOT NULL,
    message     TEXT COLLATE "C" NOT NULL,
    body        TEXT NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    not_before  BIGINT NOT NULL DEFAULT 0,
    person      TEXT COLLATE "C",
    run         TEXT COLLATE "C",
    growing     TEXT,
    why         TEXT NOT NULL DEFAULT '',
    received_at BIGINT NOT NULL,
    UNIQUE (network, account, update_id),
    UNIQUE (network, account, peer, message)
);
CREATE INDEX connector_inbox_open ON connector_inbox (network, account, id) WHERE state IN ('new', 'working');
CREATE INDEX connector_inbox_dead ON connector_inbox (network, account, id) WHERE state = 'dead';

CREATE TABLE connector_outbox (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network    TEXT COLLATE "C" NOT NULL,
    account    TEXT COLLATE "C" NOT NULL,
    peer       TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    body       TEXT NOT NULL,
    -- Sending it twice does no harm, so a send without an answer is repeated.
    repeatable BOOLEAN NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    attempts   BIGINT NOT NULL DEFAULT 0,
    not_before BIGINT NOT NULL DEFAULT 0,
    message    TEXT,
    why        TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    UNIQUE (network, account, key)
);
CREATE INDEX connector_outbox_open ON connector_outbox (network, account, id) WHERE state IN ('queued', 'sending');
CREATE INDEX connector_outbox_dead ON connector_outbox (network, account, id) WHERE state IN ('dead', 'unknown');

CREATE TABLE connector_mail (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network    TEXT COLLATE "C" NOT NULL,
    account    TEXT COLLATE "C" NOT NULL,
    peer       TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    text       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (network, account, key)
);
CREATE INDEX connector_mail_peer ON connector_mail (network, account, peer, id);

-- The derived store behind search.

CREATE TABLE chunk_epoch (id SMALLINT PRIMARY KEY CHECK (id = 0), value BIGINT NOT NULL);
INSERT INTO chunk_epoch VALUES (0, (random() * 9007199254740991)::BIGINT);

CREATE TABLE source_groups (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Empty for shared sources.
    person TEXT COLLATE "C" NOT NULL,
    scope  TEXT COLLATE "C" NOT NULL,
    kind   TEXT COLLATE "C" NOT NULL,
    UNIQUE (person, scope, kind)
);

CREATE TABLE sources (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    grp          BIGINT NOT NULL REFERENCES source_groups (id),
    person       TEXT COLLATE "C" NOT NULL,
    path         TEXT COLLATE "C" NOT NULL,
    origin       TEXT COLLATE "C" NOT NULL,
    title        TEXT NOT NULL,
    checksum     TEXT COLLATE "C" NOT NULL,
    size         BIGINT NOT NULL,
    modified     BIGINT NOT NULL,
    chunking     TEXT NOT NULL,
    problem      TEXT,
    indexed_at   BIGINT NOT NULL,
    conversation TEXT,
    dated        BIGINT,
    UNIQUE (person, path)
);

CREATE TABLE chunks (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source     BIGINT NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    start_line BIGINT NOT NULL,
    end_line   BIGINT NOT NULL,
    heading    TEXT NOT NULL,
    origin     TEXT COLLATE "C" NOT NULL,
    text       TEXT NOT NULL,
    hash       BYTEA NOT NULL,
    turn       TEXT COLLATE "C",
    author     TEXT,
    said_at    BIGINT,
    position   BIGINT
);
CREATE INDEX chunks_by_source ON chunks (source);

-- Vectors of two models fit side by side: those that serve, and those that are being made to take their place. Which room
-- is whose stands in `marks`. Little-endian f32s.
CREATE TABLE vectors (
    room   SMALLINT NOT NULL,
    chunk  BIGINT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    source BIGINT NOT NULL,
    -- Of what was embedded.
    hash   BYTEA NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (room, chunk)
);
CREATE INDEX vectors_by_hash ON vectors (room, hash);
CREATE INDEX vectors_of_chunk ON vectors (chunk);

-- The vectors of a chunk's tokens; they go with its vector.
CREATE TABLE tokens (
    room  SMALLINT NOT NULL,
    chunk BIGINT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    codes BYTEA NOT NULL,
    PRIMARY KEY (room, chunk)
);
CREATE INDEX tokens_of_chunk ON tokens (chunk);

-- As `session_changes`. `text_seq` is the number of the newest change of its text, `is_text` says that the change without
-- a number is one.
CREATE TABLE source_changes (
    source   BIGINT PRIMARY KEY,
    seq      BIGINT,
    text_seq BIGINT NOT NULL DEFAULT 0,
    is_text  BOOLEAN NOT NULL,
    noted    TIMESTAMPTZ NOT NULL
);
CREATE INDEX source_changes_by_seq ON source_changes (seq);

CREATE TABLE marks (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE facts (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chunk       BIGINT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    maker       TEXT COLLATE "C" NOT NULL,
    subject_key TEXT COLLATE "C" NOT NULL,
    subject     TEXT COLLATE "C" NOT NULL,
    relation    TEXT NOT NULL,
    object_key  TEXT COLLATE "C" NOT NULL,
    object      TEXT COLLATE "C" NOT NULL,
    is_entity   BOOLEAN NOT NULL,
    ends        BOOLEAN NOT NULL,
    line        BIGINT NOT NULL,
    said        TEXT NOT NULL,
    valid_from  BIGINT,
    valid_until BIGINT
);
CREATE INDEX facts_by_chunk ON facts (chunk);
-- Names may be longer than a tree can hold.
CREATE INDEX facts_by_subject ON facts USING hash (subject_key);
CREATE INDEX facts_by_object ON facts USING hash (object_key);

CREATE TABLE readings (
    hash  BYTEA NOT NULL,
    maker TEXT COLLATE "C" NOT NULL,
    facts TEXT NOT NULL,
    PRIMARY KEY (hash, maker)
);
