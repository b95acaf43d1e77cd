"""Tests that the checkers of effects, drafts, jobs, books and followed runs find each violation in a history that has it."""

import collections
import gzip
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import model
from check_books import SLACK, check_audit, check_budgets, check_fences
from check_effects import check_calls, check_drafts, check_kinds, check_slots
from client import Sent
from drafts import Decision
from outside import Call, Outside
from read_back import Books, Line, sealed_lines
from rejoin import Told, check_told, fold

TALLY = Sent("a1", "tally", True, "r", True)
LOST = Sent("b2", "tally", False, None, False)


class Checks(unittest.TestCase):
    def assert_found(self, part, wrong):
        self.assertTrue(any(part in violation for violation in wrong), wrong)


class Kinds(Checks):
    def test_a_kind_that_always_fails(self):
        self.assertEqual(check_kinds([LOST, TALLY], enough=2), [])
        self.assert_found("none of 2 messages of the kind tally", check_kinds([LOST, LOST], enough=2))


class Effects(Checks):
    def test_what_was_done_once_or_by_chance_not_at_all_is_fine(self):
        self.assertEqual(check_calls([TALLY, LOST], [Call("a1", "tally", 5)]), [])
        self.assertEqual(check_calls([TALLY, LOST], [Call("a1", "tally", 5), Call("b2", "tally", 6)]), [])

    def test_what_was_done_twice(self):
        self.assert_found("b2 was done 2 times", check_calls([LOST], [Call("b2", "tally", 5)] * 2))

    def test_what_was_told_as_done_and_was_not(self):
        self.assert_found("a1 was told as done", check_calls([TALLY], []))


def draft(state, key="k", name="d"):
    return {"draft": name, "state": state, "input": f'{{"key": "{key}"}}'}


class Drafts(Checks):
    DONE = [Call("k", "send", 5)]
    APPROVED = Decision("d", "approve", 0, True)

    def test_a_draft_that_one_of_two_decided_is_fine(self):
        others = [Decision("d", "reject", 1, False)]
        self.assertEqual(check_drafts([self.APPROVED, *others], [draft("applied")], self.DONE), [])
        self.assertEqual(check_drafts([Decision("d", "reject", 0, True)], [draft("rejected")], []), [])
        # The answer to the approval was lost, and the outcome of the call is not known.
        self.assertEqual(check_drafts([self.APPROVED._replace(acknowledged=False)], [draft("unknown")], self.DONE), [])

    def test_a_draft_that_was_decided_twice(self):
        for second in ("approve", "reject"):
            twice = [self.APPROVED, Decision("d", second, 1, True)]
            self.assert_found("decided 2 times", check_drafts(twice, [draft("applied")], self.DONE))

    def test_a_draft_that_does_not_have_the_state_that_was_decided(self):
        self.assert_found("was approved and is rejected", check_drafts([self.APPROVED], [draft("rejected")], []))
        self.assert_found("was rejected and is applied", check_drafts([Decision("d", "reject", 0, True)], [draft("applied")], self.DONE))
        self.assert_found("is not there", check_drafts([self.APPROVED], [], []))
        self.assert_found("still being applied", check_drafts([self.APPROVED], [draft("applying")], self.DONE))

    def test_what_a_draft_did(self):
        self.assert_found("was done 0 times", check_drafts([self.APPROVED], [draft("applied")], []))
        self.assert_found("was done 2 times", check_drafts([self.APPROVED], [draft("applied")], self.DONE * 2))
        for state in ("pending", "rejected", "expired"):
            self.assert_found("without an approval", check_drafts([], [draft(state)], self.DONE))


def slot(at, run, state="done"):
    return {"job": "beat", "scheduled_at": at, "run": run, "state": state}


class Slots(Checks):
    RUNS = [{"run": "r", "origin": "job"}, {"run": "chat", "origin": "chat"}]

    def test_times_that_fired_once_or_not_at_all_are_fine(self):
        slots = [slot(4, "r"), slot(8, None, "skipped"), slot(12, None, "missed")]
        self.assertEqual(check_slots(slots, self.RUNS, [Call("beat0", "tally", 5), Call("a1", "tally", 5)]), [])

    def test_a_time_that_fired_twice(self):
        self.assert_found("of none of its times", check_slots([slot(4, "r")], [*self.RUNS, {"run": "r2", "origin": "job"}], []))
        self.assert_found("is there 2 times", check_slots([slot(4, "r"), slot(4, "r2")], self.RUNS, []))
        beats = [Call("beat0", "tally", 5), Call("beat1", "tally", 6)]
        self.assert_found("called 2 times", check_slots([slot(4, "r")], self.RUNS, beats))

    def test_a_run_of_two_times(self):
        self.assert_found("is of 2 times", check_slots([slot(4, "r"), slot(8, "r")], self.RUNS, []))

    def test_a_time_that_never_ends(self):
        for state in ("running", "queued"):
            self.assert_found(f"still {state}", check_slots([slot(4, "r", state)], self.RUNS, []))


