-- Which gateway works on an update or sends a message, and in which of its lives: only that one says how it ended, and
-- others take over what a dead one left. Additive: rows of binaries that know version 3 have no owner.
ALTER TABLE connector_inbox
    ADD COLUMN gateway     TEXT COLLATE "C",
    ADD COLUMN incarnation BIGINT;

ALTER TABLE connector_outbox
    ADD COLUMN gateway     TEXT COLLATE "C",
    ADD COLUMN incarnation BIGINT;

UPDATE onyx_schema SET version = 4;
