# SPDX-License-Identifier: Apache-2.0
#
# `tandem trace-comm` of Tandem's own transports, of emulated cards, and of PyTorch's gloo: matrices equal to closed forms.
import shutil
import subprocess
import unittest
from pathlib import Path

from daemon import BUILD, TANDEM, card_environment
from ports import free_port
from trace_runs import RANKS, TraceCommTest, matrix, ring, sum_of

TRACED_RANKS = BUILD / "bin" / "traced_ranks"
TRACED_COPIES = BUILD / "bin" / "traced_copies"
FRAME = 24  # bytes in front of every message of a collective call


@unittest.skipUnless(TRACED_RANKS.exists(), "traced_ranks is not built")
class OwnTransportsTest(TraceCommTest):
    """What our transports carry, and the models of the algorithms that they carry it for."""
    UNITS, CALLS = 1000, 3  # floats

    def trace(self, transport, scheme, *options, launcher=()):
        self.trace_comm("--out", self.out, *options, "--", *launcher, TRACED_RANKS, transport, RANKS, self.UNITS, scheme,
                        self.CALLS, self.folder / "store")
        report = self.report()
        self.assertEqual((report["ranks"], report["missing_ranks"], report["labels"][0]), (RANKS, [], "rank 0"))
        return report

    def check_ring(self, report, both, kind):
        """`both`: the matrices that hold what was sent."""
        chunk, steps = 4 * self.UNITS // RANKS, (RANKS - 1) * self.CALLS
        one_way = ring(steps * (chunk + FRAME))
        compared = report["by_algorithm"]["allreduce.dense_ring"]
        self.assertEqual(compared["modelled"], {"bytes": ring(2 * steps * chunk), "counts": ring(2 * steps)})
        self.assertEqual(compared["counted"], {"bytes": sum_of(one_way, one_way), "counts": ring(2 * steps)})
        self.assertEqual(compared["counted_minus_modelled_bytes"], ring(2 * steps * FRAME))
        if both is not report:
            return
        phases = report["by_phase"]
        self.assertEqual(phases["ring_reduce-scatter"], {"bytes": one_way, "counts": ring(steps)})
        self.assertEqual(phases["ring_all-gather"], {"bytes": one_way, "counts": ring(steps)})
        self.assertEqual(sorted(phases), ["header_exchange", "ring_all-gather", "ring_reduce-scatter"])
        # The agreement in front of every call is Bruck's all-gather: steps over the distances 1 and 2.
        headers = matrix({(rank, (rank - distance) % RANKS): self.CALLS for rank in range(RANKS) for distance in (1, 2)})
        self.assertEqual(phases["header_exchange"]["counts"], headers)
        self.assertEqual(report["bytes"], sum_of(phases["header_exchange"]["bytes"], one_way, one_way))
        self.assertEqual(report["by_collective"], {"allreduce": {"bytes": report["bytes"], "counts": report["counts"]}})
        self.assertEqual(sorted(report["by_kind"]), [kind])

    def test_threads(self):
        report = self.trace("inproc", "dense_ring", "--kind", "transport")
        self.check_ring(report, report, "tandem_inproc")
        self.assertIn("allreduce.dense_ring", Path(f"{self.out}.html").read_text())

    def test_processes_of_gloo(self):
        report = self.trace("gloo", "dense_ring", "--kind", "transport")
        self.check_ring(report, report, "tandem_gloo")

    @unittest.skipUnless(shutil.which("mpirun"), "MPI is not installed")
    def test_over_mpi_its_calls_are_the_flows_and_ours_are_compared(self):
        launcher = ("mpirun", "--oversubscribe", "-n", RANKS)
        alone = self.trace("mpi", "dense_ring", "--kind", "transport", launcher=launcher)
        self.check_ring(alone, alone, "tandem_mpi")
        report = self.trace("mpi", "dense_ring", launcher=launcher)
        self.check_ring(report, None, "tandem_mpi")
        self.assertEqual([kind for kind in report["by_kind"] if kind.startswith("tandem")], [])
        self.assertEqual(report["counted"], {"bytes": alone["bytes"], "counts": alone["counts"]})

    def test_halving_and_doubling(self):
        report = self.trace("inproc", "dense_halving_doubling", "--kind", "transport")
        compared = report["by_algorithm"]["allreduce.dense_halving_doubling"]
        whole = 4 * self.UNITS * self.CALLS
        pairs = {(rank, rank ^ distance): whole * distance // 2 for rank in range(RANKS) for distance in (1, 2)}
        self.assertEqual(compared["modelled"]["bytes"], matrix(pairs))
        counts = matrix(dict.fromkeys(pairs, 2 * self.CALLS))
        self.assertEqual(compared["counted"]["counts"], counts)
        self.assertEqual(compared["counted_minus_modelled_bytes"], [[FRAME * count for count in row] for row in counts])

    def test_sparse_schemes_are_counted_by_phase(self):
        self.trace_comm("--kind", "transport", "--out", self.out, "--", TANDEM, "allreduce-bench", "--world", 2, "--elements",
                        20000, "--samples", 1, "--warmup", 0, "--schemes", "allgather_sparse", "--timeout", 600)
        report = self.report()
        self.assertEqual(list(report["by_kind"]), ["tandem_inproc"])
        self.assertGreater(report["bytes"][1][0], 0)
        self.assertIn("sparse_allreduce", report["by_collective"])
        self.assertIn("header_exchange", report["by_phase"])
        self.assertGreater(len(report["by_phase"]), 1)
        self.assertNotIn("by_algorithm", report)

    def test_other_kinds_leave_them_alone(self):
        text = self.trace_comm("--kind", "xrt", "--out", self.out, "--", TRACED_RANKS, "inproc", RANKS, 8, "auto", 1,
                               code=2).stderr
        self.assertIn("no process has left a record", text)


GLOO_PROGRAM = """
import multiprocessing, os, sys, torch, torch.distributed as dist
def work(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1], GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo")
    for _ in range(int(sys.argv[2])):
        if rank == 0: dist.send(torch.ones(250000), 1)
        else: dist.recv(torch.empty(250000), 0)
        values = torch.ones(500000)
        dist.all_reduce(values)
        assert values[0] == 2
    dist.destroy_process_group()
if __name__ == "__main__":
    ranks = [multiprocessing.get_context("spawn").Process(target=work, args=(rank,)) for rank in range(2)]
    for rank in ranks: rank.start()
    for rank in ranks: rank.join()
    sys.exit(max(rank.exitcode for rank in ranks))
"""


class GlooTest(TraceCommTest):
    """A program of PyTorch with gloo between two processes."""
    MESSAGE, REDUCED = 1_000_000, 2_000_000  # bytes of a send, and of an all-reduce

    def trace(self, kind, calls):
        script = self.folder / "gloo_program.py"
        script.write_text(GLOO_PROGRAM)
        self.trace_comm("--kind", kind, "--out", self.out, "--", "/usr/bin/python3", script, free_port(), calls)
        report = self.report()
        self.assertEqual((report["ranks"], report["missing_ranks"]), (2, []))
        return report["by_kind"]

    @unittest.skipUnless(subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0,
                         "PyTorch is not installed (python3-torch)")
    def test_bytes_are_those_of_the_calls(self):
        """An all-reduce of two ranks sends the whole buffer each way: half of it twice."""
        for kind, calls in (("gloo", 1), ("all", 3)):
            with self.subTest(kind=kind):
                kinds = self.trace(kind, calls)
                rows = kinds["gloo"]["bytes"]
                self.assertEqual((rows[0][0], rows[1][1]), (0, 0))
                # Beside the payload there are headers: fewer than a hundredth of it.
                for sent, payload in ((rows[1][0], self.MESSAGE + self.REDUCED), (rows[0][1], self.REDUCED)):
                    self.assertGreaterEqual(sent, payload * calls)
                    self.assertLess(sent, payload * calls * 1.01)
                self.assertEqual(sorted(kinds), ["gloo", "torch_store"])

    def test_our_own_transport_over_gloo_is_counted_once(self):
        if not TRACED_RANKS.exists():
            self.skipTest("traced_ranks is not built")
        self.trace_comm("--out", self.out, "--", TRACED_RANKS, "gloo", 2, 1000, "dense_ring", 1, self.folder / "store")
        self.assertEqual(list(self.report()["by_kind"]), ["tandem_gloo"])


@unittest.skipUnless(TRACED_COPIES.exists(), "traced_copies is not built")
class CardTest(TraceCommTest):
    def test_copies_of_hosts_and_peers(self):
        for kind in ("xrt", "all"):
            with self.subTest(kind=kind):
                self.trace_comm("--kind", kind, "--out", self.out, "--", TRACED_COPIES, environment=card_environment(2))
                report = self.report()
                self.assertEqual(report["labels"], ["host", "card 0", "card 1"])
                self.assertEqual(report["bytes"], [[0, 0, 1000], [4096, 0, 0], [0, 4096, 512]])
                self.assertEqual(report["counts"], [[0, 0, 1], [1, 0, 0], [0, 1, 1]])
                self.assertEqual(sorted(report["by_kind"]), ["xrt_device_copy", "xrt_device_to_host", "xrt_host_to_device",
                                                             "xrt_peer_copy"])
                self.assertEqual(report["by_kind"]["xrt_peer_copy"]["bytes"], [[0, 0, 0], [0, 0, 0], [0, 4096, 0]])


if __name__ == "__main__":
    unittest.main()
