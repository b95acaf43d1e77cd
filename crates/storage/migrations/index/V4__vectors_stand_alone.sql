-- A vector says itself whose it is and what it was made of: reading all of them does not read past
-- every text, and what a new chunk says is only looked up where there are vectors to take over. The
-- index of all hashes, each in a place of its own, was most of what indexing wrote.
CREATE TABLE known_0 (
    chunk  INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    source INTEGER NOT NULL,
    -- Of what was embedded.
    hash   BLOB    NOT NULL,
    vector BLOB    NOT NULL
) STRICT;
CREATE TABLE known_1 (
    chunk  INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    source INTEGER NOT NULL,
    hash   BLOB    NOT NULL,
    vector BLOB    NOT NULL
) STRICT;
INSERT INTO known_0 SELECT chunk, source, hash, vector FROM vectors_0 JOIN chunks ON id = chunk;
INSERT INTO known_1 SELECT chunk, source, hash, vector FROM vectors_1 JOIN chunks ON id = chunk;
DROP TABLE vectors_0;
DROP TABLE vectors_1;
ALTER TABLE known_0 RENAME TO vectors_0;
ALTER TABLE known_1 RENAME TO vectors_1;
CREATE INDEX vectors_0_by_hash ON vectors_0 (hash);
CREATE INDEX vectors_1_by_hash ON vectors_1 (hash);
DROP INDEX chunks_by_hash;
