-- Where contents of files came from, by owner (a person's or an agent's folder) and path. A row is about one content of
-- one file; an empty hash: the file went. The newest row of a path tells what its content was made from.
CREATE TABLE origins (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    owner  TEXT    NOT NULL,
    path   TEXT    NOT NULL,
    hash   TEXT    NOT NULL,
    origin TEXT    NOT NULL,
    -- How many prints of its text are kept.
    prints INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    UNIQUE (owner, path, hash)
);
CREATE INDEX origins_of_path ON origins (owner, path, id);
CREATE INDEX origins_of_hash ON origins (owner, hash);

-- Some of the prints of a foreign text, by which what was made of it is known again.
CREATE TABLE prints (
    owner TEXT    NOT NULL,
    print INTEGER NOT NULL,
    note  INTEGER NOT NULL,
    PRIMARY KEY (owner, print, note)
) WITHOUT ROWID;
CREATE INDEX prints_of_note ON prints (note);

-- Files and folders that somebody else than the person named, until the person accepts one of them.
CREATE TABLE foreign_names (
    owner  TEXT NOT NULL,
    path   TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (owner, path)
) WITHOUT ROWID;

-- Commands that may change files and of which nobody has written down yet what they changed.
CREATE TABLE open_commands (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    owner      TEXT    NOT NULL,
    started_at INTEGER NOT NULL
);
