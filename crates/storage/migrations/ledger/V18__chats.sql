-- What a person puts on their conversations, each with its forks: tags, and the page, task, ref or project that it is about
-- (the path of its file). Not part of `sessions`, which is made anew from the logs.
CREATE TABLE session_tags (
    person TEXT NOT NULL,
    root   TEXT NOT NULL,
    tag    TEXT NOT NULL,
    PRIMARY KEY (person, root, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_attachments (
    person TEXT NOT NULL,
    root   TEXT NOT NULL,
    entity TEXT NOT NULL,
    PRIMARY KEY (person, root)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_attachments_of_entity ON session_attachments (person, entity);
