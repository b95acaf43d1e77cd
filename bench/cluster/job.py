"""A job that fires every few seconds while the faults happen."""

import json
import threading

NAME = "beat"


def begin(gateway):
    """Makes the job. Each firing calls a tool outside with a key that the model never gives twice."""
    job = {"id": NAME, "cron": "*/4 * * * * *", "misfire": "all", "overlap": "skip", "prompt": "Please: beat-now-0"}
    status, text = gateway.request("POST", "/api/jobs", job)
    assert status == 201, f"the job cannot be made: {status} {text}"


class Keeper(threading.Thread):
    """Resumes the job: runs that were interrupted count as failures, and after some of them a job is paused."""

    def __init__(self, gateways, dice, stop):
        super().__init__(daemon=True)
        self.gateways, self.dice, self.stop = gateways, dice, stop

    def run(self):
        while not self.stop.wait(2):
            status, text = self.dice.choice(self.gateways).request("GET", f"/api/jobs/{NAME}")
            if status == 200 and json.loads(text)["state"] == "paused":
                self.dice.choice(self.gateways).request("POST", f"/api/jobs/{NAME}/resume", {})


def end(gateways, asked):
    """Pauses the job, so that everything can come to rest."""
    for gateway in gateways:
        status, _ = asked(gateway, f"/api/jobs/{NAME}/pause", method="POST")
        if status == 200:
            return
