-- How many bytes the vectors of tokens take, by the table they are in. It is counted along with every change: adding all of
-- them up read past each of them.
CREATE TABLE token_bytes (
    room  INTEGER PRIMARY KEY,
    bytes INTEGER NOT NULL
) STRICT;
INSERT INTO token_bytes SELECT 0, coalesce(sum(length(codes)), 0) FROM tokens_0;
INSERT INTO token_bytes SELECT 1, coalesce(sum(length(codes)), 0) FROM tokens_1;

CREATE TRIGGER tokens_0_added AFTER INSERT ON tokens_0 BEGIN
    UPDATE token_bytes SET bytes = bytes + length(new.codes) WHERE room = 0;
END;
CREATE TRIGGER tokens_0_changed AFTER UPDATE ON tokens_0 BEGIN
    UPDATE token_bytes SET bytes = bytes + length(new.codes) - length(old.codes) WHERE room = 0;
END;
CREATE TRIGGER tokens_0_gone AFTER DELETE ON tokens_0 BEGIN
    UPDATE token_bytes SET bytes = bytes - length(old.codes) WHERE room = 0;
END;
CREATE TRIGGER tokens_1_added AFTER INSERT ON tokens_1 BEGIN
    UPDATE token_bytes SET bytes = bytes + length(new.codes) WHERE room = 1;
END;
CREATE TRIGGER tokens_1_changed AFTER UPDATE ON tokens_1 BEGIN
    UPDATE token_bytes SET bytes = bytes + length(new.codes) - length(old.codes) WHERE room = 1;
END;
CREATE TRIGGER tokens_1_gone AFTER DELETE ON tokens_1 BEGIN
    UPDATE token_bytes SET bytes = bytes - length(old.codes) WHERE room = 1;
END;
