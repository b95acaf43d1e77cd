"""One round: servers, gateways, clients, faults, and the checker."""

import collections
import os
import pathlib
import random
import shutil
import tempfile
import threading
import time

import check
import gateway as gateways_of
from client import Client
from faults import FAILOVER, Faults
from servers import Database

GATEWAYS = ["one", "two", "three"]
CLIENTS = 5

# A round and its result. `record` is what the file of results gets.
Played = collections.namedtuple("Played", "record wrong folder")


def play(network, objects, binary, model, seed, seconds):
    """Plays one round. All random decisions follow from the seed, but not what the machine does at the same time."""
    dice = random.Random(seed)
    name = f"cluster{os.getpid()}x{seed}"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="onyx-cluster-"))
    folder.chmod(0o755)
    database, gateways, links = None, [], []
    try:
        database = Database(folder)
        database.sql("postgres", f"CREATE DATABASE {name}")
        # All rounds share one bucket, because each bucket takes some of SeaweedFS's volumes for good.
        bucket = f"cluster{os.getpid()}"
        objects.make_bucket(bucket)
        for gateway in GATEWAYS:
            to_database = network.link("127.0.0.1", database.port)
            to_objects = network.link(objects.host, objects.port)
            links += [to_database, to_objects]
            config = gateways_of.config(model)
            config["storage"] = gateways_of.storage(database.url(name, to_database.port), f"{bucket}/{name}", to_objects.port)
            gateways.append(gateways_of.Gateway(gateway, folder, config, binary))
            gateways[-1].to_database, gateways[-1].to_objects = to_database, to_objects
        gateways[0].run("migrate")
        for gateway in gateways:
            gateway.start()
        faults = Faults(database, name, gateways, dice, may_fail_over=dice.random() < 0.5)
        sent = talk(gateways, faults, seed, seconds)
        found = settled(database, name)
        wrong = faults.wrong + check.check(sent, found) + check.same_everywhere(gateways, sent)
        return Played(record(seed, seconds, sent, faults, wrong), wrong, folder)
    finally:
        for gateway in gateways:
            gateway.end()
        for link in links:
            link.close()
        if database:
            database.stop()


def talk(gateways, faults, seed, seconds):
    stop = threading.Event()
    clients = [Client(number, gateways, random.Random(f"{seed} {number}"), stop) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    faults.disturb(seconds)
    stop.set()
    for client in clients:
        client.join()
    return [sent for client in clients for sent in client.sent]


def settled(database, name):
    """Waits until every run has ended or had its time to end, and returns what was read back."""
    until = time.monotonic() + FAILOVER + 5
    while database.sql(name, "SELECT run FROM runs WHERE status IS NULL") and time.monotonic() < until:
        time.sleep(0.5)
    return check.read_back(database, name)


def record(seed, seconds, sent, faults, wrong):
    return {
        "seed": seed,
        "seconds": seconds,
        "messages": len(sent),
        "acknowledged": sum(message.acknowledged for message in sent),
        "faults": dict(sorted(faults.done.items())),
        "answersLost": sum(gateway.to_database.lost for gateway in faults.gateways),
        "failoverSeconds": faults.failovers,
        "drainSeconds": faults.drains,
        "violations": len(wrong),
        **({"wrong": wrong} if wrong else {}),
    }


def forget(played):
    shutil.rmtree(played.folder, ignore_errors=True)
