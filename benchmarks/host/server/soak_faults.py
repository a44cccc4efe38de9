# SPDX-License-Identifier: Apache-2.0
"""What soak.py does to the daemon besides asking: reloads with right and wrong files, cards that die or hang.

Touches only emulated cards whose command line names this daemon's process id.
"""

import collections
import contextlib
import hashlib
import os
import random
import secrets
import shutil
import signal
import threading
from pathlib import Path

from servers import make_certificate

CARD_TIMEOUT_S = 2  # as soak.py starts the daemon: a card that is silent for longer is lost


def card_processes(daemon_pid):
    """Process ids of the emulated cards of this daemon that still run."""
    wanted = f"tandem-card\0--application\0{daemon_pid}\0".encode()
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cmdline").read_bytes() == wanted:
                pids.append(int(process.name))
    return sorted(pids)


class Site:
    """The files that the daemon reads, and where it is reached."""

    def __init__(self, folder, seed):
        self.folder, self.seed = Path(folder), seed
        self.keys = {name: secrets.token_hex(24) for name in ("use", "second", "limited", "admin", "rotating")}
        self.key_file = self.folder / "keys.toml"
        self.cert, self.key = self.folder / "cert.pem", self.folder / "key.pem"
        self.unix = self.folder / "socket"
        self.port, self.tls = None, None
        for number in range(2):
            make_certificate(self.folder / f"cert{number}.pem", self.folder / f"key{number}.pem")
        self.certificate(0)
        self.write_keys()

    def certificate(self, number):
        shutil.copy(self.folder / f"cert{number}.pem", self.cert)
        shutil.copy(self.folder / f"key{number}.pem", self.key)

    def write_keys(self):
        """With a new rotating key; requests with the one before are then refused."""
        self.keys["rotating"] = secrets.token_hex(24)
        more = {"limited": "requests-per-minute = 120\nconcurrent-requests = 2\nmax-choices = 4\n", "admin": 'role = "admin"\n'}
        def entry(name, key):
            digest = hashlib.sha256(key.encode()).hexdigest()
            return f'[[key]]\nname = "{name}"\nhash = "sha256:{digest}"\n{more.get(name, "")}'

        text = "".join(entry(name, key) for name, key in self.keys.items())
        self.key_file.touch(0o600)
        self.key_file.write_text(text)


class Faults(threading.Thread):
    """One fault after the other until `stop`; then all cards run again."""

    def __init__(self, pid, site, stop, pause_s):
        super().__init__(daemon=True)
        self.pid, self.site, self.stop, self.pause_s = pid, site, stop, pause_s
        self.random = random.Random(f"{site.seed}-faults")
        self.counts = collections.Counter()
        self.stopped = set()

    def run(self):
        faults = (self.reload_keys, self.reload_certificate, self.reload_wrong, self.kill_card, self.kill_card,
                  self.pause_card, self.hang_card, self.hang_card)
        while not self.stop.wait(self.random.uniform(0.5, 1.5) * self.pause_s):
            fault = self.random.choice(faults)
            with contextlib.suppress(ProcessLookupError):  # a card may end by itself
                fault()
                self.counts[fault.__name__] += 1
        for card in list(self.stopped):
            self.go_on(card)

    def reload(self):
        os.kill(self.pid, signal.SIGHUP)
        self.stop.wait(0.5)  # the files are read before they change again

    def reload_keys(self):
        self.site.write_keys()
        self.reload()

    def reload_certificate(self):
        self.site.certificate(self.random.randrange(2))
        self.reload()

    def reload_wrong(self):
        """What was read before stays."""
        if self.random.random() < 0.5:
            self.site.cert.write_text("no certificate")
        else:
            self.site.key_file.write_text("[[key]\n")
        self.reload()
        self.site.certificate(0)
        self.site.write_keys()
        self.reload()

    def card(self):
        cards = card_processes(self.pid)
        if not cards:
            raise ProcessLookupError("no card is running")
        return self.random.choice(cards)

    def kill_card(self):
        os.kill(self.card(), signal.SIGKILL)

    def go_on(self, card, number=signal.SIGCONT):
        self.stopped.discard(card)
        with contextlib.suppress(ProcessLookupError):
            os.kill(card, number)

    def freeze(self, seconds, end):
        card = self.card()
        self.stopped.add(card)
        os.kill(card, signal.SIGSTOP)
        self.stop.wait(seconds)
        self.go_on(card, end)

    def pause_card(self):
        """Too short to count as lost."""
        self.freeze(CARD_TIMEOUT_S / 4, signal.SIGCONT)

    def hang_card(self):
        """Until it counts as lost. Then it answers again, or dies."""
        self.freeze(CARD_TIMEOUT_S * self.random.uniform(2, 4), self.random.choice((signal.SIGCONT, signal.SIGKILL)))
