# SPDX-License-Identifier: Apache-2.0
#
# `tandem trace-comm --events`: the single events of every source, and matrices that follow from them. Copies of GPUs over a
# fake CUPTI; every way to send over TCP.
import csv
import shutil
import unittest
from collections import Counter
from pathlib import Path

from daemon import BUILD, card_environment
from trace_runs import ENVIRONMENT, RANKS, TraceCommTest

PROGRAM = BUILD / "bin" / "traced_program"
FAKE_NCCL = BUILD / "bin" / "fake_nccl"
TRACED_RANKS = BUILD / "bin" / "traced_ranks"
TRACED_COPIES = BUILD / "bin" / "traced_copies"
TRACED_SOCKETS = BUILD / "bin" / "traced_sockets"
TRACED_GPU_COPIES = BUILD / "bin" / "traced_gpu_copies"
FAKE_CUPTI = BUILD / "tests" / "fake_cupti"


class EventRuns(TraceCommTest):
    def events(self):
        with open(f"{self.out}.events.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        times = [float(row["time_s"]) for row in rows]
        self.assertEqual(times, sorted(times))
        return rows

    def check_that_events_are_the_matrix(self, report, rows):
        sums = Counter()
        for row in rows:
            sums[row["source"], row["destination"]] += int(row["bytes"])
        labels = report["labels"]
        found = [[sums[source, to] for source in labels] for to in labels]
        self.assertEqual(found, report["bytes"])
        self.assertEqual(report["events"], {"kept": len(rows), "dropped": 0})


class SourcesTest(EventRuns):
    """Every source gives its events."""

    @unittest.skipUnless(shutil.which("mpirun") and PROGRAM.exists(), "MPI is not installed")
    def test_calls_of_mpi_with_their_phases(self):
        self.trace_comm("--kind", "mpi", "--events", "--out", self.out, "--", "mpirun", "--oversubscribe", "-n", RANKS, PROGRAM,
                        "phases")
        rows = self.events()
        self.check_that_events_are_the_matrix(self.report(), rows)
        self.assertEqual({row["phase"] for row in rows}, {"2", "3"})
        self.assertEqual({row["kind"] for row in rows}, {"mpi_point_to_point", "mpi_collective"})
        self.assertTrue(all(float(row["time_s"]) >= 0 for row in rows))

    @unittest.skipUnless(FAKE_NCCL.exists(), "fake_nccl is not built")
    def test_callbacks_of_nccl(self):
        self.trace_comm("--kind", "nccl", "--events", "--out", self.out, "--", FAKE_NCCL, 5, RANKS, "processes")
        self.check_that_events_are_the_matrix(self.report(), self.events())

    @unittest.skipUnless(TRACED_RANKS.exists(), "traced_ranks is not built")
    def test_messages_of_our_transports_with_the_phase_of_the_scheme(self):
        self.trace_comm("--kind", "transport", "--events", "--out", self.out, "--", TRACED_RANKS, "inproc", RANKS, 1000,
                        "dense_ring", 2)
        rows = self.events()
        self.check_that_events_are_the_matrix(self.report(), rows)
        self.assertEqual({(row["operation"], row["phase"]) for row in rows},
                         {("allreduce", phase) for phase in ("header_exchange", "ring_reduce-scatter", "ring_all-gather")})

    @unittest.skipUnless(TRACED_COPIES.exists(), "traced_copies is not built")
    def test_copies_of_emulated_cards(self):
        self.trace_comm("--kind", "xrt", "--events", "--out", self.out, "--", TRACED_COPIES, environment=card_environment(2))
        rows = self.events()
        self.check_that_events_are_the_matrix(self.report(), rows)
        self.assertEqual(len(rows), 4)

    @unittest.skipUnless(TRACED_SOCKETS.exists(), "traced_sockets is not built")
    def test_every_way_to_send_over_tcp_and_descriptors_that_are_inherited(self):
        library = self.folder / "libgloo-double.so"
        shutil.copy(FAKE_CUPTI / "libcupti.so.13", library)
        self.trace_comm("--kind", "gloo", "--events", "--out", self.out, "--", TRACED_SOCKETS, library)
        report = self.report()
        every_way = 1 + 10 + 100 + 200 + 300 + (200 + 300) + 1000 + 30
        self.assertEqual(report["bytes"], [[0, 5], [every_way + 2000 + 300 + 50 + 7 + 40, 0]])
        self.assertEqual(report["counts"], [[0, 5], [8 + 3 + 1 + 1, 0]])
        self.check_that_events_are_the_matrix(report, self.events())


class StreamTest(EventRuns):
    """What becomes of the events."""

    def trace(self, *options):
        return self.trace_comm("--kind", "transport", "--events", *options, "--out", self.out, "--", TRACED_RANKS, "inproc",
                               RANKS, 1000, "dense_ring", 3)

    @unittest.skipUnless(TRACED_RANKS.exists(), "traced_ranks is not built")
    def test_matrices_of_windows_and_phases_follow_from_the_events(self):
        self.trace()
        first = self.report()
        again = self.folder / "again"
        self.trace_comm("--import", f"{self.out}.events.csv", "--window", 0.001, "--events", "--out", again)
        events_before = Path(f"{self.out}.events.csv").read_text()
        self.out = again
        second = self.report()
        for field in ("ranks", "labels", "bytes", "counts", "by_kind", "by_collective", "by_phase", "events"):
            self.assertEqual(second[field], first[field], field)
        self.assertEqual(Path(f"{again}.events.csv").read_text(), events_before)
        windows = [each["bytes"] for each in second["by_window"].values()]
        self.assertEqual([[sum(cells) for cells in zip(*rows)] for rows in zip(*windows)], first["bytes"])

    @unittest.skipUnless(TRACED_RANKS.exists(), "traced_ranks is not built")
    def test_events_that_are_not_kept_are_in_the_sums(self):
        self.trace()
        whole = self.report()
        process = self.trace("--most-events", 5)
        cut = self.report()
        self.assertEqual(cut["bytes"], whole["bytes"])
        dropped = whole["events"]["kept"] - 5
        self.assertEqual(cut["events"], {"kept": 5, "dropped": dropped})
        self.assertEqual(len(self.events()), 5)
        self.assertIn(f"tandem: {dropped} events are not in {self.out}.events.csv, but in all sums", process.stderr)

    @unittest.skipUnless(TRACED_RANKS.exists(), "traced_ranks is not built")
    def test_without_the_option_there_are_none(self):
        self.trace_comm("--kind", "transport", "--out", self.out, "--", TRACED_RANKS, "inproc", RANKS, 8, "auto", 1)
        self.assertFalse(Path(f"{self.out}.events.csv").exists())
        self.assertNotIn("events", self.report())

    def test_a_wrong_line_is_named(self):
        file = self.folder / "a.events.csv"
        file.write_text("time_s,source,destination,bytes,messages,kind,operation,phase\n1,rank 0,elsewhere,1,1,k,o,0\n")
        text = self.trace_comm("--import", file, "--out", self.out, code=2).stderr
        self.assertIn("a.events.csv line 2: 'elsewhere' is none of: host, switch", text)


@unittest.skipUnless(TRACED_GPU_COPIES.exists(), "traced_gpu_copies is not built")
class CudaTest(EventRuns):
    """Copies of GPUs, by the records of a fake CUPTI."""

    def trace(self, *options, launcher=(), environment=()):
        return self.trace_comm("--kind", "cuda", "--events", "--out", self.out, *options, "--", *launcher, TRACED_GPU_COPIES,
                               environment={**ENVIRONMENT, "LD_LIBRARY_PATH": str(FAKE_CUPTI), **dict(environment)})

    def test_copies_between_host_devices_and_peers(self):
        self.trace("--window", 1)
        report = self.report()
        self.assertEqual(report["labels"], ["host", "gpu 0", "gpu 1"])
        kinds = {kind: both["bytes"] for kind, both in report["by_kind"].items()}
        none = [0, 0, 0]
        self.assertEqual(kinds, {"host_to_device": [none, [4096, 0, 0], none],
                                 "device_to_host": [[0, 0, 100], none, none],
                                 "device_copy": [none, none, [0, 0, 30]],
                                 "peer_copy": [none, none, [0, 7000, 0]],
                                 "unified_memory": [[0, 512, 0], [0, 0, 64], [65536, 0, 0]]})
        self.assertEqual(report["not_modelled"], {"copies_that_CUPTI_dropped": 5, "cuda_copy": 1})
        rows = self.events()
        self.check_that_events_are_the_matrix(report, rows)
        self.assertEqual(rows[-1]["kind"], "peer_copy")
        self.assertGreater(float(rows[-1]["time_s"]) - float(rows[0]["time_s"]), 1.4)
        self.assertGreaterEqual(len(report["by_window"]), 2)

    def test_a_launched_rank_stands_for_its_gpus(self):
        launched = {"RANK": "1", "WORLD_SIZE": "2"}
        self.trace(environment=launched)
        report = self.report()
        self.assertEqual(report["labels"], ["host", "rank 0", "rank 1"])
        self.assertEqual(report["by_kind"]["host_to_device"]["bytes"][2][0], 4096)
        self.assertEqual(report["missing_ranks"], [0])

    def test_a_cupti_that_refuses_is_told_and_the_program_goes_on(self):
        process = self.trace_comm("--kind", "cuda", "--out", self.out, "--", TRACED_GPU_COPIES, code=2,
                                  environment={**ENVIRONMENT, "LD_LIBRARY_PATH": str(FAKE_CUPTI), "FAKE_CUPTI_REFUSES": "1"})
        self.assertIn("copies of GPUs are not traced: CUPTI refuses", process.stderr)
        self.assertIn("the program has ended with code 0 and no process has left a record", process.stderr)

    def test_another_profiler_goes_first(self):
        process = self.trace_comm("--kind", "cuda", "--out", self.out, "--", TRACED_GPU_COPIES, code=3,
                                  environment={**ENVIRONMENT, "CUDA_INJECTION64_PATH": "/no/such/library"})
        self.assertIn("the program has ended with code 3", process.stderr)


if __name__ == "__main__":
    unittest.main()
