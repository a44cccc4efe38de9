# SPDX-License-Identifier: Apache-2.0
#
# `tandem trace-comm` as a user runs it: matrices of MPI programs equal to their closed forms, imports, and the errors for
# wrong arguments.
import csv
import json
import shutil
import sqlite3
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from daemon import BUILD, TANDEM
from trace_runs import ENVIRONMENT, RANKS, TraceCommTest, matrix, ring, sum_of

PROGRAM = BUILD / "bin" / "traced_program"
FAKE_NCCL = BUILD / "bin" / "fake_nccl"
NVPROF = ('"Start","Duration","Size","Src Dev","Dst Dev","Device","Name"\nms,us,B,,,,\n'
          '1,2,64,,,"V100 (0)","[CUDA memcpy HtoD]"\n2,2,5,"V100 (0)","V100 (1)",,"[CUDA memcpy PtoP]"\n')


@unittest.skipUnless(FAKE_NCCL.exists(), "fake_nccl is not built")
class NcclTest(TraceCommTest):
    """The plugin under a program that replays NCCL's callbacks."""

    def trace(self, version, mode, *options):
        self.trace_comm("--kind", "nccl", "--out", self.out, *options, "--", FAKE_NCCL, version, RANKS, mode)
        report = self.report()
        self.assertEqual((report["ranks"], report["missing_ranks"]), (RANKS, []))
        self.assertEqual(report["not_modelled"], {"nccl_unknown": RANKS})
        return report

    def check_matrices(self, report, copy_engines):
        by_collective = {name: each["bytes"] for name, each in report["by_collective"].items()}
        self.assertEqual(by_collective["allreduce"], ring(2 * 4000 * 3 // 4))
        direct = matrix({(source, to): 64 for source in range(RANKS) for to in range(RANKS) if source != to})
        gathered = ring(400 * 3 // 4)
        if copy_engines:
            gathered = sum_of(gathered, direct)
        self.assertEqual(by_collective["allgather"], gathered)
        self.assertEqual(report["by_kind"]["nccl_point_to_point"]["bytes"], ring(100))

    def test_matrices_equal_the_closed_forms_in_every_version_of_the_interface(self):
        for version in (4, 5, 6):
            with self.subTest(version=version):
                report = self.trace(version, "processes")
                self.check_matrices(report, copy_engines=version == 6)
                self.assertEqual(report["counted"]["bytes"], ring(2 * 3000))

    def test_one_process_may_have_all_gpus(self):
        report = self.trace(6, "threads")
        self.check_matrices(report, copy_engines=True)
        self.assertEqual(report["counted"]["bytes"], ring(2 * 3000))

    def test_a_launcher_has_one_number_for_all_gpus_of_a_process(self):
        launched = {**ENVIRONMENT, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": str(RANKS)}
        self.trace_comm("--kind", "nccl", "--out", self.out, "--", FAKE_NCCL, 6, RANKS, "threads", environment=launched)
        report = self.report()
        self.assertEqual(report["bytes"], matrix({}))
        self.assertEqual(report["not_modelled"]["allreduce"], RANKS)

    def test_groups_of_ranks_are_found_in_the_whole(self):
        report = self.trace(5, "groups")
        halves = matrix({(rank, (rank + 2) % RANKS): 2 * 1000 * 1 // 2 for rank in range(RANKS)})
        self.assertEqual(report["by_collective"]["allreduce"]["bytes"], sum_of(ring(6000), halves))

    def test_what_proxies_do_for_other_processes_is_left_alone(self):
        report = self.trace(5, "foreign")
        self.check_matrices(report, copy_engines=False)
        self.assertNotIn("counted", report)


@unittest.skipUnless(shutil.which("mpirun") and PROGRAM.exists(), "MPI is not installed")
class MpiTest(TraceCommTest):
    def trace(self, *pattern, options=(), code=0):
        process = self.trace_comm("--kind", "mpi", "--out", self.out, *options, "--", "mpirun", "--oversubscribe", "-n",
                                  RANKS, PROGRAM, *pattern, code=code)
        report = self.report()
        self.assertEqual(report["ranks"], RANKS)
        self.assertEqual(report["missing_ranks"], [])
        return report, process

    def test_messages_around_a_ring(self):
        report, process = self.trace("pass_on")
        self.assertEqual(report["bytes"], ring(3000))
        self.assertEqual(report["counts"], ring(3))
        self.assertEqual(report["by_kind"], {"mpi_point_to_point": {"bytes": ring(3000), "counts": ring(3)}})
        self.assertEqual(report["not_modelled"], {})
        self.assertIn("4 ranks or devices: 12 kB in 12 messages", process.stdout)

    def test_every_output_is_written_and_nothing_else_is_left(self):
        self.trace("pass_on", options=["--title", "three & one"])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ["run.csv", "run.html", "run.json", "run.log.svg", "run.prom", "run.svg"])
        for name in ("run.svg", "run.log.svg"):
            self.assertEqual(ElementTree.parse(self.folder / name).getroot().attrib["role"], "img")
        self.assertIn("<title>three &amp; one</title>", (self.folder / "run.html").read_text())
        with open(self.folder / "run.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["source"], row["destination"], row["bytes"]) for row in rows],
                         [(f"rank {rank}", f"rank {(rank + 1) % RANKS}", "3000") for rank in range(RANKS)])

    def test_an_allreduce_by_each_algorithm(self):
        total = 2 * 800 * (RANKS - 1)
        report, _ = self.trace("allreduce")
        self.assertEqual(report["bytes"], ring(total // RANKS))
        self.assertEqual(report["by_collective"]["allreduce"]["counts"], ring(2 * (RANKS - 1)))
        report, _ = self.trace("allreduce", options=["--algorithm", "direct"])
        self.assertEqual(report["bytes"], matrix({(a, b): 400 for a in range(RANKS) for b in range(RANKS) if a != b}))
        report, _ = self.trace("allreduce", options=["--algorithm", "tree"])
        self.assertEqual(sum(map(sum, report["bytes"])), total)
        self.assertEqual(report["model"], "tree")

    def test_blocks_of_every_pair(self):
        report, _ = self.trace("alltoallv")
        self.assertEqual(report["bytes"], matrix({(source, to): 10 * to + source + 1 for source in range(RANKS)
                                                  for to in range(RANKS) if source != to}))

    def test_ranks_of_communicators_are_those_of_the_world(self):
        report, _ = self.trace("halves")
        self.assertEqual(report["by_kind"]["mpi_collective"]["bytes"], matrix({(2, 0): 64, (3, 1): 64}))
        self.assertEqual(report["by_kind"]["mpi_point_to_point"]["bytes"], matrix({(2, 0): 5, (3, 1): 5}))

    def test_one_sided_accesses_have_the_direction_of_their_data(self):
        report, _ = self.trace("one_sided")
        self.assertEqual(report["by_collective"]["put"]["bytes"], ring(24))
        self.assertEqual(report["by_collective"]["get"]["bytes"], ring(8))

    def test_requests_count_as_often_as_they_are_started(self):
        report, _ = self.trace("persistent")
        pairs = [(rank, (rank + 2) % RANKS) for rank in range(RANKS)]
        self.assertEqual(report["bytes"], matrix(dict.fromkeys(pairs, 5 * 48)))
        self.assertEqual(report["counts"], matrix(dict.fromkeys(pairs, 5)))

    def test_phases_and_what_is_paused(self):
        report, _ = self.trace("phases")
        self.assertEqual({phase: both["bytes"] for phase, both in report["by_phase"].items()},
                         {"2": ring(3000), "3": ring(2 * 800 * (RANKS - 1) // RANKS)})

    def test_calls_that_no_model_covers_are_counted(self):
        report, process = self.trace("neighbours")
        self.assertEqual(report["not_modelled"], {"neighbor_alltoall": RANKS})
        self.assertIn("not modelled: 4 calls of neighbor_alltoall", process.stdout)

    def test_a_program_that_sends_nothing_has_an_empty_matrix(self):
        report, _ = self.trace("nothing")
        self.assertEqual(report["bytes"], matrix({}))

    def test_the_programs_exit_code_is_passed_on(self):
        report, _ = self.trace("pass_on", "fail", code=7)
        self.assertEqual(report["bytes"], ring(3000))

    def test_the_transport_counts_what_the_program_sends(self):
        report, _ = self.trace("pass_on", options=["--count-transport"])
        counted = report["counted"]["bytes"]
        for rank in range(RANKS):
            self.assertGreaterEqual(counted[(rank + 1) % RANKS][rank], 3000)

    def test_a_program_without_mpi_leaves_no_record(self):
        text = self.trace_comm("--out", self.out, "--", "true", code=2).stderr
        self.assertIn("no process has left a record", text)
        self.assertEqual(list(self.folder.iterdir()), [])


class ImportTest(TraceCommTest):
    def test_nvprof(self):
        file = self.folder / "gpu.csv"
        file.write_text(NVPROF)
        self.trace_comm("--import", file, "--out", self.out)
        report = self.report()
        self.assertEqual(report["labels"], ["host", "gpu 0", "gpu 1"])
        self.assertEqual(report["bytes"], [[0, 0, 0], [64, 0, 0], [0, 5, 0]])
        self.assertEqual(sorted(report["by_kind"]), ["host_to_device", "peer_copy"])

    def test_an_export_of_nsight(self):
        file = self.folder / "gpu.sqlite"
        database = sqlite3.connect(file)
        database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, bytes, copyKind, deviceId, srcDeviceId, dstDeviceId)")
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 4096, 10, 0, 0, 1)")
        database.commit()
        database.close()
        process = subprocess.run([TANDEM, "trace-comm", "--import", file, "--out", self.out], capture_output=True,
                                 text=True, timeout=1200)
        if "this build has no SQLite" in process.stderr:
            self.skipTest("this build has no SQLite")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(self.report()["bytes"], [[0, 0], [4096, 0]])

    def test_nccl_inspector_of_two_processes(self):
        files = []
        for rank in range(2):
            header = {"id": "0x1", "rank": rank, "n_ranks": 2, "nnodes": 1}
            line = {"header": header, "metadata": {"hostname": "node", "pid": 10 + rank},
                    "coll_perf": {"coll": "AllReduce", "coll_sn": 1, "coll_msg_size_bytes": 1000}}
            files.append(self.folder / f"{rank}.log")
            files[-1].write_text(json.dumps(line) + "\n")
        self.trace_comm("--import", files[0], "--import", files[1], "--out", self.out)
        self.assertEqual(self.report()["bytes"], [[0, 1000], [1000, 0]])

    def test_ranks_without_a_record_are_told_in_one_line(self):
        file = self.folder / "0.record"
        file.write_text("tandem-communication 1\nrank 0 of 1024 on node\nmodel ring\n"
                        "cell 0 1 mpi_collective allreduce 0 0 9 1\nend\n")
        text = self.trace_comm("--import", file, "--out", self.out).stderr
        self.assertEqual(text, "tandem: 1023 ranks left no record, their traffic is missing: 1, 2, 3, 4, 5, 6, 7, 8, ...\n")
        self.assertEqual(self.report()["ranks"], 1024)

    def test_a_wrong_line_is_named_and_nothing_is_written(self):
        file = self.folder / "gpu.csv"
        file.write_text(NVPROF + "3,x\n")
        text = self.trace_comm("--import", file, "--out", self.out, code=2).stderr
        self.assertIn("gpu.csv line 5: there are 2 fields for 7 columns", text)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["gpu.csv"])


class OptionsTest(TraceCommTest):
    def test_wrong_options_are_told(self):
        for arguments, words in [
            (["--out", self.out], "name the program to trace after --, or files with --import"),
            (["--", "true"], "--out is required"),
            (["--out", self.out, "--kind", "tcp", "--", "true"], "--kind"),
            (["--out", self.out, "--algorithm", "star", "--", "true"], "--algorithm"),
            (["--out", self.out, "--window", "-1", "--", "true"], "--window"),
            (["--out", self.folder / "none" / "run", "--", "true"], "there is no folder"),
            (["--out", self.out, "--import", self.folder / "none.csv"], "none.csv"),
        ]:
            with self.subTest(words=words):
                self.assertIn(words, self.trace_comm(*arguments, code=2).stderr)

    def test_exit_codes_are_those_of_a_shell(self):
        plain = self.folder / "plain"
        plain.write_text("no program")
        for command, code, words in [
            (["/no/such/program"], 127, "cannot run '/no/such/program': No such file"),
            (["no-such-program"], 127, "cannot run 'no-such-program': No such file"),
            ([plain], 126, f"cannot run '{plain}': Permission denied"),
            (["sh", "-c", "exit 7"], 7, "ended with code 7 and no process has left a record"),
            (["sh", "-c", "kill -9 $$"], 137, "ended with code 137 and no process has left a record"),
        ]:
            with self.subTest(command=command):
                text = self.trace_comm("--out", self.out, "--", *command, code=code).stderr
                self.assertIn(words, text)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["plain"])


RECORD = """cat > "$TANDEM_TRACE_COMM_FOLDER/mpi-{0}.record" <<END
tandem-communication 1
rank {0} of 2 on node
model ring
cell {0} {1} mpi_collective allreduce 0 0 9 1
{2}END
"""


class HalfWayTest(TraceCommTest):
    """What is left where processes die and disks are full."""

    def test_a_record_that_was_cut_is_left_out_and_its_rank_is_missing(self):
        script = RECORD.format(0, 1, "end\n") + RECORD.format(1, 0, "") + 'echo tandem-sockets > "$TANDEM_TRACE_COMM_FOLDER/a.sockets"'
        text = self.trace_comm("--out", self.out, "--", "sh", "-c", script).stderr
        self.assertIn("the record mpi-1.record is not whole and is left out", text)
        self.assertIn("the record a.sockets is not whole and is left out", text)
        report = self.report()
        self.assertEqual((report["bytes"], report["missing_ranks"]), ([[0, 0], [9, 0]], [1]))

    def test_a_disk_that_is_full_is_told_and_leaves_no_half_file(self):
        kept = self.folder / "run.json"
        kept.write_text("of another run")
        # Files of this process and its children may have 2 blocks (1,024 or 2,048 bytes); the picture needs more.
        process = subprocess.run(["sh", "-c", 'ulimit -f 2; trap "" XFSZ; exec "$@"', "sh", TANDEM, "trace-comm", "--out", self.out, "--",
                                  "sh", "-c", RECORD.format(0, 1, "end\n") + RECORD.format(1, 0, "end\n")],
                                 capture_output=True, text=True, timeout=1200, env=ENVIRONMENT)
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertRegex(process.stderr, r"\[trace-comm\].*run\.\S+.*File too large")
        for path in self.folder.iterdir():
            self.assertIn(path.name, ["run.json", "run.csv", "run.prom"])

    def test_a_signal_reaches_the_program_and_what_it_recorded_is_drawn(self):
        script = RECORD.format(0, 1, "end\n") + RECORD.format(1, 0, "end\n") + "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"
        with subprocess.Popen([TANDEM, "trace-comm", "--out", self.out, "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True,
                              env=ENVIRONMENT) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.terminate()
            process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 9)
        self.assertEqual(self.report()["bytes"], [[0, 9], [9, 0]])


if __name__ == "__main__":
    unittest.main()
