-- How far the updates of an account were read: what the network is asked for next.
CREATE TABLE connector_accounts (
    network TEXT NOT NULL,
    account TEXT NOT NULL,
    cursor  TEXT,
    PRIMARY KEY (network, account)
) STRICT, WITHOUT ROWID;

-- Whom an account has met: people, groups, sites.
CREATE TABLE connector_peers (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    network      TEXT    NOT NULL,
    account      TEXT    NOT NULL,
    peer         TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    -- Whose agents answer the peer; empty until somebody approves it.
    person       TEXT,
    code         TEXT,
    code_expires INTEGER,
    first_seen   INTEGER NOT NULL,
    last_seen    INTEGER NOT NULL,
    UNIQUE (network, account, peer)
) STRICT;

-- One conversation a peer and thread. The thread is empty where the network has none.
CREATE TABLE connector_conversations (
    peer    INTEGER NOT NULL,
    thread  TEXT    NOT NULL,
    session TEXT,
    agent   TEXT,
    model   TEXT,
    PRIMARY KEY (peer, thread)
) STRICT, WITHOUT ROWID;

-- Changes that were shown to a peer, by the number that `/approve N` says.
CREATE TABLE connector_proposals (
    peer   INTEGER NOT NULL,
    number INTEGER NOT NULL,
    draft  TEXT    NOT NULL,
    PRIMARY KEY (peer, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX connector_proposals_draft ON connector_proposals (peer, draft);

-- Everything that came in, each update once.
CREATE TABLE connector_inbox (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    network     TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    update_id   TEXT    NOT NULL,
    peer        TEXT    NOT NULL,
    -- The network's name for the message among those of its peer.
    message     TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    not_before  INTEGER NOT NULL DEFAULT 0,
    -- The run that answers it, promised before it is started.
    person      TEXT,
    run         TEXT,
    -- The message that grows while the run works.
    growing     TEXT,
    why         TEXT    NOT NULL DEFAULT '',
    received_at INTEGER NOT NULL,
    UNIQUE (network, account, update_id),
    UNIQUE (network, account, peer, message)
) STRICT;

CREATE INDEX connector_inbox_open ON connector_inbox (network, account, id)
    WHERE state IN ('new', 'working');
CREATE INDEX connector_inbox_dead ON connector_inbox (network, account, id) WHERE state = 'dead';

-- Everything that goes out, a row a message. The key makes a repeat of the same part impossible.
CREATE TABLE connector_outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    network    TEXT    NOT NULL,
    account    TEXT    NOT NULL,
    peer       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    -- 1: sending it twice does no harm, so a send without an answer is repeated.
    repeatable INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    message    TEXT,
    why        TEXT    NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    UNIQUE (network, account, key)
) STRICT;

CREATE INDEX connector_outbox_open ON connector_outbox (network, account, id)
    WHERE state IN ('queued', 'sending');
CREATE INDEX connector_outbox_dead ON connector_outbox (network, account, id)
    WHERE state IN ('dead', 'unknown');