def run(tokens=(7, 3), ended=100, status="done"):
    return {"run": "r", "input": tokens[0], "output": tokens[1], "ended_at": ended, "status": status, "origin": "chat"}


def books(runs=None, usage=({"input": 7, "output": 3},), audit=()):
    return Books([run()] if runs is None else runs, list(usage), [], [], list(audit))


class Budgets(Checks):
    SENT = [Sent("a1", "word", False, "r", True)]
    GIVEN = collections.Counter(a1=1)

    def test_tokens_that_are_counted_once_are_fine(self):
        self.assertEqual(check_budgets(self.SENT, books(), self.GIVEN), [])
        # A gateway that died may not have counted its last answer.
        unsure = [self.SENT[0]._replace(acknowledged=False)]
        self.assertEqual(check_budgets(unsure, books([run((0, 0))], []), self.GIVEN), [])

    def test_tokens_that_are_counted_twice_or_lost(self):
        twice = books([run((14, 6))], [{"input": 14, "output": 6}])
        self.assert_found("the model gave (7, 3)", check_budgets(self.SENT, twice, self.GIVEN))
        self.assert_found("the model gave (7, 3)", check_budgets([self.SENT[0]._replace(acknowledged=False)], twice, self.GIVEN))
        self.assert_found("counts (0, 0)", check_budgets(self.SENT, books([run((0, 0))], []), self.GIVEN))

    def test_a_run_that_is_booked_twice(self):
        self.assert_found("14 tokens of input are booked", check_budgets(self.SENT, books(usage=[{"input": 14, "output": 3}]), self.GIVEN))
        self.assert_found("0 tokens of output are booked", check_budgets(self.SENT, books(usage=[{"input": 7, "output": 0}]), self.GIVEN))


class Fences(Checks):
    LOGS = {"s": [Line(0, 0, 9, {"id": "t", "type": "tool_call", "run_id": "r", "input": {"key": "a1"}})]}

    def row(self, at, decision="allow"):
        return {"run": "r", "seq": 3, "ts": at, "tool": "tally", "decision": decision}

    def test_what_happens_before_the_end_or_right_at_it_is_fine(self):
        calls = [Call("a1", "tally", 100 + SLACK), Call("other", "tally", 10**9)]
        self.assertEqual(check_fences(self.LOGS, books(audit=[self.row(100)]), calls), [])

    def test_what_a_person_approved_later_is_fine(self):
        late = 101 + SLACK
        rows = [self.row(late, "confirm"), self.row(late) | {"tool": "mcp:outside/send"}]
        self.assertEqual(check_fences(self.LOGS, books(audit=rows), [Call("a1", "send", late)]), [])

    def test_a_call_after_the_end(self):
        self.assert_found("after the end of its run r", check_fences(self.LOGS, books(), [Call("a1", "tally", 101 + SLACK)]))

    def test_a_row_of_the_audit_after_the_end(self):
        self.assert_found("row 3 of the audit", check_fences(self.LOGS, books(audit=[self.row(101 + SLACK)]), []))


class Audit(Checks):
    class Gateway:
        name = "one"

    def check(self, status, text):
        return check_audit([self.Gateway()], lambda *_: (status, text))

    def test_chains(self):
        self.assertEqual(self.check(200, '{"chains": [{"person": "ana", "whole": true}]}'), [])
        self.assert_found("ana is broken at 7", self.check(200, '{"chains": [{"person": "ana", "whole": false, "broken_at": 7}]}'))
        self.assert_found("cannot verify", self.check(500, ""))


