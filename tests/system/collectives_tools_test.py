# SPDX-License-Identifier: Apache-2.0
#
# The collectives tools as a user runs them: every transport, patterns, the matrix files, the
# simulator, and the errors for wrong arguments.
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from daemon import BUILD, SOURCE, card_environment
from waiting import is_running, wait_for

TANDEM = BUILD / "bin" / "tandem"
CORPUS = SOURCE.parent / "shared" / "models" / "corpus.txt"
SMALL = ["--elements", "20000", "--samples", "3", "--warmup", "1", "--timeout", "600"]


def run(*arguments, prefix=(), code=0, environment=None):
    process = subprocess.run([*map(str, prefix), str(TANDEM), *map(str, arguments)], capture_output=True,
                             text=True, timeout=1200, env={**os.environ, **(environment or {})})
    if "this build has no" in process.stderr:
        raise unittest.SkipTest(process.stderr.strip())
    if process.returncode != code:
        raise AssertionError(f"{arguments} ended with {process.returncode}:\n{process.stdout}{process.stderr}")
    return process.stdout if code == 0 else process.stderr


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class AllreduceBenchTest(unittest.TestCase):
    def check(self, lines, world, at_least=10):
        ran = [line for line in lines if "refused" not in line]
        self.assertGreaterEqual(len(ran), at_least, lines)
        for line in ran:
            self.assertEqual(line["world"], world)
            self.assertGreater(line["median"], 0)
            self.assertGreater(line["bytes"], 0, line)
            self.assertTrue(line["verified"])

    def test_every_scheme_runs_on_threads(self):
        self.check(json_lines(run("allreduce-bench", "--world", 3, "--json", *SMALL)), 3)

    def test_every_scheme_runs_on_gloo_processes(self):
        self.check(json_lines(run("allreduce-bench", "--transport", "gloo", "--world", 3, "--json", *SMALL)), 3)

    def test_gloo_ranks_meet_where_they_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = json_lines(run("allreduce-bench", "--transport", "gloo", "--world", 2, "--json", "--store", folder,
                                   "--address", "127.0.0.1", "--schemes", "dense_ring", *SMALL))
            self.assertEqual(len(lines), 1)

    def ranks_of(self, launcher):
        """Processes whose parent is the launcher."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if fields[1] == str(launcher):
                    found.append(int(entry.name))
        return found

    def test_ranks_end_with_their_launcher(self):
        for ending in (signal.SIGTERM, signal.SIGKILL):
            with tempfile.TemporaryDirectory() as folder:
                launcher = subprocess.Popen(
                    [str(TANDEM), "allreduce-bench", "--transport", "gloo", "--world", "3", "--samples", "100000",
                     "--elements", "100000", "--schemes", "dense_ring"], env={**os.environ, "TMPDIR": folder},
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                while len(ranks := self.ranks_of(launcher.pid)) < 3:
                    self.assertIsNone(launcher.poll())
                    time.sleep(0.05)
                launcher.send_signal(ending)
                launcher.communicate(timeout=1200)  # ends once no rank holds the pipe
                self.assertNotEqual(launcher.returncode, 0)
                wait_for(lambda: not any(map(is_running, ranks)), "the ranks end")
                if ending == signal.SIGTERM:
                    self.assertEqual(list(Path(folder).iterdir()), [])

    def test_the_first_process_of_a_container_starts_ranks(self):
        container = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*container, "true"], capture_output=True).returncode != 0:
            self.skipTest("needs namespaces of users and processes")
        run("allreduce-bench", "--transport", "gloo", "--world", 2, "--schemes", "dense_ring", *SMALL, prefix=container)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_a_world_that_mpirun_did_not_start_is_refused(self):
        self.assertIn("mpirun -n 4", run("allreduce-bench", "--transport", "mpi", "--world", 4, *SMALL, code=2))

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_one_rank_without_mpirun_is_refused_unless_it_is_asked_for(self):
        self.assertIn("mpirun -n 4", run("allreduce-bench", "--transport", "mpi", *SMALL, code=2))
        run("allreduce-bench", "--transport", "mpi", "--world", 1, "--schemes", "dense_ring", *SMALL)

    def test_an_option_of_the_daemon_before_the_name_is_refused(self):
        process = subprocess.run([str(TANDEM), "--port", "1", "allreduce-bench"], capture_output=True, text=True)
        self.assertEqual(process.returncode, 2)
        self.assertIn("--port", process.stderr)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_every_scheme_runs_under_mpirun(self):
        lines = run("allreduce-bench", "--transport", "mpi", "--json", *SMALL,
                    prefix=["mpirun", "--oversubscribe", "-n", 3],
                    environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.check(json_lines(lines), 3)

    def test_auto_explains_its_choice(self):
        text = run("allreduce-bench", "--world", 4, "--schemes", "auto", "--explain", *SMALL)
        self.assertIn("balanced_parallelism", text)
        self.assertIn("predicted", text)

    def test_types_and_wires_and_reductions(self):
        for extra in (["--type", "u64"], ["--type", "bf16"], ["--wire", "f16"],
                      ["--type", "f64", "--reduction", "mean"], ["--reduction", "max"]):
            lines = json_lines(run("allreduce-bench", "--world", 2, "--json", *SMALL, *extra))
            self.check(lines, 2, at_least=9)  # for max, dense forms are refused

    def test_cards_add_up(self):
        for kind in ("f32", "u64"):
            lines = json_lines(run("allreduce-bench", "--world", 2, "--json", *SMALL, "--aggregator", "xrt:0", "--type",
                                   kind, "--schemes", "balanced_parallelism", environment=card_environment(1)))
            self.assertTrue(lines[0]["verified"])
            self.assertEqual(lines[0]["aggregation_fallbacks"], 0)
            self.assertGreater(lines[0]["aggregation_modelled_s"], 0)

    def test_a_matrix_is_written_for_every_scheme(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "matrix"
            run("allreduce-bench", "--world", 4, "--schemes", "dense_ring,balanced_parallelism", "--matrix", path,
                *SMALL)
            ring = (Path(folder) / "matrix-dense_ring.csv").read_text().splitlines()
            self.assertEqual(ring[0], "from,to,bytes,messages")
            cells = {tuple(map(int, line.split(",")[:2])): int(line.split(",")[2]) for line in ring[1:]}
            self.assertEqual(len(cells), 16)
            self.assertGreater(cells[0, 1], cells[0, 2])  # a ring sends to its neighbour; others: headers only
            root = ElementTree.parse(Path(folder) / "matrix-balanced_parallelism.svg").getroot()
            self.assertTrue(root.tag.endswith("svg"))

    @unittest.skipUnless(CORPUS.exists(), "the corpus is not beside the source tree")
    def test_embedding_gradients_of_a_text(self):
        lines = json_lines(run("allreduce-bench", "--world", 4, "--pattern", "zipf", "--corpus", CORPUS, "--tokens",
                               500, "--width", 8, "--samples", 2, "--json", "--schemes",
                               "allgather_sparse,balanced_parallelism"))
        self.assertEqual([line["width"] for line in lines], [8, 8])
        self.assertLess(lines[0]["density"], lines[0]["union_density"])

    def test_top_k_of_captured_gradients(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(2):
                values = [((i * 7919 + rank) % 1001) - 500.0 for i in range(5000)]
                (Path(folder) / f"gradient-{rank}.f32").write_bytes(struct.pack("<5000f", *values))
            lines = json_lines(run("allreduce-bench", "--world", 2, "--pattern", "top-k", "--gradients", folder,
                                   "--density", 0.05, "--samples", 2, "--json", "--schemes", "balanced_parallelism"))
            self.assertAlmostEqual(lines[0]["density"], 0.05, places=6)

    def test_wrong_arguments_are_named(self):
        for arguments, name in ((["--density", "0"], "--density"), (["--schemes", "nonsense"], "nonsense"),
                                (["--pattern", "zipf"], "--corpus"), (["--codec", "zip"], "zip"),
                                (["--aggregator", "abacus"], "abacus"), (["--rank", "1"], "--rank"), (["--width", "4"], "zipf"),
                                (["--transport", "gloo", "--rank", "1"], "--store"),
                                (["--type", "u64", "--wire", "f16"], "--wire"), (["--timeout", "1e18"], "--timeout")):
            self.assertIn(name, run("allreduce-bench", "--world", 2, *SMALL, *arguments, code=2))


class SparsifyBenchTest(unittest.TestCase):
    NAMES = ["topk", "cltk", "randomk", "hard_threshold", "dgc", "sidco", "gaussiank", "redsync", "deft", "micro",
             "exdyna", "ok_topk", "chunk_topk"]
    FIELDS = {"name", "density_sent", "build_up", "inefficiency", "select_ms", "of_plain_read"}

    def test_every_sparsifier_prints_a_line_and_exclusive_ones_have_no_build_up(self):
        lines = json_lines(run("sparsify-bench", "--synthetic", 50000, "--density", 0.01, "--world", 3, "--steps", 6,
                               "--json"))
        self.assertEqual([line["name"] for line in lines], self.NAMES)
        for line in lines:
            self.assertLessEqual(self.FIELDS, set(line))
            self.assertGreater(line["density_sent"], 0, line)
            self.assertGreater(line["select_ms"], 0, line)
            self.assertGreater(line["select_mean_ms"], 0, line)
            self.assertLessEqual(line["select_mean_ms"], line["select_ms"], line)
            self.assertGreater(line["of_plain_read"], 0, line)
        build_up = {line["name"]: line["build_up"] for line in lines}
        for name in ("cltk", "randomk", "deft", "micro", "exdyna"):
            self.assertEqual(build_up[name], 1, name)
        self.assertGreater(build_up["topk"], 1.5)
        leader = next(line for line in lines if line["name"] == "cltk")  # only one of three selects
        self.assertLess(leader["select_mean_ms"], leader["select_ms"] / 2)

    def test_a_fit_has_the_name_that_the_reducer_knows(self):
        def line(fit):
            return json_lines(run("sparsify-bench", "--synthetic", 50000, "--density", 0.001, "--world", 2, "--steps", 3,
                                  "--sparsifiers", "sidco", "--sidco-fit", fit, "--json"))[0]["residual_norm"]
        self.assertEqual(len({line(fit) for fit in ("exponential", "generalised_pareto", "gamma")}), 3)

    def test_micro_and_exdyna_hold_the_density(self):
        for line in json_lines(run("sparsify-bench", "--synthetic", 60000, "--density", 0.01, "--world", 2, "--steps",
                                   260, "--sparsifiers", "micro,exdyna", "--json")):
            self.assertAlmostEqual(line["density_sent"], 0.01, delta=0.0002)

    def test_captured_gradients_and_their_layers(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(2):
                values = [((i * 7919 + rank * 13) % 1001) - 500.0 for i in range(5000)]
                (Path(folder) / f"gradient-{rank}.f32").write_bytes(struct.pack("<5000f", *values))
            (Path(folder) / "tensors.json").write_text(json.dumps([{"name": "a", "shape": [4000], "offset": 0},
                                                                   {"name": "b", "shape": [1000], "offset": 4000}]))
            lines = json_lines(run("sparsify-bench", "--gradients", folder, "--density", 0.02, "--world", 2, "--steps",
                                   4, "--sparsifiers", "deft,topk", "--json"))
            self.assertEqual([line["values"] for line in lines], [5000, 5000])
            self.assertAlmostEqual(lines[0]["density_sent"], 0.02, places=6)
            narrow = json_lines(run("sparsify-bench", "--gradients", folder, "--density", 0.02, "--world", 2, "--steps",
                                    4, "--sparsifiers", "deft,topk", "--wire", "bf16", "--json"))
            self.assertEqual([line["wire"] for line in narrow], ["bf16", "bf16"])
            self.assertNotEqual(narrow[0]["residual_norm"], lines[0]["residual_norm"])
            (Path(folder) / "tensors.json").write_text("{")
            self.assertIn("tensors.json", run("sparsify-bench", "--gradients", folder, code=2))

    def test_a_simulated_network_times_the_exchange(self):
        def line(speed):
            return json_lines(run("sparsify-bench", "--synthetic", 100000, "--density", 0.01, "--world", 4, "--steps", 4,
                                  "--sparsifiers", "micro", "--bandwidth-gbps", speed, "--latency-us", 5, "--json"))[0]
        slow, fast = line(1), line(10)
        self.assertAlmostEqual(slow["dense_ms"], 2 * 0.75 * 100000 * 32 / 1e6, delta=0.5)  # a ring's bytes at 1 Gb/s
        self.assertLess(slow["exchange_ms"], slow["dense_ms"] / 5)
        self.assertLess(fast["exchange_ms"], slow["exchange_ms"])
        self.assertEqual(line(1)["exchange_ms"], slow["exchange_ms"])

    def test_a_recording_gives_every_rank_its_own_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(6):  # 2 ranks, 3 steps; the value at place 10 rank + step is largest
                values = [0.001] * 100
                values[10 * (number % 2) + number // 2] = 1.0
                (Path(folder) / f"gradient-{number}.f32").write_bytes(struct.pack("<100f", *values))
            recording = Path(folder) / "recording.json"
            recording.write_text(json.dumps({"ranks": 2, "steps": 3}))
            arguments = ["sparsify-bench", "--gradients", folder, "--density", 0.01, "--world", 2, "--steps", 3,
                         "--sparsifiers", "topk", "--only-own", "--json"]
            line = json_lines(run(*arguments))[0]
            left = (97 * 0.003 ** 2 + 0.002 ** 2 + 0.001 ** 2) ** 0.5  # rank 0 has sent a place in each step
            self.assertAlmostEqual(line["residual_norm"], left, delta=1e-6)
            for text, name in (('{"ranks": 2, "steps": 4}', "gradient-7.f32"), ('{"ranks": 0, "steps": 4}', "from 1"),
                               ("[]", "recording.json")):
                recording.write_text(text)
                self.assertIn(name, run(*arguments, code=2))

    def test_wrong_arguments_are_named(self):
        some = ["--synthetic", 1000]
        with tempfile.TemporaryDirectory() as folder:
            for arguments, name in (([], "--synthetic"), (some + ["--gradients", folder], "one of the two"),
                                    (["--gradients", folder], "gradient-0.f32"), (some + ["--density", 2], "density"),
                                    (some + ["--sparsifiers", "topp"], "there are: topk"), (some + ["--world", 0], "--world"),
                                    (some + ["--scheme", "nonsense", "--sparsifiers", "dgc"], "nonsense"),
                                    (some + ["--sidco-fit", "pareto"], "generalised_pareto")):
                self.assertIn(name, run("sparsify-bench", *arguments, code=2))


class SimulateTest(unittest.TestCase):
    def test_ratios_to_the_dense_ring_are_printed(self):
        lines = json_lines(run("simulate-collectives", "--world", 16, "--elements", 100000, "--density", 0.01,
                               "--bandwidth-gbps", 25, "--json"))
        ratio = {line["scheme"]: line["ratio_to_dense"] for line in lines if "ratio_to_dense" in line}
        self.assertGreater(ratio["balanced_parallelism"], 1)

    def test_says_what_it_simulates_while_it_does(self):
        for schemes, rows in (("ok_topk,dense_ring", ["ok_topk", "dense_ring"]), ("ok_topk", ["ok_topk"])):
            process = subprocess.run([str(TANDEM), "simulate-collectives", "--world", "4", "--elements", "1000", "--schemes", schemes, "--json"],
                                     capture_output=True, text=True)
            self.assertEqual(process.stderr, "simulating dense_ring, with which all schemes are compared (1 of 2)\nsimulating ok_topk (2 of 2)\n")
            self.assertEqual([line["scheme"] for line in json_lines(process.stdout)], rows)

    def test_a_published_model_is_known_by_name(self):
        text = run("simulate-collectives", "--model", "deepfm", "--world", 8, "--memory-gib", 0.05)
        self.assertIn("balanced_parallelism", text)

    def test_an_unknown_codec_is_named_with_the_known_ones(self):
        self.assertIn("no codec is called 'zip'; there are: auto, coo32",
                      run("simulate-collectives", "--codec", "zip", "--world", 4, "--elements", 1000, code=2))

    def test_an_unknown_model_is_named_with_the_known_ones(self):
        error = run("simulate-collectives", "--model", "skynet", "--world", 4, code=2)
        self.assertIn("skynet", error)
        self.assertIn("lstm", error)


if __name__ == "__main__":
    unittest.main()
