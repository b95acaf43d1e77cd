-- The people and things that facts are about, in each group. Counting all facts for every list of them took longer with
-- every fact, so they are kept. Additive: binaries that know version 5 write facts as before. Their new facts are not
-- counted, and the mentions of those that they delete lose their fact; both are counted before the next list.
CREATE TABLE entities (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    grp       BIGINT NOT NULL REFERENCES source_groups (id),
    -- As in `facts`, and the name in the spelling that was used last.
    key       TEXT COLLATE "C" NOT NULL,
    -- Names may be longer than a tree can hold.
    key_hash  BYTEA NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    facts     BIGINT NOT NULL,
    last_said BIGINT NOT NULL,
    UNIQUE (grp, key_hash)
);
CREATE INDEX entities_by_last_said ON entities (grp, last_said DESC, left(key, 100));

-- Which facts were counted for which entity.
CREATE TABLE mentions (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fact   BIGINT REFERENCES facts (id) ON DELETE SET NULL,
    entity BIGINT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    at     BIGINT NOT NULL
);
CREATE INDEX mentions_by_fact ON mentions (fact);
CREATE INDEX mentions_by_entity ON mentions (entity, at, fact);

-- Empty until the fact is counted.
ALTER TABLE facts ADD COLUMN counted BOOLEAN;
CREATE INDEX facts_not_counted ON facts (id) WHERE counted IS NULL;

INSERT INTO counters VALUES ('entities', 0);

UPDATE onyx_schema SET version = 6;
