-- How many bytes the vectors of tokens take: a row for each change, which are folded into one now and then. A single row that
-- every change wrote to would make the gateways wait for each other.
CREATE TABLE token_sizes (
    id    BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    room  SMALLINT NOT NULL,
    bytes BIGINT NOT NULL
);
INSERT INTO token_sizes (room, bytes) SELECT room, sum(octet_length(codes)) FROM tokens GROUP BY room;

CREATE FUNCTION count_added_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO token_sizes (room, bytes) SELECT room, sum(octet_length(codes)) FROM added GROUP BY room;
    RETURN NULL;
END $$;
CREATE FUNCTION count_gone_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO token_sizes (room, bytes) SELECT room, -sum(octet_length(codes)) FROM gone GROUP BY room;
    RETURN NULL;
END $$;
CREATE FUNCTION count_changed_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO token_sizes (room, bytes) SELECT room, sum(octet_length(codes)) FROM added GROUP BY room;
    INSERT INTO token_sizes (room, bytes) SELECT room, -sum(octet_length(codes)) FROM gone GROUP BY room;
    RETURN NULL;
END $$;
CREATE TRIGGER tokens_added AFTER INSERT ON tokens
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_tokens();
CREATE TRIGGER tokens_changed AFTER UPDATE ON tokens
    REFERENCING NEW TABLE AS added OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_changed_tokens();
CREATE TRIGGER tokens_gone AFTER DELETE ON tokens
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_gone_tokens();

UPDATE onyx_schema SET version = 4;