class Following(Checks):
    LOGS = {"s": [Line(0, 0, 9, {"id": "t", "type": "assistant_text", "run_id": "r", "content": "said-a1"}),
                  Line(1, 9, 9, {"id": "e", "type": "run_end", "run_id": "r", "status": "done"})]}  # fmt: skip
    TOLD = Told("r", {"t": "said-a1"}, [1, 2, 3], "done")

    def test_what_the_log_says_is_fine(self):
        self.assertEqual(check_told([self.TOLD], self.LOGS), [])
        # A reader that never reached the end tells nothing about it.
        self.assertEqual(check_told([Told("r", {"t": "said"}, [1, 3], None)], self.LOGS), [])

    def test_a_text_that_is_not_the_stored_one(self):
        for texts in ({"t": "said-a"}, {"t": "said-a1said-a1"}, {}, {"t": "said-a1", "u": "more"}):
            self.assert_found("its log has", check_told([self.TOLD._replace(texts=texts)], self.LOGS))

    def test_events_that_are_missing_or_come_twice(self):
        for seqs in ([1, 3], [1, 2, 2, 3], [2, 3]):
            self.assert_found("with the numbers", check_told([self.TOLD._replace(seqs=seqs)], self.LOGS))

    def test_an_end_that_its_gateway_could_not_write_is_told_as_an_error(self):
        said, end = self.LOGS["s"]
        logs = {"s": [said, end._replace(turn=end.turn | {"status": "interrupted"})]}
        self.assertEqual(check_told([self.TOLD._replace(status="error")], logs), [])
        self.assert_found("its log says interrupted", check_told([self.TOLD], logs))

    def test_a_run_that_was_lost_before_its_first_line_is_told_as_interrupted_and_has_said_nothing(self):
        for status in ("error", "interrupted"):
            self.assertEqual(check_told([Told("lost", {}, [1], status)], self.LOGS), [])
            self.assert_found("its log says None", check_told([Told("lost", {"t": "said"}, [1, 2], status)], self.LOGS))
        self.assert_found("its log says None", check_told([Told("lost", {}, [1], "done")], self.LOGS))

    def test_another_end_than_the_stored_one(self):
        self.assert_found("its log says done", check_told([self.TOLD._replace(status="error")], self.LOGS))

    def test_pieces_of_a_text_are_put_together_and_the_whole_text_replaces_them(self):
        texts = {}
        for kind, text in [("text_delta", "sa"), ("text_delta", "id"), ("usage", None)]:
            fold(texts, {"type": kind, "turn_id": "t", "text": text})
        self.assertEqual(texts, {"t": "said"})
        fold(texts, {"type": "text_complete", "turn_id": "t", "text": "said-a1"})
        self.assertEqual(texts, {"t": "said-a1"})


class Sealed(Checks):
    LINES = b'{"id": "a"}\n{"id": "bb"}\n'

    def segment(self, end):
        return {"first_seq": 4, "first_pos": 30, "end_pos": end}

    def test_lines_of_a_segment_have_their_numbers_and_positions(self):
        lines = gzip.decompress(gzip.compress(self.LINES))
        self.assertEqual(
            sealed_lines(self.segment(30 + len(self.LINES)), lines), [Line(4, 30, 12, {"id": "a"}), Line(5, 42, 13, {"id": "bb"})]
        )

    def test_a_segment_that_is_shorter_than_its_row_says(self):
        self.assertEqual(sealed_lines(self.segment(99), self.LINES)[-1].turn["type"], "missing")


class World(unittest.TestCase):
    def test_calls_are_counted_by_key(self):
        outside = Outside()
        call = {"method": "tools/call", "params": {"name": "tally", "arguments": {"key": "a1"}}}
        self.assertEqual(outside.reply(call)["result"]["content"][0]["text"], "did-a1")
        self.assertEqual([(call.key, call.tool) for call in outside.done()], [("a1", "tally")])
        self.assertIn("error", outside.reply({"method": "server/discover"}))

    def test_the_model_finds_a_tool_under_whatever_name_it_is_offered(self):
        request = {"tools": [{"function": {"name": "memory_write"}}, {"function": {"name": "mcp_outside_tally_0a1b2c3d"}}]}
        self.assertEqual(model.tool_name(request, model.TOOLS["note"]), "memory_write")
        self.assertEqual(model.tool_name(request, model.TOOLS["tally"]), "mcp_outside_tally_0a1b2c3d")
        self.assertIsNone(model.tool_name(request, model.TOOLS["send"]))


if __name__ == "__main__":
    unittest.main()
