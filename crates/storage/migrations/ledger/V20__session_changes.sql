-- As before, with fewer pages written for each run. A number is the largest and one more: rows are never taken away and
-- only ever move up, so that no number is used twice. A session that a run makes has moved when that run ends.
DROP TRIGGER session_made;
DROP TRIGGER session_changed;
DROP TRIGGER session_deleted;

CREATE TABLE kept_changes (
    seq     INTEGER PRIMARY KEY,
    person  TEXT NOT NULL,
    session TEXT NOT NULL,
    UNIQUE (person, session)
) STRICT;
INSERT INTO kept_changes SELECT seq, person, session FROM session_changes;
DROP TABLE session_changes;
ALTER TABLE kept_changes RENAME TO session_changes;

CREATE TRIGGER session_made AFTER INSERT ON sessions
WHEN new.last_run IS NULL OR new.last_run_status IS NOT NULL
BEGIN
    INSERT INTO session_changes (seq, person, session)
    VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM session_changes), new.person, new.session)
    ON CONFLICT (person, session) DO UPDATE SET seq = excluded.seq;
END;

CREATE TRIGGER session_changed AFTER UPDATE OF title, origin, agent, root, last_run_status ON sessions
WHEN (new.last_run_status IS NOT NULL AND old.last_run_status IS NULL)
  OR new.title IS NOT old.title OR new.origin IS NOT old.origin
  OR new.agent IS NOT old.agent OR new.root IS NOT old.root
BEGIN
    INSERT INTO session_changes (seq, person, session)
    VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM session_changes), new.person, new.session)
    ON CONFLICT (person, session) DO UPDATE SET seq = excluded.seq;
END;

CREATE TRIGGER session_deleted AFTER DELETE ON sessions BEGIN
    INSERT INTO session_changes (seq, person, session)
    VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM session_changes), old.person, old.session)
    ON CONFLICT (person, session) DO UPDATE SET seq = excluded.seq;
END;
