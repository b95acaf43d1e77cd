"""Tests how a changed peer is handled: `python3 -m unittest discover -s bench/peers`."""

import argparse
import contextlib
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

import report
import servers

HERE = Path(__file__).parent


def chunk(words):
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": words}}]})


class Fake(servers.Server):
    """A peer that starts and streams these lines."""

    note = "a fake"

    def __init__(self, name, *lines):
        self.name, self.lines = name, lines

    def version(self):
        return "1.2.3"

    def start(self, work, port, model_url):
        return [sys.executable, str(HERE / "fakes" / "peer.py"), str(port), *self.lines], {}


class Broken(Fake):
    """A peer that raises an error at its start, as if its settings had changed."""

    def __init__(self, name, error):
        super().__init__(name)
        self.error = error

    def start(self, work, port, model_url):
        raise self.error


def bench(*chosen):
    """Measures these servers and returns the table and the figures."""
    spec = importlib.util.spec_from_file_location("bench_peers", HERE / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()):
        arguments = argparse.Namespace(model=str(HERE / "fakes" / "model.py"), commit="abc1234", turns=2, warm_up=1,
                                       idle_seconds=0, note=None, scratch=Path(scratch))
        result = module.measured(chosen, arguments)
    return report.table(result), {row["name"]: row for row in result["servers"]}


class Peers(unittest.TestCase):
    def test_whatever_a_peer_raises_the_others_are_measured_and_the_table_says_why(self):
        errors = [KeyError("agents"), json.JSONDecodeError("no value", "", 0), IndexError("out of range"),
                  AttributeError("no such thing"), RuntimeError("pip: no such package")]
        broken = [Broken(f"broken {number}", error) for number, error in enumerate(errors)]
        table, rows = bench(*broken, Fake("nanobot", chunk("ok"), "data: [DONE]"))
        said = [rows[server.name]["not_run"] for server in broken]
        self.assertEqual(said, ["KeyError: 'agents'", "JSONDecodeError: no value: line 1 column 1 (char 0)",
                                "IndexError: out of range", "AttributeError: no such thing", "pip: no such package"])
        self.assertEqual((rows["nanobot"]["turns"], rows["nanobot"]["body_bytes"]), (2, 123))
        self.assertIn("- broken 0: not run: KeyError: 'agents'", table)
        self.assertIn("commit abc1234", table)
        self.assertIn("| version | 1.2.3 |", table)
        self.assertIn("| N, turns | not run |", table)

    def test_an_error_told_in_words_is_no_turn(self):
        sorry = "Sorry, I encountered an error: no token"
        _, rows = bench(Fake("polite", chunk(sorry)), Fake("changed", "data: {not json"), Fake("mute", "data: [DONE]"))
        self.assertEqual(rows["polite"]["not_run"], f"it answered {sorry!r} where the model had said 'ok'")
        self.assertIn("JSONDecodeError", rows["changed"]["not_run"])
        self.assertEqual(rows["mute"]["not_run"], "the answer had no words")

    def test_words_that_come_in_pieces_are_the_models(self):
        _, rows = bench(Fake("onyx", json.dumps({"type": "text", "delta": "o"}), chunk("k"), chunk("\n")))
        self.assertNotIn("not_run", rows["onyx"])


class Verdicts(unittest.TestCase):
    def verdict(self, ours, theirs):
        keys = [key for key, *_ in report.ROWS]
        rows = [{"name": "onyx", "note": "", **dict.fromkeys(keys, 100), "cpu_per_turn_ms": ours},
                {"name": "nanobot", "note": "", **dict.fromkeys(keys, 100), "cpu_per_turn_ms": theirs}]
        if theirs is None:
            rows[1] = {"name": "nanobot", "note": "", "not_run": "gone"}
        result = {"date": "d", "commit": "c", "machine": "m", "warm_up": 5, "idle_seconds": 5, "servers": rows,
                  "targets": report.targets(rows)}
        table = report.table(result)
        return result["targets"][0]["verdict"], next(line for line in table.splitlines() if "CPU per turn" in line)

    def test_fifty_times_below_nanobot_is_met_or_missed_and_said_beside_the_ratio(self):
        self.assertEqual(self.verdict(1.6, 80), ("met", "| CPU per turn, ms | 1.60 | 80.00 (50.0×; at least 50×: met) |"))
        self.assertEqual(self.verdict(2, 80), ("MISSED", "| CPU per turn, ms | 2.00 | 80.00 (40.0×; at least 50×: MISSED) |"))

    def test_without_nanobot_nothing_is_met(self):
        line = "| CPU per turn, ms | 2.00 | not run; at least 50×: not measured |"
        self.assertEqual(self.verdict(2, None), ("not measured", line))


if __name__ == "__main__":
    unittest.main()
