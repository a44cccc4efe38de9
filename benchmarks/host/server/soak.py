#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An hour of mixed load on `tandem serve` with two emulated cards, in place of a day.

    python3 benchmarks/host/server/soak.py --seconds 3600 --json

Clients ask as users do, and as bad users do: they leave in mid-stream, stall, send rubbish, too much, or slowly
(soak_clients.py). Meanwhile keys and certificates are reloaded, right and wrong ones, and cards are killed or stop to answer
(soak_faults.py). The daemon has a small context and few KV pages, so requests give way to others.

Exit code 1 unless every request was answered, refused or cut by its own client; the mean resident memory of the last quarter is
within 2 % of the second quarter's; and in the end nothing runs or waits, no page is in use, both cards are back, no descriptor
or thread is left (but for those that XRT 2.13 keeps, one for each time that a card may be open at once), and the daemon ends
with code 0. Standard library and openssl only.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import http_client
from servers import Server, exit_on_sigterm, memory_of, print_json
from soak_clients import CONTEXT, MAX_BODY, READ_TIMEOUT_S, Client, Tally
from soak_faults import CARD_TIMEOUT_S, Faults, Site, card_processes

RESIDENT_LIMIT_PERCENT = 2.0
NUM_CARDS = 2
# What may be left. Buffers of a card that hangs keep it open beside the one that takes its place.
ALLOWED = {"files": 0, "threads": NUM_CARDS}
GAUGES_EVERY = 5  # samples
MIB = 1 << 20


def card_environment(tandem):
    """Of XRT's setup script beside the program, with two emulated cards."""
    setup = Path(tandem).resolve().parents[1] / "xrt" / "setup.sh"
    if not setup.exists():
        raise SystemExit(f"{setup} is not there: this build has no emulated cards")
    lines = subprocess.run(["bash", "-c", f"source '{setup}' >/dev/null && env -0"], capture_output=True, check=True).stdout
    environment = dict(line.split("=", 1) for line in lines.decode().split("\0") if line)
    return {**environment, "XCL_EMULATION_MODE": "sw_emu", "TANDEM_CARDS": str(NUM_CARDS)}


def start(options, site):
    command = [options.tandem, "serve", "--port", "0", "--port-file", Server.PORT_FILE, "--attention", "xrt:0,xrt:1",
               "--unix", site.unix, "--tls-cert", site.cert, "--tls-key", site.key, "--api-keys", site.key_file,
               "--context", CONTEXT, "--kv-memory", "2MiB", "--max-running", "8", "--max-waiting", "24",
               "--max-body", MAX_BODY, "--read-timeout-ms", READ_TIMEOUT_S * 1000, "--max-choices", "16",
               "--device-timeout-ms", CARD_TIMEOUT_S * 1000, "--revive-seconds", "1", "--log-level", "warn"]
    server = Server("soak", command, site.folder, environment=card_environment(options.tandem))
    site.port, site.tls = server.port, http_client.unverified_tls()
    return server


class Watch(threading.Thread):
    """What the daemon holds, every second."""

    def __init__(self, pid, site, stop):
        super().__init__(daemon=True)
        self.pid, self.site, self.stop = pid, site, stop
        self.samples, self.gauge_samples = [], []

    def run(self):
        begin = time.monotonic()
        while not self.stop.wait(1):
            try:
                self.samples.append({"seconds": time.monotonic() - begin, "load": os.getloadavg()[0], **self.sample()})
            except OSError:
                return  # it has ended, which the judge sees
            if len(self.samples) % GAUGES_EVERY == 0:
                with contextlib.suppress(OSError, EOFError):  # it may be too busy
                    self.gauge_samples.append(self.gauges())

    def sample(self):
        memory = memory_of(self.pid)
        process = Path(f"/proc/{self.pid}")
        return {"resident": memory["VmRSS"], "anonymous": memory["RssAnon"], "shared": memory["RssShmem"],
                "files": len(list((process / "fd").iterdir())), "threads": len(list((process / "task").iterdir()))}

    def ask(self, path):
        admin = {"Authorization": f"Bearer {self.site.keys['admin']}", "Connection": "close"}
        answer = http_client.ask(self.site.unix, http_client.request("GET", path, None, admin))
        if answer.status != 200:
            raise EOFError(f"{path}: {answer.status}")
        return answer

    def status(self):
        return self.ask("/status").json()

    def gauges(self):
        """Pages in use, and connections but for the one that asks."""
        def total(start):
            return sum(int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith(start))

        lines = self.ask("/metrics").body.decode().splitlines()
        return {"pages": total('tandem_unit_kv_pages{state="used"'), "connections": total("tandem_http_connections ") - 1}

    def quarter(self, number):
        length = len(self.samples) // 4
        return self.samples[number * length:(number + 1) * length]

    def mean(self, number, figure):
        return statistics.fmean(sample[figure] for sample in self.quarter(number))


