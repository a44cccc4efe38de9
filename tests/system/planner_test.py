# SPDX-License-Identifier: Apache-2.0
#
# `tandem balance`, `tandem map` and `tandem simulate-pipeline` as a user runs them: fields, files, repeated runs, and what is refused.
import itertools
import json
import pathlib
import random
import re
import tempfile
import unittest

from daemon import run, run_json


class PlannerCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def assert_refused(self, words, *arguments):
        process = run(*arguments)
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertEqual(process.stdout, "")
        self.assertIn(words, process.stderr)


def least_bottleneck(times, stages):
    cuts = itertools.combinations(range(1, len(times)), stages - 1)
    return min(max(sum(times[a:b]) for a, b in zip((0, *cut), (*cut, len(times)))) for cut in cuts)


class BalanceTest(PlannerCase):
    def test_both_methods_reach_the_least_bottleneck(self):
        draw = random.Random(3)
        for case in range(4):
            times = [draw.randint(1, 5000) for _ in range(draw.randint(6, 12))]
            trace = self.file("trace.csv", "layer,time_us\n" + "".join(f"layer {i},{us}\n" for i, us in enumerate(times)))
            for stages in (1, 3, 4):
                for method in ("exact", "diffusion"):
                    with self.subTest(case=case, stages=stages, method=method):
                        result = run_json("balance", "--trace", trace, "--stages", stages, "--method", method)
                        bounds = [0, *result["cuts"], len(times)]
                        self.assertEqual(len(bounds), stages + 1)
                        sums = [sum(times[a:b]) for a, b in zip(bounds, bounds[1:])]
                        self.assertEqual([stage["time_us"] for stage in result["stages"]], sums)
                        self.assertEqual(result["bottleneck_us"], max(sums))
                        self.assertEqual(result["bottleneck_us"], least_bottleneck(times, stages))

    def test_fractions_of_microseconds_are_exact(self):
        trace = self.file("trace.csv", "time_us\n0.1\n0.2\n0.3\n")
        self.assertEqual(run_json("balance", "--trace", trace, "--stages", 2)["bottleneck_us"], 0.3)

    def test_steps_begin_where_the_step_before_ended(self):
        trace = self.file("trace.csv", "step,layer,time_us,bytes\n" + "".join(
            f"{step},{layer},{us},10\n" for step, row in enumerate(((1, 1, 1, 9), (9, 1, 1, 1))) for layer, us in enumerate(row)))
        result = run_json("balance", "--trace", trace, "--stages", 2, "--method", "diffusion")
        self.assertEqual([step["cuts"] for step in result["steps"]], [[3], [1]])
        self.assertEqual([step["before_us"] for step in result["steps"]], [10, 11])
        self.assertEqual((result["bottleneck_us"], result["moves"]), (9, 2))
        self.assertEqual([stage["bytes"] for stage in result["stages"]], [10, 30])
        text = run("balance", "--trace", trace, "--stages", "2").stdout
        self.assertIn("step 1: slowest stage 9 us, 11 us before", text)

    def test_memory_and_present_cuts_count(self):
        trace = self.file("trace.csv", "time_us,bytes\n1,4\n1,4\n1,4\n9,4\n")
        self.assertEqual(run_json("balance", "--trace", trace, "--stages", 2, "--memory", "8")["cuts"], [2])
        result = run_json("balance", "--trace", trace, "--stages", 2, "--from", "1")
        self.assertEqual((result["before_us"], result["bottleneck_us"]), (11, 9))

    def test_wrong_words_and_lines_are_named(self):
        trace = self.file("trace.csv", "layer,time_us\na,1\nb,fast\n")
        self.assert_refused("trace.csv': line 3: the time 'fast' is not a number", "balance", "--trace", trace, "--stages", "2")
        self.assert_refused("cannot read", "balance", "--trace", self.folder / "absent.csv", "--stages", "2")
        self.assert_refused("cannot read", "balance", "--trace", self.folder, "--stages", "2")
        trace = self.file("trace.csv", "layer,time_us,bytes\na,1,5\nb,2,50\n")
        self.assert_refused("2 layers cannot fill 3 stages", "balance", "--trace", trace, "--stages", "3")
        self.assert_refused("layer 1 needs 50 bytes and fits no stage: a stage has 20", "balance", "--trace", trace, "--stages", "2",
                            "--memory", "20")
        self.assert_refused("within 54 bytes per stage", "balance", "--trace", trace, "--stages", "1", "--memory", "54")
        self.assert_refused("--method", "balance", "--trace", trace, "--stages", "2", "--method", "greedy")
        self.assert_refused("--stages", "balance", "--trace", trace, "--stages", "0")
        self.assert_refused("2 stages have 1 cuts", "balance", "--trace", trace, "--stages", "2", "--from", "1,1")


