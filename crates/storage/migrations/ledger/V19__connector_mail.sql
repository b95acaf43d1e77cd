-- Messages that their receiver comes to fetch: a page with our widget has no address of its own.
CREATE TABLE connector_mail (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    network    TEXT    NOT NULL,
    account    TEXT    NOT NULL,
    peer       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (network, account, key)
) STRICT;

CREATE INDEX connector_mail_peer ON connector_mail (network, account, peer, id);
