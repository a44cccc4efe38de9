# SPDX-License-Identifier: Apache-2.0
#
# `tandem map --traffic`: ranks onto topologies, with written matrices and with the trace of a real run, and mpirun with the rank file.
import itertools
import json
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from daemon import BUILD, TANDEM, run, run_json
from planner_test import PlannerCase
from trace_runs import ENVIRONMENT, TraceCommTest, ring

PROGRAM = BUILD / "bin" / "traced_program"
TWO_HOSTS = ("".join(f"place {host}{slot} {host} {slot}\nlink {host}{slot} {host}\n" for host in "ab" for slot in (0, 1))
             + "link a b 10\n")


def matrix_text(cells, ranks):
    """The JSON of a trace, from {(source, destination): bytes}."""
    return json.dumps({"ranks": ranks, "bytes": [[cells.get((source, to), 0) for source in range(ranks)] for to in range(ranks)]})


def usable_cores():
    """Those of this process, each as the list of its hardware threads: Open MPI places ranks on cores."""
    of = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return {Path(of.format(cpu)).read_text() for cpu in os.sched_getaffinity(0)}


class MapRanksTest(PlannerCase):
    """0 sends to 2, and 1 to 3; the places 0, 1 and 2, 3 are those of a host."""

    def setUp(self):
        super().setUp()
        self.traffic = self.file("run.json", matrix_text({(0, 2): 700, (1, 3): 300, (3, 0): 5}, 4))
        self.hosts = self.file("hosts.txt", TWO_HOSTS)

    def test_partners_come_together(self):
        ranks = self.folder / "ranks.txt"
        result = run_json("map", "--traffic", self.traffic, "--topology", self.hosts, "--seconds", "1", "--seed", "3", "--rankfile", ranks)
        self.assertEqual((result["slow_bytes_before"], result["slow_bytes"], result["bytes"]), (1005, 5, 1005))
        self.assertEqual((result["cost_before"], result["cost"]), (1005 * 12, 1000 * 2 + 5 * 12))
        places = result["permutation"]
        self.assertEqual(sorted(places), [0, 1, 2, 3])
        self.assertEqual((places[0] // 2, places[1] // 2), (places[2] // 2, places[3] // 2))
        self.assertEqual(result["places"], [("a0", "a1", "b0", "b1")[place] for place in places])
        self.assertEqual([places[rank] for rank in result["nccl_order"]], [0, 1, 2, 3])
        self.assertEqual((result["num_tasks"], result["num_places"], result["seed"]), (4, 4, 3))
        self.assertEqual(ranks.read_text(), "".join(f"rank {rank}={'ab'[place // 2]} slot={place % 2}\n" for rank, place in enumerate(places)))
        self.assertEqual(result["rankfile"], str(ranks))
        text = run("map", "--traffic", self.traffic, "--topology", self.hosts, "--seconds", "1").stdout
        self.assertIn("bytes over slow links 5, before: 1005", text)

    def test_every_shape_has_the_least_cost_of_all_mappings(self):
        cells = {(0, 2): 700, (1, 3): 300, (3, 0): 5}
        ways = {"mesh:2x2": lambda a, b: bin(a ^ b).count("1"), "torus:4": lambda a, b: min((a - b) % 4, (b - a) % 4),
                "dragonfly:2x1x2": lambda a, b: 2 if a // 2 == b // 2 else 5, "machine:numa:2 core:2 pu:1": lambda a, b: 2 if a // 2 == b // 2 else 8}
        for topology, way in ways.items():
            with self.subTest(topology=topology):
                costs = {places: sum(size * way(places[a], places[b]) for (a, b), size in cells.items())
                         for places in itertools.permutations(range(4))}
                arguments = ("map", "--traffic", self.traffic, "--topology", topology, "--seconds", "0.5")
                if "libhwloc-dev" in run(*arguments).stderr:
                    self.skipTest("this build has no hwloc")
                result = run_json(*arguments)
                self.assertEqual(result["cost_before"], costs[0, 1, 2, 3])
                self.assertEqual(result["cost"], min(costs.values()))
                self.assertEqual(costs[tuple(result["permutation"])], result["cost"])
                self.assertEqual(run_json(*arguments, "--method", "qubo")["cost"], min(costs.values()))

    def test_free_places_and_the_mapping_that_is_best_already(self):
        traffic = self.file("pair.json", matrix_text({(0, 1): 9, (1, 0): 9}, 2))
        result = run_json("map", "--traffic", traffic, "--topology", "fat-tree:4", "--seconds", "0.2")
        self.assertEqual((result["permutation"], result["num_places"], result["cost"], result["cost_before"]), ([0, 1], 16, 36, 36))
        self.assertEqual((result["slow_bytes"], result["nccl_order"]), (0, [0, 1]))
        idle = self.file("idle.json", matrix_text({}, 5))
        self.assertEqual(run_json("map", "--traffic", idle, "--topology", "torus:3x4", "--seconds", "0.2")["permutation"], [0, 1, 2, 3, 4])

    def test_places_of_a_shape_are_hosts_of_the_allocation_or_of_a_hostfile(self):
        ranks = self.folder / "ranks.txt"
        arguments = ("map", "--traffic", self.file("idle.json", matrix_text({}, 3)), "--topology", "torus:2x2", "--seconds", "0.1", "--rankfile", ranks)
        run_json(*arguments)
        self.assertEqual(ranks.read_text(), "rank 0=+n0 slot=0\nrank 1=+n1 slot=0\nrank 2=+n2 slot=0\n")
        run_json(*arguments, "--hosts", self.file("hosts", "alpha slots=2\nbeta slots=2\n"))
        self.assertEqual(ranks.read_text(), "rank 0=alpha slot=0\nrank 1=alpha slot=1\nrank 2=beta slot=0\n")
        self.assert_refused("hosts': the hosts have 1 slots", *arguments, "--hosts", self.file("hosts", "alpha\n"))

    def test_the_qubo_goes_to_an_annealer_and_back(self):
        out = self.folder / "ranks.qubo"
        run_json("map", "--traffic", self.traffic, "--topology", "torus:4", "--export-qubo", out)
        self.assertIn("p qubo 0 16", out.read_text())
        bits = self.file("bits.txt", "1000" "0010" "0100" "0001")
        result = run_json("map", "--traffic", self.traffic, "--topology", "torus:4", "--samples", bits)
        self.assertEqual((result["permutation"], result["cost_before"], result["cost"]), ([0, 2, 1, 3], 2005, 1005))

    def test_what_is_wrong_is_named(self):
        def refused(words, topology=self.hosts, traffic=self.traffic, *more):
            self.assert_refused(words, "map", "--traffic", traffic, "--topology", topology, "--seconds", "0.1", *more)

        self.assert_refused("--topology", "map", "--traffic", self.traffic)
        self.assert_refused("--traffic", "map", "--topology", "mesh:4")
        self.assert_refused("--traffic", "map", "--qaplib", self.traffic, "--rankfile", self.folder / "x")
        self.assert_refused("name what to map", "map", "--traffic", self.traffic, "--topology", "mesh:4", "--qaplib", self.hosts)
        refused("4 ranks need a place each; the topology has 3", "mesh:3")
        refused("'torus:2x0': '0' is not a size", "torus:2x0")
        refused("cannot read 'ring:4'", "ring:4")
        refused("hosts.txt': line 2: the cost 'x'", self.file("hosts.txt", "place a\nlink a b x\n"))
        parts = self.file("parts.txt", "place a\nplace b\nplace c\nplace d\nlink a b\nlink c d\n")
        refused("no links lead from 'a' to 'c'", parts)
        # A build without hwloc names its package instead.
        process = run("map", "--traffic", self.traffic, "--topology", "machine:rack:x")
        self.assertEqual(process.returncode, 2)
        self.assertRegex(process.stderr, "hwloc cannot read 'rack:x'|libhwloc-dev")
        refused("run.json': the file is not complete JSON", "mesh:4", self.file("run.json", '{"ranks": 4'))
        refused("cannot read", "mesh:4", self.folder / "absent.json")
        good = self.file("good.json", matrix_text({}, 4))
        refused("cannot write", "mesh:4", good, "--rankfile", self.folder / "absent" / "ranks.txt")
        gpus = "".join(f'<pci busid="{gpu}"><gpu dev="{gpu}"/></pci>' for gpu in range(4))
        gpus = self.file("gpus.xml", f"<system><cpu>{gpus}</cpu></system>")
        refused("'gpu 0' is none; the order for NCCL", gpus, good, "--rankfile", self.folder / "ranks.txt")
        self.assertEqual(run_json("map", "--traffic", good, "--topology", gpus, "--seconds", "0.1")["places"], [f"gpu {gpu}" for gpu in range(4)])


@unittest.skipUnless(shutil.which("mpirun") and PROGRAM.exists(), "MPI is not installed")
class MapTraceTest(TraceCommTest):
    def test_the_trace_of_a_ring_finds_its_way_over_two_hosts(self):
        self.trace_comm("--kind", "mpi", "--out", self.out, "--", "mpirun", "--oversubscribe", "-n", 4, PROGRAM, "pass_on")
        self.assertEqual(self.report()["bytes"], ring(3000))
        hosts = self.folder / "hosts.txt"
        # The places of a host are not consecutive, so every message of the ring crosses at first.
        hosts.write_text("\n".join(sorted(TWO_HOSTS.splitlines(), key=lambda line: (line[:5] != "place", line[7:8]))))
        result = run_json("map", "--traffic", f"{self.out}.json", "--topology", hosts, "--seconds", "1")
        self.assertEqual((result["slow_bytes_before"], result["slow_bytes"]), (4 * 3000, 2 * 3000))

    def test_mpirun_takes_the_rank_file(self):
        if len(usable_cores()) < 2:
            self.skipTest("one core")
        traffic, ranks = self.folder / "pair.json", self.folder / "ranks.txt"
        traffic.write_text(matrix_text({(0, 1): 5}, 2))
        cores = self.folder / "cores.txt"
        cores.write_text("place second localhost 1\nplace first localhost 0\nlink first second\n")
        run_json("map", "--traffic", traffic, "--topology", cores, "--seconds", "0.1", "--rankfile", ranks)
        self.assertEqual(ranks.read_text(), "rank 0=localhost slot=1\nrank 1=localhost slot=0\n")
        process = subprocess.run(["mpirun", "--rankfile", ranks, "-n", "2", "--report-bindings", "true"], env=ENVIRONMENT,
                                 capture_output=True, text=True, timeout=1200)
        self.assertEqual(process.returncode, 0, process.stderr)
        bound = dict(re.findall(r"rank (\d) bound to socket \d+\[core (\d)", process.stderr))
        self.assertEqual(bound, {"0": "1", "1": "0"})


if __name__ == "__main__":
    unittest.main()
