-- Ids are kept as text: a person with the sqlite3 shell must be able to read this file.

CREATE TABLE sessions (
    person          TEXT    NOT NULL,
    session         TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    origin          TEXT    NOT NULL,
    title           TEXT,
    status          TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    message_count   INTEGER NOT NULL,
    token_count     INTEGER NOT NULL,
    preview         TEXT    NOT NULL,
    root            TEXT    NOT NULL,
    fork_turn       TEXT,
    last_run        TEXT,
    last_run_status TEXT,
    PRIMARY KEY (person, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_newest ON sessions (person, updated_at DESC, session DESC);

CREATE TABLE runs (
    run        TEXT    NOT NULL PRIMARY KEY,
    person     TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    input_turn TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    -- Empty while it works.
    status     TEXT,
    -- 1 while it works: what recovery looks for.
    active     INTEGER NOT NULL CHECK (active = (status IS NULL)),
    input      INTEGER NOT NULL DEFAULT 0,
    output     INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    cost       REAL
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_active ON runs (started_at) WHERE active = 1;

-- An input is run again only after a run of it went wrong.
CREATE UNIQUE INDEX runs_once ON runs (person, session, input_turn)
    WHERE status IS NULL OR status IN ('done', 'awaiting_client');

CREATE TABLE spending (
    person TEXT NOT NULL,
    -- UTC, YYYY-MM-DD.
    day    TEXT NOT NULL,
    cost   REAL NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (person, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    person       TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    ts           INTEGER NOT NULL,
    actor_kind   TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    agent        TEXT,
    session      TEXT,
    run          TEXT,
    tool         TEXT,
    effect       TEXT,
    decision     TEXT,
    diff_summary TEXT    NOT NULL,
    result       TEXT    NOT NULL,
    previous     TEXT    NOT NULL,
    hash         TEXT    NOT NULL,
    PRIMARY KEY (person, seq)
) STRICT, WITHOUT ROWID;

-- The newest row of each chain: without it, removing rows at the end would go unnoticed.
CREATE TABLE audit_heads (
    person TEXT    NOT NULL PRIMARY KEY,
    seq    INTEGER NOT NULL,
    hash   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER audit_is_append_only_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END;

CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'audit rows are never removed'); END;
