-- Who answers in a session and how. Agents are ids with spaces between; empty: the one of `agent`.
ALTER TABLE sessions ADD COLUMN agents TEXT;
ALTER TABLE sessions ADD COLUMN mode TEXT NOT NULL DEFAULT 'sequential';
-- words, model or person: a person's title is never replaced by another's.
ALTER TABLE sessions ADD COLUMN titled_by TEXT NOT NULL DEFAULT 'words';

-- A list shows one of each family of forks.
CREATE INDEX sessions_family ON sessions (person, root, updated_at, session);
