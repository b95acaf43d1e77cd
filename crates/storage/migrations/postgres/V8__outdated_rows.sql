-- The artifact (JSON) in which the whole of a long output of an approved call is kept. It has a table of its own: gateways
-- that know version 7 have prepared statements that read all columns of `drafts` and would fail with another column.
CREATE TABLE draft_artifacts (
    person   TEXT COLLATE "C" NOT NULL,
    draft    TEXT COLLATE "C" NOT NULL,
    artifact TEXT NOT NULL,
    PRIMARY KEY (person, draft),
    FOREIGN KEY (person, draft) REFERENCES drafts (person, draft) ON DELETE CASCADE
);

-- Up to which number changes of sessions that were deleted long ago may be missing. Whoever followed the changes less far
-- looks at all sessions. Gateways that know version 7 do not look here; the followers of all gateways share one position.
INSERT INTO counters VALUES ('removed-sessions', 0);

UPDATE onyx_schema SET version = 8;
