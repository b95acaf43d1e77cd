-- People who were added while the server ran (those of the config stand there), and the owner.
CREATE TABLE people (
    person   TEXT    NOT NULL PRIMARY KEY,
    name     TEXT,
    role     TEXT    NOT NULL,
    added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- argon2id, as its PHC string.
CREATE TABLE passwords (
    person TEXT NOT NULL PRIMARY KEY,
    hash   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE credentials (
    credential TEXT    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL,
    -- Words: whom it may speak for, the one it means by itself first.
    people     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    -- BLAKE3 of a random secret of 24 bytes or more; the secret itself is kept nowhere.
    hash       TEXT    NOT NULL UNIQUE,
    grants     TEXT    NOT NULL,
    -- What it was made with: it ends when that does. Not always a row of this table.
    parent     TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;

-- Sealed with a key that is not in the home; the names are bound into the seal.
CREATE TABLE secrets (
    person     TEXT    NOT NULL,
    provider   TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    -- Names the key, so that a restored home can say which one it lacks.
    key        TEXT    NOT NULL,
    nonce      BLOB    NOT NULL,
    sealed     BLOB    NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (person, provider, name)
) STRICT, WITHOUT ROWID;
