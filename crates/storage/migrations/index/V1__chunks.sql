-- Derived from files: this database may be deleted at any time.

-- Made once with the file; whoever follows the changes starts anew when it differs.
CREATE TABLE epoch (id INTEGER PRIMARY KEY CHECK (id = 0), value INTEGER NOT NULL) STRICT;

CREATE TABLE sources (
    id         INTEGER PRIMARY KEY,
    -- Empty for shared sources.
    person     TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,
    indexed_at INTEGER NOT NULL,
    UNIQUE (person, path)
) STRICT;

CREATE TABLE chunks (
    source     INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line   INTEGER NOT NULL,
    text       TEXT    NOT NULL,
    -- Little-endian f32s; empty until an embedder made it.
    embedding  BLOB,
    PRIMARY KEY (source, ordinal)
) STRICT, WITHOUT ROWID;

-- The newest change of each source, removed ones included. AUTOINCREMENT: a number is never used
-- twice, or a follower would miss a change.
CREATE TABLE changes (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    person TEXT NOT NULL,
    path   TEXT NOT NULL,
    UNIQUE (person, path)
) STRICT;
