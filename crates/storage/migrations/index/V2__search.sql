-- Everything here is derived: made anew rather than converted.
DROP TABLE chunks;
DROP TABLE sources;
DROP TABLE changes;
DELETE FROM epoch;

-- Sources that the same searches may see.
CREATE TABLE groups (
    id     INTEGER PRIMARY KEY,
    -- Empty for shared sources.
    person TEXT NOT NULL,
    scope  TEXT NOT NULL,
    kind   TEXT NOT NULL,
    UNIQUE (person, scope, kind)
) STRICT;

-- AUTOINCREMENT throughout: a follower may still know the number of what is gone.
CREATE TABLE sources (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    grp        INTEGER NOT NULL REFERENCES groups (id),
    person     TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    modified   INTEGER NOT NULL,
    chunking   TEXT    NOT NULL,
    problem    TEXT,
    indexed_at INTEGER NOT NULL,
    UNIQUE (person, path)
) STRICT;

CREATE TABLE chunks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    source     INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    start_line INTEGER NOT NULL,
    end_line   INTEGER NOT NULL,
    heading    TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    hash       BLOB    NOT NULL
) STRICT;
CREATE INDEX chunks_by_source ON chunks (source);
CREATE INDEX chunks_by_hash ON chunks (hash);

-- Apart from the texts, so that neither is read past for the other. Little-endian f32s.
CREATE TABLE vectors (
    chunk  INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    vector BLOB NOT NULL
) STRICT;

-- The newest change of each source, removed ones included.
CREATE TABLE changes (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    source   INTEGER NOT NULL UNIQUE,
    text_seq INTEGER NOT NULL
) STRICT;

CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