def unrest(watch):
    """What is not as it should be once all clients have gone. A card that has died is missing before the daemon notices."""
    status = watch.status()
    attention = [device for device in status["devices"] if device["role"] == "attention"]
    held = sum(device["pages_used"] for device in attention if device["alive"])
    found = {"running": status["running"], "waiting": status["waiting"], "pages": held, "lost_cards": len(status["lost_devices"]),
             "missing_cards": NUM_CARDS - len(card_processes(watch.pid)), "connections": watch.gauges()["connections"]}
    return found if any(found.values()) else {}


def left_over(before, after):
    return {name: after[name] - before[name] for name, more in ALLOWED.items() if after[name] > before[name] + more}


def wait_for_rest(watch, before=None, seconds=600):
    """What is still not at rest after that time; what is held more than `before` counts, too."""
    end = time.monotonic() + seconds
    while True:
        found = unrest(watch)
        if before and not found:
            found = left_over(before, watch.sample())
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.5)


def warm(watch, site):
    """Some requests first, so that all threads are there; what the daemon holds while it has no clients."""
    tally, stop = Tally(), threading.Event()
    clients = [Client(-1 - number, site, tally, stop) for number in range(4)]
    for client in clients:
        client.start()
    time.sleep(3)
    stop.set()
    for client in clients:
        client.join()
    wait_for_rest(watch)
    time.sleep(2)
    return watch.sample()


def load(options, server, site, tally):
    """(samples, faults, what is held before and after, what is not at rest in the end, the last status)"""
    stop = threading.Event()
    watch = Watch(server.process.pid, site, stop)
    before = warm(watch, site)
    faults = Faults(server.process.pid, site, stop, options.fault_seconds)
    clients = [Client(number, site, tally, stop) for number in range(options.clients)]
    threads = (watch, faults, *clients)
    for thread in threads:
        thread.start()
    end = time.monotonic() + options.seconds
    try:
        while time.monotonic() < end and server.process.poll() is None:
            time.sleep(0.2)
    finally:
        stop.set()
        faults.join()  # no card stays stopped
    for thread in threads:
        thread.join()
    left = wait_for_rest(watch, before) if server.process.poll() is None else {"daemon": "ended"}
    is_running = server.process.poll() is None
    return watch, faults, before, watch.sample() if is_running else {}, left, watch.status() if is_running else {}


def result_of(options, tally, watched, exit_code):
    watch, faults, before, after, left, last = watched
    resident = {f"quarter_{number + 1}": round(watch.mean(number, "resident") / MIB, 2) for number in range(4)}
    growth = (watch.mean(3, "resident") / watch.mean(1, "resident") - 1) * 100
    actions = sum(tally.outcomes.values())
    cards_lost = sum(device.get("losses", 0) for device in last.get("devices", []))
    problems = [*([f"{tally.outcomes['lost']} requests lost"] if tally.outcomes["lost"] else []),
                *([f"resident memory changed by {growth:.2f} %"] if abs(growth) > RESIDENT_LIMIT_PERCENT else []),
                *([f"not at rest: {left}"] if left else []),
                *([f"the daemon ended with {exit_code}"] if exit_code else [])]
    return {
        "name": "soak", "seconds": options.seconds, "seed": options.seed, "clients": options.clients,
        "requests": actions, "requests_per_s": round(actions / options.seconds, 1),
        **{outcome: tally.outcomes[outcome] for outcome in ("answered", "refused", "cut", "lost")},
        "actions": dict(sorted(tally.by_action.items())), "faults": dict(sorted(faults.counts.items())),
        "cards_lost": cards_lost, "requests_rebuilt": last.get("rebuilt_sequences"), "preemptions": last.get("preemptions"),
        "resident_mib": resident, "resident_growth_percent": round(growth, 2),
        "resident_most_mib": round(max(sample["resident"] for sample in watch.samples) / MIB, 2),
        "anonymous_mib": {f"quarter_{number + 1}": round(watch.mean(number, "anonymous") / MIB, 2) for number in range(4)},
        "files": {"before": before["files"], "after": after.get("files"), "most": max(s["files"] for s in watch.samples)},
        "threads": {"before": before["threads"], "after": after.get("threads"), "most": max(s["threads"] for s in watch.samples)},
        **{f"{name}_most": max((gauge[name] for gauge in watch.gauge_samples), default=None) for name in ("pages", "connections")},
        "load_median": statistics.median(sample["load"] for sample in watch.samples),
        "exit_code": exit_code, "problems": problems, "losses": tally.losses[:20],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--fault-seconds", type=float, default=30, help="mean time between two faults")
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--keep-log", help="a folder for the daemon's log and the samples")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    exit_on_sigterm()
    with tempfile.TemporaryDirectory() as folder:
        site = Site(folder, options.seed)
        server = start(options, site)
        tally, code = Tally(), None
        try:
            watched = load(options, server, site, tally)
        finally:
            code = server.close()
            if options.keep_log:
                Path(options.keep_log, "soak.log").write_bytes(server.log_path.read_bytes())
        result = result_of(options, tally, watched, code)
        if result["problems"]:
            print(server.tail(), file=sys.stderr)
    if options.keep_log:
        Path(options.keep_log, "samples.txt").write_text("\n".join(map(str, watched[0].samples)))
    if options.json:
        print_json(result)
    else:
        print("\n".join(f"{name}: {value}" for name, value in result.items()))
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
