-- What gateways kept in memory until now: sign-ins that wait, counts of wrong passwords, and what each gateway says of
-- itself. Additive: binaries that know version 1 go on working beside newer ones.
UPDATE onyx_schema SET version = 2;

-- Sign-in links, pairings and sign-ins under way, each taken once. Expired ones are removed by the sweep.
CREATE TABLE pending_entries (
    kind  TEXT COLLATE "C" NOT NULL,
    key   TEXT COLLATE "C" NOT NULL,
    value TEXT NOT NULL,
    made  TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    until TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (kind, key)
);

-- Until when wrong passwords are held against a name or a network. Keys are hashes.
CREATE TABLE failure_counts (
    key   TEXT COLLATE "C" PRIMARY KEY,
    until TIMESTAMPTZ NOT NULL
);

-- Networks from which the owner of a name has signed in before.
CREATE TABLE known_networks (
    name    TEXT COLLATE "C" NOT NULL,
    network TEXT COLLATE "C" NOT NULL,
    seen    TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (name, network)
);

INSERT INTO counters VALUES ('sign-ins', 0);

-- Shown to the owner. A gateway that is asked to drain gives back what it holds and serves no more until it is restarted.
ALTER TABLE gateways
    ADD COLUMN version     TEXT NOT NULL DEFAULT '',
    ADD COLUMN since       TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN beaten      TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN drain_asked BOOLEAN NOT NULL DEFAULT FALSE,
    ADD COLUMN drained     TIMESTAMPTZ;
