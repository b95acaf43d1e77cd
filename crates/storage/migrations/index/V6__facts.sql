-- What texts say of somebody or something. Each fact goes with the chunk that says it.
CREATE TABLE facts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk         INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    -- Who found it in the text: 'rules', or a model.
    maker         TEXT    NOT NULL,
    -- Keys are names in one spelling, by which they are compared.
    subject_key   TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    relation      TEXT    NOT NULL,
    object_key    TEXT    NOT NULL,
    object        TEXT    NOT NULL,
    is_entity     INTEGER NOT NULL,
    ends          INTEGER NOT NULL,
    line          INTEGER NOT NULL,
    said          TEXT    NOT NULL,
    valid_from    INTEGER,
    valid_until   INTEGER
) STRICT;
CREATE INDEX facts_by_chunk ON facts (chunk);
CREATE INDEX facts_by_subject ON facts (subject_key);
CREATE INDEX facts_by_object ON facts (object_key);

-- What a model found in a text, by the text: nobody pays twice for the same one.
CREATE TABLE readings (
    hash  BLOB NOT NULL,
    maker TEXT NOT NULL,
    facts TEXT NOT NULL,
    PRIMARY KEY (hash, maker)
) STRICT, WITHOUT ROWID;
