-- As before, with fewer pages written for each run: a number is the largest and one more. Rows are never taken away and
-- only ever move up, so that no number is used twice.
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

CREATE TRIGGER session_made AFTER INSERT ON sessions BEGIN
    INSERT INTO session_changes (seq, person, session)
    SELECT coalesce(max(seq), 0) + 1, new.person, new.session FROM session_changes WHERE TRUE
    ON CONFLICT (person, session) DO UPDATE SET seq = excluded.seq;
END;

CREATE TRIGGER session_changed AFTER UPDATE OF title, origin, agent, root, last_run_status ON sessions
WHEN (new.last_run_status IS NOT NULL AND old.last_run_status IS NULL)
  OR new.title IS NOT old.title OR new.origin IS NOT old.origin
  OR new.agent IS NOT old.agent OR new.root IS NOT old.root
BEGIN
    INSERT INTO session_changes (seq, person, session)
    SELECT coalesce(max(seq), 0) + 1, new.person, new.session FROM session_changes WHERE TRUE
    ON CONFLICT (person, session) DO UPDATE SET seq = excluded.seq;
END;

CREATE TRIGGER session_deleted AFTER DELETE ON sessions BEGIN
    INSERT INTO session_changes (seq, person, session)
    SELECT coalesce(max(seq), 0) + 1, old.person, old.session FROM session_changes WHERE TRUE
    ON CONFLICT (person, session) DO UPDATE SET seq = excluded.seq;
END;
