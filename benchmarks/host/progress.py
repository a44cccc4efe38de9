# SPDX-License-Identifier: Apache-2.0
"""A line on stderr that shows how far a benchmark is, and the limit of its time.

On a terminal the line is overwritten; elsewhere one is printed every ten seconds at most.
"""

import os
import sys
import time


class Progress:
    def __init__(self, name, total, seconds=None):
        self.name, self.total, self.seconds = name, total, seconds
        self.begin, self.done, self.shown = time.monotonic(), 0, -1e9
        self.is_terminal = os.isatty(sys.stderr.fileno())
        self.show()

    def elapsed(self):
        return time.monotonic() - self.begin

    def show(self, seen=""):
        if not self.is_terminal and time.monotonic() - self.shown < 10:
            return
        self.shown = time.monotonic()
        line = f"{self.name}: {self.done} of {self.total}, {self.elapsed():.0f} s{', ' + seen if seen else ''}"
        print(f"\r{line}\033[K" if self.is_terminal else line, end="" if self.is_terminal else "\n", file=sys.stderr, flush=True)

    def step(self, seen=""):
        self.done += 1
        self.show(seen)
        if self.done == self.total:
            self.end()

    def is_over(self):
        """Whether another step of mean length would exceed the limit."""
        return self.seconds is not None and self.done > 0 and self.elapsed() * (1 + 1 / self.done) > self.seconds

    def end(self):
        if self.is_terminal:
            print(file=sys.stderr, flush=True)
