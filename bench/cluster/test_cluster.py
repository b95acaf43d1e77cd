"""Tests that the checker finds each violation in a history that has it, and that links do to bytes what they are set to."""

import pathlib
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import results
from check import check
from read_back import Found, Line
from client import Sent
from cost import Trips
from faults import drain_time
from proxy import Connection, Link, Network

FINE, LOST = Sent("a1", "note", True, "r", True), Sent("b2", "word", False, "q", False)


def lines(*turns):
    """Returns a log of turns of ten bytes each: a kind, a run, and a text."""
    return [Line(i, 10 * i, 10, {"id": f"t{i}", "type": kind, "run_id": run, "content": text}) for i, (kind, run, text) in enumerate(turns)]


LOG = lines(("user", "r", "please a1"), ("assistant_text", "r", "said"), ("run_end", "r", ""))


def found(log=LOG, memory="- kept-a1\n", end=(3, 30), open_runs=(), more=()):
    return Found({"s": log, **dict(more)}, memory, {"s": end} | {s: (len(m), 10 * len(m)) for s, m in more}, list(open_runs))


class Checker(unittest.TestCase):
    def assert_found(self, part, sent, what):
        self.assertTrue(any(part in wrong for wrong in check(sent, what)), check(sent, what))

    def test_a_history_without_faults_is_fine(self):
        self.assertEqual(check([FINE, LOST], found()), [])

    def test_what_was_acknowledged_and_is_not_there(self):
        self.assert_found("is there 0 times", [FINE], found(lines(("user", "r", "else"), ("run_end", "r", "")), end=(2, 20)))
        self.assert_found("its tool wrote 0 times", [FINE], found(memory=""))

    def test_what_a_tool_said_of_its_write(self):
        self.assert_found("its tool wrote 1 times", [FINE._replace(wrote=False)], found())
        unsure = FINE._replace(wrote=None)
        self.assertEqual(check([unsure], found()) + check([unsure], found(memory="")), [])
        self.assert_found("written 2 times", [unsure], found(memory="kept-a1 kept-a1"))

    def test_what_is_there_twice(self):
        twice = [*LOG, Line(3, 30, 10, {"id": "t9", "type": "user", "run_id": "z", "content": "please a1"})]
        self.assert_found("is there 2 times", [FINE], found(twice, end=(4, 40)))
        self.assert_found("written 2 times", [FINE], found(memory="kept-a1 kept-a1"))
        b2 = lines(("user", "q", "b2"))
        self.assert_found("b2 is there 2 times", [LOST], found(more=[("u", b2), ("v", b2)]))

    def test_a_turn_that_was_appended_again(self):
        again = [*LOG, LOG[1]._replace(seq=3, pos=30)]
        self.assert_found("turn t1 is there 2 times", [], found(again, end=(4, 40)))

    def test_gaps(self):
        self.assert_found("follows line 0", [], found([LOG[0], LOG[2]]))
        self.assert_found("follows line 1", [], found([*LOG[:2], LOG[2]._replace(seq=1)], end=(2, 30)))
        self.assert_found("the database says", [], found(end=(5, 50)))

    def test_a_run_that_goes_on_after_its_end(self):
        late = [*LOG, Line(3, 30, 10, {"id": "t3", "type": "assistant_text", "run_id": "r"})]
        self.assert_found("after its end", [], found(late, end=(4, 40)))

    def test_a_run_without_an_end(self):
        self.assert_found("r9 has no end", [], found(open_runs=["r9"]))


class Draining(unittest.TestCase):
    def test_answers_under_way_are_not_counted(self):
        self.assertEqual(drain_time(10, 4, 12), 2)
        self.assertEqual(drain_time(10, 11.5, 12), 0.5)
        self.assertEqual(drain_time(10, 30, 12), 0)


