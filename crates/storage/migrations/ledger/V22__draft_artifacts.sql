-- The artifact (JSON) in which the whole of a long output of an approved call is kept. The tables of server mode have it
-- apart from `drafts` for the sake of older gateways, and a home is moved there table by table.
CREATE TABLE draft_artifacts (
    person   TEXT NOT NULL,
    draft    TEXT NOT NULL,
    artifact TEXT NOT NULL,
    PRIMARY KEY (person, draft)
) STRICT, WITHOUT ROWID;
