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
import job
import model
import outside as outside_of
from check_books import check_audit, check_budgets, check_fences
from check_effects import AT_REST, check_calls, check_drafts, check_kinds, check_slots
from client import Client
from drafts import Decider
from faults import FAILOVER, Faults
from read_back import Store, read_back, read_books
from rejoin import Reader, check_told
from servers import Database

GATEWAYS = ["one", "two", "three"]
CLIENTS = 5
DECIDERS = 2
READERS = 2
# In every other round logs are sealed at this size, which most conversations reach. Only debug builds know the variable.
SEALED_AT = "3000"

# A round and its result. `record` is what the file of results gets.
Played = collections.namedtuple("Played", "record wrong folder")
# What everybody who took part has seen.
Seen = collections.namedtuple("Seen", "sent decisions told")


def play(network, objects, binary, base, outside, seed, seconds):
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
            config = gateways_of.config(base, outside.url)
            config["storage"] = gateways_of.storage(database.url(name, to_database.port), f"{bucket}/{name}", to_objects.port)
            gateways.append(gateways_of.Gateway(gateway, folder, config, binary))
            gateways[-1].environment |= {"ONYX_TEST_SEALING": SEALED_AT} if seed % 2 else {}
            gateways[-1].to_database, gateways[-1].to_objects = to_database, to_objects
        gateways[0].run("migrate")
        for gateway in gateways:
            gateway.start()
        outside_of.accept(gateways[0])
        done_before = len(outside.done())
        job.begin(gateways[0])
        faults = Faults(database, name, gateways, dice, may_fail_over=dice.random() < 0.5)
        seen = take_part(gateways, faults, open_runs(database, name), seed, seconds)
        job.end(gateways, check.asked)
        come_to_rest(database, name)
        store = Store(objects.host, objects.port, f"{bucket}/{name}")
        found, books = read_back(database, name, store), read_books(database, name)
        wrong = faults.wrong + check.check(seen.sent, found) + check.same_everywhere(gateways, seen.sent)
        wrong += judge(seen, found, books, outside.done()[done_before:]) + check_audit(gateways, check.asked)
        return Played(record(seed, seconds, seen, books, faults, wrong), wrong, folder)
    finally:
        for gateway in gateways:
            gateway.end()
        for link in links:
            link.close()
        if database:
            database.stop()


def open_runs(database, name):
    """Returns a function that names the runs at work; none while the database fails over."""

    def look():
        try:
            return database.sql(name, "SELECT run FROM runs WHERE status IS NULL")
        except RuntimeError:
            return []

    return look


def take_part(gateways, faults, open_runs, seed, seconds):
    stop, dice = threading.Event(), lambda name: random.Random(f"{seed} {name}")
    clients = [Client(number, gateways, dice(number), stop) for number in range(CLIENTS)]
    deciders = [Decider(number, gateways, dice(f"decider {number}"), stop) for number in range(DECIDERS)]
    readers = [Reader(gateways, dice(f"reader {number}"), stop, open_runs) for number in range(READERS)]
    everybody = [*clients, *deciders, *readers, job.Keeper(gateways, dice("keeper"), stop)]
    for one in everybody:
        one.start()
    faults.disturb(seconds)
    stop.set()
    for one in everybody:
        one.join()
    return Seen(*([seen for one in group for seen in seen_by(one)] for group, seen_by in [
        (clients, lambda client: client.sent), (deciders, lambda decider: decider.decisions), (readers, lambda reader: reader.told)]))  # fmt: skip


def come_to_rest(database, name):
    """Waits until everything has ended or had its time to end: runs, drafts that are applied, times of the job."""
    rest = ", ".join(f"'{state}'" for state in sorted(AT_REST))
    busy = f"""SELECT run FROM runs WHERE status IS NULL UNION ALL SELECT draft FROM drafts WHERE state = 'applying'
               UNION ALL SELECT job FROM job_slots WHERE state NOT IN ({rest})"""
    until = time.monotonic() + 2 * FAILOVER
    while database.sql(name, " ".join(busy.split())) and time.monotonic() < until:
        time.sleep(0.5)


def judge(seen, found, books, calls):
    wrong = check_kinds(seen.sent) + check_calls(seen.sent, calls) + check_drafts(seen.decisions, books.drafts, calls)
    wrong += check_slots(books.slots, books.runs, calls) + check_budgets(seen.sent, books, model.GIVEN)
    return wrong + check_fences(found.logs, books, calls) + check_told(seen.told, found.logs)


def record(seed, seconds, seen, books, faults, wrong):
    sent = seen.sent
    return {
        "seed": seed,
        "seconds": seconds,
        "messages": len(sent),
        "acknowledged": sum(message.acknowledged for message in sent),
        "faults": dict(sorted(faults.done.items())),
        "answersLost": sum(gateway.to_database.lost for gateway in faults.gateways),
        "storeRefused": sum(gateway.to_objects.refused for gateway in faults.gateways),
        "draftsDecided": sum(decision.acknowledged for decision in seen.decisions),
        "jobTimesFired": sum(slot["run"] is not None for slot in books.slots),
        "runsFollowed": sum(told.status is not None for told in seen.told),
        "failoverSeconds": faults.failovers,
        "drainSeconds": faults.drains,
        "violations": len(wrong),
        **({"wrong": wrong} if wrong else {}),
    }


def forget(played):
    shutil.rmtree(played.folder, ignore_errors=True)
