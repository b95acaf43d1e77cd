-- Conversations are indexed by message: who said it, when, and where it stands among the others. Notes have none of it.
ALTER TABLE sources ADD COLUMN conversation TEXT;
-- The day that a note says it is of.
ALTER TABLE sources ADD COLUMN dated INTEGER;
ALTER TABLE chunks ADD COLUMN turn TEXT;
ALTER TABLE chunks ADD COLUMN author TEXT;
ALTER TABLE chunks ADD COLUMN said_at INTEGER;
ALTER TABLE chunks ADD COLUMN position INTEGER;

-- The vectors of a chunk's tokens, beside the vector of the whole: a table each for the tables of vectors. Apart from
-- these, because loading all vectors must not read past them.
CREATE TABLE tokens_0 (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    codes BLOB NOT NULL
) STRICT;
CREATE TABLE tokens_1 (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    codes BLOB NOT NULL
) STRICT;
