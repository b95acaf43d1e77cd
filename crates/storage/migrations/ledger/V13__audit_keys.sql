-- The key that a row is hashed with; rows from before there was one have none.
ALTER TABLE audit ADD COLUMN key TEXT;
