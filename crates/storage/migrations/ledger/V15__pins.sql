-- Conversations that a person keeps at the top of the list, each with its forks. Not part of `sessions`, which is made anew
-- from the logs.
CREATE TABLE pins (
    person TEXT NOT NULL,
    root   TEXT NOT NULL,
    PRIMARY KEY (person, root)
) STRICT, WITHOUT ROWID;
