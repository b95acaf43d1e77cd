-- What gateways kept in memory until now: stored responses, chats, sessions of MCP clients, keys of messages. Each kind
-- has room for every person by itself, and what belongs to nobody has the person ''. Additive: binaries that know version
-- 4 write and count only kinds without a person, and remove any entry that has ended.
ALTER TABLE pending_entries
    ADD COLUMN person TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The entries that share a room, by age.
CREATE INDEX pending_entries_of_person ON pending_entries (kind, person, made);

UPDATE onyx_schema SET version = 5;