class Links(unittest.TestCase):
    def setUp(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.heard = []
        threading.Thread(target=self.echo, daemon=True).start()
        self.link = Network().link("127.0.0.1", self.server.getsockname()[1])
        self.client = socket.create_connection(("127.0.0.1", self.link.port), timeout=5)

    def tearDown(self):
        self.client.close()
        self.server.close()
        self.link.close()

    def echo(self):
        taken, _ = self.server.accept()
        with taken:
            while piece := taken.recv(1000):
                self.heard.append(piece)
                taken.sendall(piece)

    def wait_until(self, holds):
        until = time.monotonic() + 5
        while not holds() and time.monotonic() < until:
            time.sleep(0.01)
        self.assertTrue(holds())

    def ask(self, text):
        self.client.sendall(text)
        return self.client.recv(1000)

    def test_what_is_held_arrives_later(self):
        self.assertEqual(self.ask(b"one"), b"one")
        self.link.hold()
        self.client.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            self.ask(b"two")
        self.assertEqual(self.heard, [b"one"])
        self.link.release()
        self.client.settimeout(5)
        self.assertEqual(self.client.recv(1000), b"two")

    def test_a_link_is_held_from_a_mark_on(self):
        self.link.hold_from(b"turn")
        self.assertEqual(self.ask(b"other"), b"other")
        self.client.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            self.ask(b"a turn")
        self.wait_until(self.link.is_held)
        self.assertEqual(self.heard, [b"other"])
        self.link.release()
        self.client.settimeout(5)
        self.assertEqual(self.client.recv(1000), b"a turn")

    def test_an_answer_is_lost_after_the_server_had_the_request(self):
        self.link.lose_answers(1, b"turn")
        self.assertEqual(self.ask(b"other"), b"other")
        with self.assertRaises(ConnectionError):
            if self.ask(b"a turn") == b"":
                raise ConnectionError
        self.assertEqual(self.heard[-1], b"a turn")

    def test_a_half_closed_link_goes_on_in_the_other_direction(self):
        self.assertEqual(self.ask(b"one"), b"one")
        self.link.half_close("client")
        self.assertEqual(self.client.recv(1000), b"")
        self.client.sendall(b"two")
        self.wait_until(lambda: self.heard == [b"one", b"two"])

    def test_a_server_whose_side_is_half_closed_hears_no_more(self):
        self.assertEqual(self.ask(b"one"), b"one")
        self.link.half_close("server")
        # The server ends when it hears the end, and its end reaches the client.
        self.assertEqual(self.client.recv(1000), b"")
        self.assertEqual(self.heard, [b"one"])

    def test_a_link_that_refuses_answers_by_itself(self):
        self.link.refuse(True)
        answer = self.ask(b"GET / HTTP/1.1\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 503 "), answer)
        self.assertEqual(self.client.recv(1000), b"")
        self.assertEqual((self.heard, self.link.refused), ([], 1))

    def test_a_cut_link_ends_its_connections(self):
        self.assertEqual(self.ask(b"one"), b"one")
        self.link.cut()
        with self.assertRaises(ConnectionError):
            if self.client.recv(1000) == b"":
                raise ConnectionError


class Counting(unittest.TestCase):
    def test_what_is_sent_before_the_answer_is_of_the_same_trip(self):
        message = lambda letter, body=b"": letter + (len(body) + 4).to_bytes(4, "big") + body
        link = Link("127.0.0.1", 1)
        trips, connection = Trips(link), Connection(None, None)
        link.watcher(connection, (8).to_bytes(4, "big") + b"hey!")
        link.answer_watcher(connection, message(b"R", b"0000") + message(b"Z", b"I"))
        query = message(b"B", b"SQ") + message(b"E") + message(b"S")
        link.watcher(connection, query[:9])
        self.assertEqual(trips.count, 0)
        link.watcher(connection, query[9:] + query)
        self.assertEqual((trips.count, trips.statements), (1, 2))
        link.answer_watcher(connection, message(b"Z", b"I") * 2)
        link.watcher(connection, message(b"Q", b"COMMIT"))
        self.assertEqual((trips.count, trips.statements), (2, 3))


class Results(unittest.TestCase):
    def test_rounds_go_on_from_the_next_seed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cluster.json"
            played = {"messages": 5, "acknowledged": 4, "faults": {"kill": 2}, "answersLost": 1, "drainSeconds": [], "violations": 0}
            self.assertEqual(results.next_seed(results.read(path)), 1)
            results.add(path, {"seed": 1, "failoverSeconds": [12.0], **played})
            results.add(path, {"seed": 2, "failoverSeconds": [14.0], **played})
            rounds = results.read(path)
            self.assertEqual((len(rounds), results.next_seed(rounds)), (2, 3))
            summary = results.summarise(rounds)
            self.assertEqual((summary["messages"], summary["faults"]), (10, {"kill": 4}))
            self.assertEqual(summary["failoverSeconds"], {"measured": 2, "median": 13.0, "longest": 14.0})


if __name__ == "__main__":
    unittest.main()
