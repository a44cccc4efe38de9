# SPDX-License-Identifier: Apache-2.0
#
# scripts/netlab.sh: ranks in namespaces compute the right sums, links keep their rate, and nothing is left behind.
#
# No assertion depends on the machine's speed: on a loaded machine a link only moves fewer bytes.
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from waiting import is_running

BUILD = Path(os.environ.get("TANDEM_BINARY_DIR", "build/release"))
NETLAB = str(Path(__file__).resolve().parents[2] / "scripts" / "netlab.sh")
RANKS = BUILD / "bin" / "mpi_ranks"

# Rank 1 connects to rank 0; pieces are what both run next.
CONNECT = """
import os, socket, sys, time
address = ("10.91.0.1", 5000)
is_receiver = os.environ["TANDEM_RANK"] == "0"
if is_receiver:
    connection, _ = socket.create_server(address).accept()
else:
    for _ in range(24_000):
        try:
            connection = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
"""

# Rank 1 sends argv[1] bytes to rank 0, which prints how many came and how long after it asked for them.
SEND = CONNECT + """
if is_receiver:
    start = time.monotonic()
    connection.sendall(b"!")
    received = 0
    while piece := connection.recv(1 << 20):
        received += len(piece)
    print(received, time.monotonic() - start)
else:
    connection.recv(1)
    connection.sendall(bytes(int(sys.argv[1])))
"""

# Rank 1 prints the shortest of ten round trips to rank 0.
ECHO = CONNECT + """
shortest = 1e9
for _ in range(10):
    if is_receiver:
        connection.sendall(connection.recv(1))
    else:
        start = time.monotonic()
        connection.sendall(b"!")
        connection.recv(1)
        shortest = min(shortest, time.monotonic() - start)
if not is_receiver:
    print(shortest)
"""


def probe(*commands):
    """Why the commands, run in and on a namespace {0}, do not all work; empty if they do."""
    name = f"netlab{os.getpid()}-probe"
    try:
        for command in ("ip netns add {0}", *commands):
            made = subprocess.run([word.format(name) for word in command.split()], capture_output=True, text=True)
            if made.returncode != 0:
                return f"'{command.format(name)}' says: {made.stderr.strip()}"
    except FileNotFoundError as error:
        return f"no program '{error.filename}'"
    finally:
        if shutil.which("ip"):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)
    return ""


def require_namespaces():
    missing = probe("ip -n {0} link add bridge type bridge", "ip -n {0} link add port type veth peer name eth0",
                    "ip netns exec {0} tc qdisc add dev eth0 root tbf rate 1mbit burst 70000 latency 40ms",
                    "ip netns exec {0} unshare --uts dd if=/proc/sys/kernel/hostname of=/proc/sys/kernel/hostname")
    if missing:
        raise unittest.SkipTest(f"needs root, iproute2 and a kernel with namespaces, bridges, veth and tbf: {missing}")


def namespaces(pid):
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.startswith(f"netlab{pid}-")]


def processes_in(spaces):
    pids = []
    for space in spaces:
        listed = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True)
        pids += [int(pid) for pid in listed.stdout.split()]
    return pids


def processes_with(variable):
    """Those running whose environment has it."""
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if variable.encode() in (path / "environ").read_bytes().split(b"\0") and is_running(path.name):
                pids.append(int(path.name))
        except OSError:
            pass
    return pids


class NetlabTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_namespaces()

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.report_path = self.directory / "report.json"

    def start(self, *arguments, **variables):
        environment = dict(os.environ, TMPDIR=str(self.directory), **variables)
        process = subprocess.Popen([NETLAB, *map(str, arguments)], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_lab(self, *arguments, status=0):
        """(output, report) of a run, after which nothing of it is left."""
        process = self.start("--report", self.report_path, *arguments)
        output, errors = process.communicate(timeout=1200)
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
        output, report = self.run_lab("--hosts", 2, "--rate", "50mbit", "--launcher", "gloo", "--",
                                      sys.executable, "-c", SEND, count)
        received, seconds = output.split()
        self.assertEqual(int(received), count)
        self.assertGreaterEqual(report["links"][1]["sent_bytes"], count)
        self.assertGreaterEqual(report["links"][0]["received_bytes"], count)
        bursts = 2 * 70_000
        self.assertLessEqual(count - bursts, float(seconds) * 50e6 / 8)

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
        delay = 0.02
        process = self.start("--hosts", 2, "--delay", f"{delay}s", "--launcher", "gloo", "--", sys.executable, "-c", ECHO)
        output, errors = process.communicate(timeout=1200)
        self.assertEqual(namespaces(process.pid), [])
        if probe("ip netns exec {0} tc qdisc add dev lo root netem delay 1ms"):
            self.assertEqual(process.returncode, 2)
            self.assertIn("no netem", errors)
        else:
            self.assertEqual(process.returncode, 0, errors)
            # tc counts time in ticks below a microsecond.
            self.assertGreaterEqual(float(output), 2 * delay - 1e-5)

    def start_sleepers(self):
        """A run whose ranks sleep; returns it and their process ids."""
        process = self.start("--hosts", 2, "--launcher", "gloo", "--", "sh", "-c", 'touch "{store}/{rank}"; sleep 1000')
        for _ in range(24_000):
            if len(list(self.directory.glob("netlab*/store/*"))) == 2:
                return process, processes_in(namespaces(process.pid))
            time.sleep(0.05)
        self.fail("the ranks did not start")

    def test_a_signal_ends_the_run_and_its_ranks(self):
        process, ranks = self.start_sleepers()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(namespaces(process.pid), [])
        self.assertFalse(any(map(is_running, ranks)))

    def test_a_signal_while_ranks_start_leaves_none(self):
        # Ranks that stay outside their namespace for a while, where the lab cannot find them by it.
        slow_ip = self.directory / "bin" / "ip"
        slow_ip.parent.mkdir()
        slow_ip.write_text(f"""#!/bin/sh
case "$*" in *unshare*) touch "$TMPDIR/starting"; sleep 60 ;; esac
exec {shutil.which("ip")} "$@"
""")
        slow_ip.chmod(0o755)
        process = self.start("--hosts", 2, "--launcher", "gloo", "--", "sleep", "1000",
                             PATH=f"{slow_ip.parent}:{os.environ['PATH']}")
        for _ in range(24_000):
            if (self.directory / "starting").exists():
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=1200)
        left = processes_with(f"TMPDIR={self.directory}")
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, [])
        self.assertEqual(namespaces(process.pid), [])

    def test_a_run_leaves_files_of_a_like_name_alone(self):
        process = self.start("--hosts", 1, "--launcher", "gloo", "--", "true")
        results = self.directory / f"netlab{process.pid}.results.csv"
        results.write_text("mine")
        process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(list(self.directory.iterdir()), [results])

    def clean(self):
        subprocess.run([NETLAB, "clean"], env=dict(os.environ, TMPDIR=str(self.directory)), check=True,
                       capture_output=True, timeout=1200)

    def test_clean_leaves_what_no_run_has_made(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        mine = f"netlab{ended.pid}"
        own, other = f"{mine}-0", f"other{mine}"
        for space in (own, other):
            subprocess.run(["ip", "netns", "add", space], check=True)
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", space], capture_output=True)
        for name in ("netlab8.json", "netlab1.results.csv", f"{mine}.abcdef"):
            (self.directory / name).write_text("mine")
        for name in (f"{mine}.ghijkl", f"{mine}.mnopqr", f"{mine}.results"):
            (self.directory / name).mkdir()
        (self.directory / f"{mine}.results" / "namespaces").write_text(f"{own}\n")
        (self.directory / f"{mine}.stuvwx").symlink_to(f"{mine}.results")
        before = set(self.directory.iterdir())
        # As a run leaves it, but with a line that no run writes.
        left = self.directory / f"{mine}.mnopqr"
        (left / "namespaces").write_text(f"{mine}-1\n{other}\n")
        self.clean()
        self.assertEqual(set(self.directory.iterdir()), before - {left})
        self.assertEqual(namespaces(ended.pid), [own])
        self.assertTrue(Path("/run/netns", other).exists())

    def test_a_namespace_of_another_is_refused_and_kept(self):
        script = (f'ip netns add "netlab$$-switch" && exec "{NETLAB}" --hosts 1 --launcher gloo -- true')
        process = subprocess.Popen(["bash", "-c", script], env=dict(os.environ, TMPDIR=str(self.directory)),
                                   stderr=subprocess.PIPE, text=True)
        space = f"netlab{process.pid}-switch"
        self.addCleanup(subprocess.run, ["ip", "netns", "delete", space], capture_output=True)
        _, errors = process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 2)
        self.assertIn("not ours", errors)
        self.assertEqual(namespaces(process.pid), [space])

    def test_clean_removes_a_killed_run_and_no_other(self):
        killed, ranks = self.start_sleepers()
        killed.kill()
        killed.wait()
        self.assertEqual(len(namespaces(killed.pid)), 3)
        living = self.start("--hosts", 1, "--launcher", "gloo", "--", "sleep", "1000")
        for _ in range(24_000):
            if processes_in(namespaces(living.pid)):
                break
            time.sleep(0.05)
        self.clean()
        self.assertEqual(namespaces(killed.pid), [])
        self.assertFalse(any(map(is_running, ranks)))
        self.assertEqual(list(self.directory.glob(f"netlab{killed.pid}.*")), [])
        self.assertEqual(len(namespaces(living.pid)), 2)
        living.terminate()
        living.communicate(timeout=1200)


if __name__ == "__main__":
    unittest.main()
