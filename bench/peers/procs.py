"""CPU time and memory of a process with everything it started, from /proc."""

import os

TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    with open(f"/proc/{pid}/stat", "rb") as file:
        # The name in brackets may contain spaces.
        return file.read().rsplit(b")", 1)[1].split()


def tree(root):
    """Returns the process and its descendants that are alive."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = int(_stat(name)[1])
            except (FileNotFoundError, ProcessLookupError):
                pass
    found = [root]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found


def cpu_seconds(root):
    """Returns user and system time, including that of children that ended and were waited for."""
    ticks = 0
    for pid in tree(root):
        try:
            ticks += sum(int(field) for field in _stat(pid)[11:15])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return ticks / TICKS


def memory_bytes(root):
    """Returns the proportional set size, in which shared pages are not counted twice."""
    total = 0
    for pid in tree(root):
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return total * 1024
