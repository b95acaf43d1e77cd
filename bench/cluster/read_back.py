"""Reads what a round left, from the database and the object store themselves."""

import collections
import gzip
import hashlib
import http.client
import json

# A line of a log: its number, its position, its length, and the turn.
Line = collections.namedtuple("Line", "seq pos size turn")
# Conversations. `logs`: lines by session; `memory`: what tools wrote; `ends`: by session, where the database says that the next
# line goes; `open_runs`: runs without an end.
Found = collections.namedtuple("Found", "logs memory ends open_runs")
# Ledgers, each row as a dictionary by column. A run has the `origin` of its session.
Books = collections.namedtuple("Books", "runs usage drafts slots audit")

CREDENTIAL = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=none"


class Store:
    """The object store under the prefix of one round, as its own client."""

    def __init__(self, host, port, prefix):
        self.host, self.port, self.prefix = host, port, prefix

    def get(self, person, sha256):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        connection.request("GET", f"/{self.prefix}/onyx/blobs/{person}/{sha256}", headers={"authorization": CREDENTIAL})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"object {sha256} of {person}: {answer.status}"
        assert hashlib.sha256(body).hexdigest() == sha256, f"object {sha256} of {person} holds something else"
        return body


def rows(database, name, select):
    return [json.loads(line) for line in database.sql(name, f"SELECT row_to_json(found) FROM ({' '.join(select.split())}) found")]


def read_back(database, name, store):
    logs = collections.defaultdict(list)
    segments = "SELECT person, session, first_seq, first_pos, end_pos, sha256 FROM segments ORDER BY session, first_pos"
    for segment in rows(database, name, segments):
        logs[segment["session"]] += sealed_lines(segment, gzip.decompress(store.get(segment["person"], segment["sha256"])))
    turns = """SELECT session, seq, pos, octet_length(line) AS size, convert_from(line, 'UTF8') AS line
               FROM turns ORDER BY session, pos"""
    for row in rows(database, name, turns):
        logs[row["session"]].append(Line(row["seq"], row["pos"], row["size"], json.loads(row["line"])))
    memory = "SELECT convert_from(bytes, 'UTF8') FROM files WHERE path LIKE '%/MEMORY.md' AND bytes IS NOT NULL"
    ends = rows(database, name, "SELECT session, next_seq, next_pos FROM session_log WHERE next_pos > 0")
    ends = {row["session"]: (row["next_seq"], row["next_pos"]) for row in ends}
    open_runs = database.sql(name, "SELECT run FROM runs WHERE status IS NULL")
    return Found(logs, "\n".join(database.sql(name, memory)), ends, open_runs)


def sealed_lines(segment, lines):
    """Returns the lines of a segment; where they do not end as the segment says, the next line does not follow the last one."""
    seq, pos, found = segment["first_seq"], segment["first_pos"], []
    for line in lines.splitlines(keepends=True):
        found.append(Line(seq, pos, len(line), json.loads(line)))
        seq, pos = seq + 1, pos + len(line)
    if pos != segment["end_pos"]:
        found.append(Line(seq, pos, segment["end_pos"] - pos, {"id": f"missing at {pos}", "type": "missing"}))
    return found


def read_books(database, name):
    return Books(
        rows(database, name, "SELECT runs.*, origin FROM runs JOIN sessions USING (person, session)"),
        rows(database, name, "SELECT * FROM usage"),
        rows(database, name, "SELECT draft, run, session, input, state, decided_at FROM drafts"),
        rows(database, name, "SELECT * FROM job_slots"),
        rows(database, name, "SELECT seq, ts, run, tool, decision, result FROM audit ORDER BY seq"),
    )
