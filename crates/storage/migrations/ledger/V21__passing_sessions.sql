-- The passing sessions by age, so that looking for those to delete reads no others. A session that was not used for a day
-- is older than a day, and its age never changes: an index by its last use would be written twice for each run.
CREATE INDEX sessions_passing ON sessions (created_at, person, session) WHERE origin IN ('api', 'temporary');
