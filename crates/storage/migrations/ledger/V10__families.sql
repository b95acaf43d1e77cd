-- Which sessions belong together changes only when one is made; their times change with every run,
-- and an index over those was written twice for each.
DROP INDEX sessions_family;
-- The newest first: a newer one is all that a list looks for.
CREATE INDEX sessions_family ON sessions (person, root, session DESC);
