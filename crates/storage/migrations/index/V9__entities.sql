-- The people and things that facts are about, in each group. Counting all facts for every list of them took longer with
-- every fact, so they are kept.
CREATE TABLE entities (
    id        INTEGER PRIMARY KEY,
    grp       INTEGER NOT NULL REFERENCES groups (id),
    -- As in `facts`, and the name in the spelling that was used last.
    key       TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    facts     INTEGER NOT NULL,
    last_said INTEGER NOT NULL,
    UNIQUE (grp, key)
) STRICT;
CREATE INDEX entities_by_last_said ON entities (grp, last_said DESC, key);

-- Which facts were counted for which entity. A mention whose fact is gone is taken off the count before the next list.
CREATE TABLE mentions (
    id     INTEGER PRIMARY KEY,
    fact   INTEGER REFERENCES facts (id) ON DELETE SET NULL,
    entity INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    at     INTEGER NOT NULL
) STRICT;
CREATE INDEX mentions_by_fact ON mentions (fact);
CREATE INDEX mentions_by_entity ON mentions (entity, at, fact);

-- Empty until the fact is counted.
ALTER TABLE facts ADD COLUMN counted INTEGER;
CREATE INDEX facts_not_counted ON facts (counted) WHERE counted IS NULL;
