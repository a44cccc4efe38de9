# SPDX-License-Identifier: Apache-2.0
#
# scripts/netlab.sh: ranks on namespaces compute the right sums, links keep to their rate, and nothing stays behind.
#
# No assertion depends on how fast the machine is: a link that is too slow for a loaded machine only moves fewer bytes.
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BUILD = Path(os.environ.get("TANDEM_BINARY_DIR", "build/release"))
NETLAB = str(Path(__file__).resolve().parents[2] / "scripts" / "netlab.sh")
RANKS = BUILD / "bin" / "mpi_ranks"

# Rank 1 sends argv[1] bytes to rank 0, which prints how many came.
SEND = """
import os, socket, sys, time
address = ("10.91.0.1", 5000)
if os.environ["TANDEM_RANK"] == "0":
    connection, _ = socket.create_server(address).accept()
    received = 0
    while piece := connection.recv(1 << 20):
        received += len(piece)
    print("received", received)
else:
    for _ in range(200):
        try:
            connection = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    connection.sendall(bytes(int(sys.argv[1])))
"""


def require_namespaces():
    name = f"netlab{os.getpid()}-probe"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    except FileNotFoundError:
        raise unittest.SkipTest("needs iproute2")
    if made.returncode != 0:
        raise unittest.SkipTest(f"needs root to make network namespaces: {made.stderr.strip()}")
    subprocess.run(["ip", "netns", "delete", name], check=True)


def namespaces(pid):
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.startswith(f"netlab{pid}-")]


def processes_in(spaces):
    pids = []
    for space in spaces:
        listed = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True)
        pids += [int(pid) for pid in listed.stdout.split()]
    return pids


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class NetlabTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_namespaces()

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.report_path = self.directory / "report.json"

    def start(self, *arguments):
        environment = dict(os.environ, TMPDIR=str(self.directory))
        process = subprocess.Popen([NETLAB, *map(str, arguments)], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_lab(self, *arguments, status=0):
        """(output, report) of a run, after which nothing of it is left."""
        process = self.start("--report", self.report_path, *arguments)
        output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, errors)
        self.assertEqual(namespaces(process.pid), [])
        self.assertEqual(list(self.directory.glob("netlab*")), [])
        return output, json.loads(self.report_path.read_text())

    def test_sparse_sums_of_ranks_on_three_hosts_are_those_of_mpi(self):
        if not RANKS.exists():
            self.skipTest("this build has no MPI")
        _, report = self.run_lab("--hosts", 3, "--rate", "50mbit", "--", RANKS, "reference")
        self.assertEqual([link["host"] for link in report["links"]], [0, 1, 2])
        for link in report["links"]:
            # Even one dense sum of 50,000 values cannot be had for less.
            self.assertGreater(link["sent_bytes"], 100_000)
            self.assertGreater(link["received_bytes"], 100_000)

    def test_ranks_of_a_host_share_its_link(self):
        if not RANKS.exists():
            self.skipTest("this build has no MPI")
        self.run_lab("--hosts", 2, "--ranks-per-host", 2, "--", RANKS, "reference")

    def test_a_link_carries_no_more_than_its_rate(self):
        count = 12_000_000
        start = time.monotonic()
        output, report = self.run_lab("--hosts", 2, "--rate", "50mbit", "--launcher", "gloo", "--",
                                      sys.executable, "-c", SEND, count)
        seconds = time.monotonic() - start
        self.assertIn(f"received {count}", output)
        sender, receiver = report["links"][1], report["links"][0]
        self.assertGreaterEqual(sender["sent_bytes"], count)
        self.assertGreaterEqual(receiver["received_bytes"], count)
        burst = 2 * 70_000
        self.assertLessEqual(sender["sent_bytes"] - burst, seconds * report["rate_bits_per_s"] / 8)

    def test_every_rank_learns_its_place(self):
        output, _ = self.run_lab("--hosts", 3, "--launcher", "gloo", "--", "sh", "-c",
                                 'test -d "$TANDEM_STORE" && echo {rank}/$TANDEM_WORLD {address} $(uname -n)')
        lines = sorted(line.split() for line in output.splitlines())
        self.assertEqual([line[:2] for line in lines],
                         [["0/3", "10.91.0.1"], ["1/3", "10.91.0.2"], ["2/3", "10.91.0.3"]])
        self.assertEqual(len({line[2] for line in lines}), 3)

    def test_the_command_s_status_is_the_run_s(self):
        self.run_lab("--hosts", 2, "--launcher", "gloo", "--", "sh", "-c", "exit $(({rank} * 7))", status=7)

    def test_a_delay_is_kept_or_refused(self):
        process = self.start("--hosts", 2, "--delay", "1ms", "--launcher", "gloo", "--", "true")
        _, errors = process.communicate(timeout=60)
        if process.returncode != 0:
            self.assertIn("no netem", errors)
        self.assertEqual(namespaces(process.pid), [])

    def start_sleepers(self):
        """A run whose ranks sleep; returns it and their process ids."""
        process = self.start("--hosts", 2, "--launcher", "gloo", "--", "sh", "-c", 'touch "{store}/{rank}"; sleep 1000')
        for _ in range(400):
            if len(list(self.directory.glob("netlab*/store/*"))) == 2:
                return process, processes_in(namespaces(process.pid))
            time.sleep(0.05)
        self.fail("the ranks did not start")

    def test_a_signal_ends_the_run_and_its_ranks(self):
        process, ranks = self.start_sleepers()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(namespaces(process.pid), [])
        self.assertFalse(any(map(running, ranks)))

    def test_clean_removes_a_killed_run_and_no_other(self):
        killed, ranks = self.start_sleepers()
        killed.kill()
        killed.wait()
        self.assertEqual(len(namespaces(killed.pid)), 3)
        living = self.start("--hosts", 1, "--launcher", "gloo", "--", "sleep", "1000")
        for _ in range(400):
            if processes_in(namespaces(living.pid)):
                break
            time.sleep(0.05)
        subprocess.run([NETLAB, "clean"], env=dict(os.environ, TMPDIR=str(self.directory)), check=True,
                       capture_output=True, timeout=60)
        self.assertEqual(namespaces(killed.pid), [])
        self.assertFalse(any(map(running, ranks)))
        self.assertEqual(list(self.directory.glob(f"netlab{killed.pid}.*")), [])
        self.assertEqual(len(namespaces(living.pid)), 2)
        living.terminate()
        living.communicate(timeout=60)


if __name__ == "__main__":
    unittest.main()
