"""PostgreSQL with a synchronous standby, and an S3 store, for one round or one bench."""

import fcntl
import os
import pathlib
import shutil
import socket
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def program(name):
    found = shutil.which(name)
    return found or str(max(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))


class Objects:
    """The S3 server of scripts/test-servers: SeaweedFS, or else moto. It runs as long as this object lives."""

    def __init__(self, kind="seaweedfs"):
        environment = os.environ | {"ONYX_TEST_OBJECTS": kind}
        told = subprocess.run([ROOT / "scripts/test-servers"], stdout=subprocess.PIPE, text=True, check=True, env=environment)
        _, address, lock, _ = told.stdout.split()
        self.host, port = address.split(":")
        self.port = int(port)
        self.lock = open(lock, "r+")
        fcntl.flock(self.lock, fcntl.LOCK_SH)
        # The store that was actually started.
        self.name = "SeaweedFS" if kind == "seaweedfs" and (pathlib.Path(lock).parent / "seaweedfs").is_dir() else "moto"

    def make_bucket(self, name):
        import http.client

        connection = http.client.HTTPConnection(self.host, self.port)
        credential = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=none"
        connection.request("PUT", f"/{name}", headers={"authorization": credential})
        assert connection.getresponse().status in (200, 409), "the bucket could not be made"


class Database:
    """A PostgreSQL server in a scratch folder, as an unprivileged user. Its standby, if any, has all that was acknowledged."""

    def __init__(self, folder, with_standby=True, settings=()):
        self.folder = folder / "database"
        self.folder.mkdir(mode=0o755)
        self.settings = list(settings)
        self.port, self.standby_port = free_port(), None
        self.as_user(os.chown, self.folder)
        initdb = ["--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        self.run("initdb", "--pgdata", self.folder / "one", *initdb)
        self.start("one", self.port, ["synchronous_standby_names=*"] if with_standby else [])
        self.alive = {"one"}
        if with_standby:
            self.standby_port = free_port()
            where = ["--host", "127.0.0.1", "--port", str(self.port), "--username", "postgres"]
            self.run("pg_basebackup", "--pgdata", self.folder / "two", "--write-recovery-conf", "--checkpoint", "fast", "--no-sync", *where)
            self.start("two", self.standby_port, [])
            self.alive.add("two")

    def as_user(self, change, path):
        if os.getuid() == 0:
            change(path, NOBODY, NOBODY)

    def run(self, name, *arguments):
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        with open(self.folder.parent / "database.log", "a", encoding="utf-8") as log:
            command = [program(name), *map(str, arguments)]
            done = subprocess.run(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, check=False, **user)
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {(self.folder.parent / 'database.log').read_text()[-2000:]}")

    def start(self, name, port, more):
        # The rounds kill processes and not machines, so what was written survives without a sync.
        settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}", "fsync=off", "max_connections=200",
                    "shared_buffers=64MB", "max_wal_senders=4", "log_lock_waits=on", "deadlock_timeout=500ms", *self.settings, *more]  # fmt: skip
        options = " ".join([f"-p {port}", *(f"-c '{setting}'" for setting in settings)])
        self.run("pg_ctl", "--pgdata", self.folder / name, "--log", self.folder / f"{name}.log", "--wait", "--silent", "start", "-o", options)

    def fail_over(self):
        """Stops the server at once and promotes its standby. Returns the new port."""
        self.run("pg_ctl", "--pgdata", self.folder / "one", "--mode", "immediate", "--silent", "stop")
        self.alive.discard("one")
        self.run("pg_ctl", "--pgdata", self.folder / "two", "--wait", "--silent", "promote")
        self.port = self.standby_port
        return self.port

    def stop(self):
        for name in list(self.alive):
            self.run("pg_ctl", "--pgdata", self.folder / name, "--mode", "immediate", "--silent", "stop")
            self.alive.discard(name)

    def url(self, name, port=None):
        return f"postgres://postgres@127.0.0.1:{port or self.port}/{name}"

    def sql(self, name, statement):
        command = [program("psql"), "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, self.url(name)]
        told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if told.returncode != 0:
            raise RuntimeError(told.stderr)
        return [line for line in told.stdout.splitlines() if line]
