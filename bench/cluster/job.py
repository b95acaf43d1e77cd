"""A job that fires every few seconds while the faults happen."""

NAME = "beat"


def begin(gateway):
    """Makes the job. Each firing calls a tool outside with a key that the model never gives twice."""
    job = {"id": NAME, "cron": "*/4 * * * * *", "misfire": "all", "overlap": "skip", "prompt": "Please: beat-now-0"}
    status, text = gateway.request("POST", "/api/jobs", job)
    assert status == 201, f"the job cannot be made: {status} {text}"


def keep_going(gateway):
    """Runs that were interrupted count as failures, and after some of them a job is paused until a person resumes it."""
    gateway.request("POST", f"/api/jobs/{NAME}/resume", {})


def end(gateways, asked):
    """Pauses the job, so that everything can come to rest."""
    for gateway in gateways:
        status, _ = asked(gateway, f"/api/jobs/{NAME}/pause", method="POST")
        if status == 200:
            return
