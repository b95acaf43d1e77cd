-- Vectors of two models fit side by side: those that serve, and those that are being made to take
-- their place. Which table is whose stands in `marks` ('vectors 0', 'vectors 1'); 'vectors of' names
-- the model that serves.
ALTER TABLE vectors RENAME TO vectors_0;
CREATE TABLE vectors_1 (
    chunk  INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    vector BLOB NOT NULL
) STRICT;
INSERT INTO marks (name, value) SELECT 'vectors 0', value FROM marks WHERE name = 'vectors of';
