# SPDX-License-Identifier: Apache-2.0
#
# wait_for(): until something that others do has happened. is_running(): whether a process does anything yet.
import time
from pathlib import Path

PATIENCE = 600  # s; only against hanging: a machine may be ten times slower, and do six other things


def wait_for(condition, what, seconds=PATIENCE, pause=0.05, more=lambda: ""):
    """Returns what `condition()` returned once that is true. `more()`: what an error says besides."""
    until = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds} s: {what}{more()}")
        time.sleep(pause)


def is_running(pid):
    """A process that has ended may stay listed: in a container there may be nobody who waits for orphans."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
