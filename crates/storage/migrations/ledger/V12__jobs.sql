-- What is known of a job beside its file. A job fires only while its file has the accepted hash.
CREATE TABLE jobs (
    person        TEXT    NOT NULL,
    job           TEXT    NOT NULL,
    accepted_hash TEXT    NOT NULL,
    -- What the person accepted, to show what has changed since.
    accepted_text TEXT    NOT NULL,
    accepted_at   INTEGER NOT NULL,
    -- `every` counts from here.
    anchor        INTEGER NOT NULL,
    -- Every slot up to this time is settled.
    settled       INTEGER NOT NULL,
    -- Why it is paused; empty while it is not.
    paused        TEXT,
    failures      INTEGER NOT NULL DEFAULT 0,
    -- The conversation that all its runs go on with, where it keeps one.
    session       TEXT,
    -- When the person last looked at what became of it.
    seen_at       INTEGER,
    PRIMARY KEY (person, job)
) STRICT, WITHOUT ROWID;

-- One row a slot; slots that nobody fired in a row of one reason share one, from `scheduled_at` to `last`.
CREATE TABLE job_slots (
    person       TEXT    NOT NULL,
    job          TEXT    NOT NULL,
    scheduled_at INTEGER NOT NULL,
    last         INTEGER NOT NULL,
    count        INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    trigger      TEXT    NOT NULL,
    run          TEXT,
    session      TEXT,
    started_at   INTEGER,
    ended_at     INTEGER,
    cost         REAL,
    detail       TEXT    NOT NULL,
    -- Empty where there is nothing to deliver.
    delivery     TEXT,
    PRIMARY KEY (person, job, scheduled_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_slots_open ON job_slots (state, scheduled_at) WHERE state IN ('queued', 'running');
CREATE INDEX job_slots_undelivered ON job_slots (scheduled_at) WHERE delivery = 'pending';

-- Sessions in which something was answered since the person last read them. Not part of `sessions`,
-- which is made anew from the logs.
CREATE TABLE unread (
    person  TEXT    NOT NULL,
    session TEXT    NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (person, session)
) STRICT, WITHOUT ROWID;
