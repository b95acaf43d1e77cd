-- Words for a session that is at work: acknowledged as soon as they are here, taken out once they
-- stand in its log as the turn named here.
CREATE TABLE inbox (
    person      TEXT    NOT NULL,
    session     TEXT    NOT NULL,
    turn        TEXT    NOT NULL,
    delivery    TEXT    NOT NULL,
    -- JSON: content and view as a user turn holds them.
    words       TEXT    NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (person, session, turn)
) STRICT, WITHOUT ROWID;
