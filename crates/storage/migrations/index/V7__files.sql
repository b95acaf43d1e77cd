-- A person's files are found without reading past the sources of all conversations.
CREATE INDEX sources_of_group ON sources (grp);
