"""People who decide drafts, several at once and through randomly chosen gateways."""

import collections
import json
import threading

# `acknowledged`: the decider was told that the decision counts.
Decision = collections.namedtuple("Decision", "draft verdict decider acknowledged")


class Decider(threading.Thread):
    """Decides every draft that waits, knowing nothing of the others who do."""

    def __init__(self, number, gateways, dice, stop):
        super().__init__(daemon=True)
        self.number, self.gateways, self.dice, self.stop, self.decisions = number, gateways, dice, stop, []

    def run(self):
        while not self.stop.wait(self.dice.uniform(0.2, 0.8)):
            status, text = self.dice.choice(self.gateways).request("GET", "/api/pending-changes?state=pending&limit=20")
            for draft in json.loads(text)["drafts"] if status == 200 else []:
                self.decide(draft["id"])

    def decide(self, draft):
        verdict = self.dice.choice(["approve", "approve", "reject"])
        status, _ = self.dice.choice(self.gateways).request("POST", f"/api/pending-changes/{draft}/{verdict}", {}, 40)
        self.decisions.append(Decision(draft, verdict, self.number, status == 200))
