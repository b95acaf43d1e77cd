-- The newest change of each session, deleted ones included: whoever follows sessions reads what moved since it last looked
-- instead of all of them. A run that begins is no change, its end is. AUTOINCREMENT: a number is never used twice.
CREATE TABLE session_changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    person  TEXT NOT NULL,
    session TEXT NOT NULL,
    UNIQUE (person, session)
) STRICT;

-- Made once with the table: sequences of another file mean nothing.
CREATE TABLE session_epoch (id INTEGER PRIMARY KEY CHECK (id = 0), value INTEGER NOT NULL) STRICT;
INSERT INTO session_epoch VALUES (0, abs(random() % 9007199254740992));

CREATE TRIGGER session_made AFTER INSERT ON sessions BEGIN
    DELETE FROM session_changes WHERE person = new.person AND session = new.session;
    INSERT INTO session_changes (person, session) VALUES (new.person, new.session);
END;

CREATE TRIGGER session_changed AFTER UPDATE OF title, origin, agent, root, last_run_status ON sessions
WHEN (new.last_run_status IS NOT NULL AND old.last_run_status IS NULL)
  OR new.title IS NOT old.title OR new.origin IS NOT old.origin
  OR new.agent IS NOT old.agent OR new.root IS NOT old.root
BEGIN
    DELETE FROM session_changes WHERE person = new.person AND session = new.session;
    INSERT INTO session_changes (person, session) VALUES (new.person, new.session);
END;

CREATE TRIGGER session_deleted AFTER DELETE ON sessions BEGIN
    DELETE FROM session_changes WHERE person = old.person AND session = old.session;
    INSERT INTO session_changes (person, session) VALUES (old.person, old.session);
END;
