-- What somebody looked at and agreed to, by the hash of exactly that: skills, and the tools of other programs.
CREATE TABLE acceptances (
    person      TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    hash        TEXT    NOT NULL,
    -- What was accepted, to show what has changed since.
    content     TEXT    NOT NULL,
    accepted_at INTEGER NOT NULL,
    PRIMARY KEY (person, kind, name)
) STRICT, WITHOUT ROWID;
