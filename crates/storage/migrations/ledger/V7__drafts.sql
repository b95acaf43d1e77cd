-- What agents proposed and a person decides. A row holds exactly what will happen and its hash; it
-- is moved from state to state together with a row of the audit chain.
CREATE TABLE drafts (
    person        TEXT    NOT NULL,
    draft         TEXT    NOT NULL,
    -- Where the session's log lies, and who proposed it there.
    log_agent     TEXT    NOT NULL,
    session       TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    run           TEXT    NOT NULL,
    call          TEXT    NOT NULL,
    -- JSON as the model wrote it; empty where several calls were combined.
    input         TEXT,
    tainted       INTEGER NOT NULL,
    -- JSON.
    plan          TEXT    NOT NULL,
    hash          TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    decided_at    INTEGER,
    decided_by    TEXT,
    reason        TEXT,
    output        TEXT,
    origin        TEXT    NOT NULL,
    superseded_by TEXT,
    -- Its session's log tells of the decision.
    delivered     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (person, draft)
) STRICT, WITHOUT ROWID;

CREATE INDEX drafts_of_session ON drafts (person, session, draft);

-- What may have to be closed or has run out.
CREATE INDEX drafts_unsettled ON drafts (expires_at) WHERE state IN ('pending', 'stale', 'applying');