def qaplib_text(flow, distance):
    rows = [" ".join(map(str, row)) for row in (*flow, *distance)]
    return f"{len(flow)}\n\n" + "\n".join(rows) + "\n"


def random_matrix(size, seed):
    draw = random.Random(seed)
    return [[draw.randint(0, 9) * (i != j) for j in range(size)] for i in range(size)]


def cost_of(flow, distance, places):
    size = range(len(places))
    return sum(flow[i][j] * distance[places[i]][places[j]] for i in size for j in size)


class MapTest(PlannerCase):
    def setUp(self):
        super().setUp()
        self.flow, self.distance = random_matrix(6, 1), random_matrix(6, 2)
        self.problem = self.file("problem.dat", qaplib_text(self.flow, self.distance))
        self.least = min(cost_of(self.flow, self.distance, places) for places in itertools.permutations(range(6)))

    def test_every_method_finds_the_least_of_all_mappings(self):
        for method in ([], *(["--method", "qubo", "--sampler", name] for name in ("annealing", "tempering", "quantum", "tabu"))):
            with self.subTest(method=method):
                result = run_json("map", "--qaplib", self.problem, "--seconds", "0.5", "--seed", "3", *method)
                self.assertEqual(sorted(result["permutation"]), list(range(6)))
                self.assertEqual(result["cost"], cost_of(self.flow, self.distance, result["permutation"]))
                self.assertEqual(result["cost"], self.least)
        self.assertIn(f"cost {self.least}", run("map", "--qaplib", self.problem).stdout)

    def test_a_qubo_goes_out_and_samples_come_in(self):
        out = self.folder / "problem.qubo"
        result = run_json("map", "--qaplib", self.problem, "--export-qubo", out)
        self.assertNotIn("cost", result)
        lines = out.read_text().splitlines()
        self.assertEqual(lines[1].split()[:4], ["p", "qubo", "0", "36"])
        terms = {(int(i), int(j)): float(value) for i, j, value in (line.split() for line in lines[2:])}
        places = [2, 0, 1, 5, 4, 3]
        bits = [int(places[bit // 6] == bit % 6) for bit in range(36)]
        energy = result["offset"] + sum(value * bits[i] * bits[j] for (i, j), value in terms.items())
        self.assertEqual(energy, cost_of(self.flow, self.distance, places))
        samples = self.file("samples.txt", "0" * 36 + "\n" + "".join(map(str, bits)) + "\n")
        answer = run_json("map", "--qaplib", self.problem, "--samples", samples)
        self.assertEqual((answer["permutation"], answer["cost"]), (places, energy))
        self.assertEqual((answer["num_samples"], answer["num_valid"]), (2, 1))

    def test_ising_json_has_the_same_energy(self):
        out = self.folder / "problem.json"
        run_json("map", "--qaplib", self.problem, "--export-ising", out)
        ising = json.loads(out.read_text())
        places = [5, 4, 3, 2, 1, 0]
        spins = [1 if places[bit // 6] == bit % 6 else -1 for bit in range(36)]
        energy = ising["offset"] + sum(value * spins[int(bit)] for bit, value in ising["h"].items())
        energy += sum(value * spins[int(i)] * spins[int(j)] for (i, j), value in ((key.split(","), v) for key, v in ising["J"].items()))
        self.assertAlmostEqual(energy, cost_of(self.flow, self.distance, places), places=6)

    def test_wrong_words_and_lines_are_named(self):
        bad = self.file("bad.dat", "2\n0 1\n1 x\n0 1 1 0\n")
        self.assert_refused("bad.dat': line 3: 'x' is not a whole number", "map", "--qaplib", bad)
        self.assert_refused("cannot read", "map", "--qaplib", self.folder / "absent.dat")
        self.assert_refused("--qaplib", "map")
        self.assert_refused("--method", "map", "--qaplib", self.problem, "--method", "magic")
        self.assert_refused("--seconds", "map", "--qaplib", self.problem, "--seconds", "-1")
        samples = self.file("samples.txt", "0" * 36)
        self.assert_refused("none of the 1 samples", "map", "--qaplib", self.problem, "--samples", samples)
        self.assert_refused("cannot write", "map", "--qaplib", self.problem, "--export-qubo", self.folder / "absent" / "x.qubo")
        large = self.file("large.dat", qaplib_text([[1] * 41] * 41, [[1] * 41] * 41))
        self.assert_refused("41 tasks need 1681 bits", "map", "--qaplib", large, "--export-qubo", self.folder / "x.qubo")
        self.assertFalse((self.folder / "x.qubo").exists())


class MapCircuitTest(PlannerCase):
    LINE = "0 1\n1 2\n2 3\n"

    def circuit(self, body):
        return self.file("circuit.qasm", 'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[4];\ncreg c[4];\n' + body)

    def test_a_circuit_goes_onto_a_line(self):
        line = self.file("line.txt", self.LINE)
        out = self.folder / "out.qasm"
        # A triangle on a line: one swap is needed, and one is enough.
        ring = self.circuit("h q;\ncx q[0],q[1];\ncx q[1],q[2];\ncx q[2],q[0];\nmeasure q -> c;\n")
        result = run_json("map", "--qasm", ring, "--coupling", line, "--out", out)
        self.assertEqual((result["swaps"], result["two_qubit_gates"], result["two_qubit_gates_before"]), (1, 4, 3))
        self.assertGreater(result["depth"], result["depth_before"])
        text = out.read_text()
        self.assertEqual(text.count("swap "), 1)
        pairs = [tuple(map(int, re.findall(r"q\[(\d+)\]", row))) for row in text.splitlines() if row.startswith(("cx", "swap"))]
        self.assertTrue(all(abs(a - b) == 1 for a, b in pairs))
        again = run_json("map", "--qasm", out, "--coupling", line)
        self.assertEqual((again["swaps"], again["depth"]), (0, result["depth"]))
        self.assertIn("1 swaps", run("map", "--qasm", ring, "--coupling", line).stdout)

    def test_wrong_words_and_lines_are_named(self):
        line = self.file("line.txt", self.LINE)
        good = self.circuit("h q;\n")
        self.assert_refused("circuit.qasm': line 5: no gate is called 'foo'", "map", "--qasm", self.circuit("foo q;\n"), "--coupling", line)
        self.circuit("h q;\n")
        self.assert_refused("--coupling FILE", "map", "--qasm", good)
        self.assert_refused("line 2: 'x' is not a number", "map", "--qasm", good, "--coupling", self.file("bad.txt", "0 1\n1 x\n"))
        self.assert_refused("in parts", "map", "--qasm", good, "--coupling", self.file("bad.txt", "0 1\n2 3\n"))
        self.assert_refused("4 qubits and the coupling map 3", "map", "--qasm", good, "--coupling", self.file("bad.txt", "0 1\n1 2\n"))
        self.assert_refused("cannot write", "map", "--qasm", good, "--coupling", line, "--out", self.folder / "absent" / "x.qasm")


PUBLISHED = {"moe": 1.23, "pruning": 3.18, "freezing": 2.23, "sparse-attention": 4.02, "early-exit": 4.52, "mixture-of-depths": 1.17}


class SimulatePipelineTest(PlannerCase):
    def test_every_workload_says_what_it_reaches_and_what_differs(self):
        for workload, published in PUBLISHED.items():
            for method in ("exact", "diffusion"):
                with self.subTest(workload=workload, method=method):
                    result = run_json("simulate-pipeline", "--workload", workload, "--stages", 8, "--method", method)
                    self.assertEqual(result["published"], published)
                    self.assertEqual(result["is_reproduced"], abs(result["speedup"] - published) <= 0.15 * published)
                    static = min(result["static_equal_layers_s"], result["static_equal_parameters_s"])
                    self.assertAlmostEqual(result["speedup"], static / result["dynamic_s"], places=3)
                    self.assertGreaterEqual(result["speedup"], 0.999)
                    self.assertLessEqual(result["speedup"], result["ideal_speedup"])
                    over = [result["speedup_over_equal_layers"], result["speedup_over_equal_parameters"]]
                    self.assertEqual(result["speedup"], min(over))
                    left = result["work_left"]
                    self.assertTrue(0.2 < left < 1, left)
                    self.assertIn(f"leaves {left:.2f} of the layers' operations", result["difference"])
                    self.assertLess(result["overhead_share"], 0.03)
                    self.assertIn(f"{published:.2f} published: ", result["difference"])
                    self.assertTrue(all(each["choice"] and each["source"] for each in result["configuration"]))
        self.assertGreater(run_json("simulate-pipeline", "--workload", "early-exit", "--vocabulary", 0)["speedup"], 1.8)

    def test_hundreds_of_stages(self):
        result = run_json("simulate-pipeline", "--workload", "moe", "--stages", 720, "--micro-batches", 240)
        self.assertEqual(result["num_stages"], 720)
        self.assertGreater(result["speedup"], 1)
        self.assertIn("published", run("simulate-pipeline", "--workload", "moe").stdout)

    def test_wrong_words_are_named(self):
        for words, arguments in (("--workload", ["--workload", "dense"]), ("--workload", []), ("--stages", ["--workload", "moe", "--stages", 0]),
                                 ("7 layers cannot fill 8 stages", ["--workload", "moe", "--layers", 7]),
                                 ("h1000", ["--workload", "moe", "--device", "h1000"])):
            self.assert_refused(words, "simulate-pipeline", *arguments)


if __name__ == "__main__":
    unittest.main()
