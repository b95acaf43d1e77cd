"""What a generated client is asked to do: five calls, each of another kind."""

from scenario import tell


def check_calls(calls):
    """Runs five calls, each named by what it shows. A call is a function that raises an error if its answer is wrong."""
    assert len(calls) == 5, calls
    import traceback

    for name, call in calls.items():
        try:
            call()
            tell(name, "openapi", "onyx")
        except BaseException:  # noqa: BLE001 - one that fails must not hide the others
            tell(name, "openapi", "onyx", traceback.format_exc())
