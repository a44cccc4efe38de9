# SPDX-License-Identifier: Apache-2.0
#
# `tandem tensor bench` and `cpd` as a user runs them: what they measure, which kernels and devices they take, what is refused.
import json
import os
import re
import unittest

from daemon import card_environment, run, run_json
from tensor_case import TensorCase


class BenchTest(TensorCase):
    def test_json_has_what_readers_rely_on(self):
        made = self.generate("60", "70", "80", "--density", "0.05")
        for mode in range(3):
            result = run_json("tensor", "bench", "--op", "mttkrp", made, "--rank", 16, "--mode", mode, "--threads", 2, "--seconds", 0)
            self.assertEqual((result["op"], result["mode"], result["rank"], result["threads"]), ("mttkrp", mode, 16, 2))
            self.assertEqual(result["nnz"], 16800)
            for name in ("ms", "build_ms", "of_read_bandwidth"):
                self.assertLess(0, result[name], name)
            # Two factors and the result, f32; values of 4 bytes and three distances of 2.
            self.assertLess(16800 * 10 + (60 + 70 + 80) * 16 * 4, result["bytes"])
            self.assertTrue(result["method"])

    def test_a_product_in_the_caches_is_told(self):
        process = run("tensor", "bench", "--op", "spmv", self.generate("64", "64", "--density", "0.5"), "--seconds", 0)
        percent = int(re.search(r"(\d+) % of the read bandwidth", process.stdout)[1])
        self.assertEqual("the caches hold the data" in process.stdout, percent > 100, process.stdout)

    def kernels(self, word, *arguments, **environment):
        made = self.generate("60", "70", "80", "--density", "0.05")
        process = run("tensor", "bench", "--op", "mttkrp", made, "--seconds", 0, "--kernels", word, "--json", *arguments,
                      environment={**os.environ, **environment})
        return process, json.loads(process.stdout or "{}")

    def test_generated_kernels_are_compiled_once_and_told(self):
        cache = self.folder / "cache"
        first = self.kernels("generated", TANDEM_KERNEL_CACHE=str(cache))[1]
        self.assertEqual(first["method"], "morton-blocks-generated")
        [library] = cache.iterdir()
        self.assertTrue(library.name.startswith("mttkrp.o3.m0.c16.f32.u16-"))
        made = library.stat().st_ctime_ns
        self.kernels("generated", TANDEM_KERNEL_CACHE=str(cache))
        self.assertEqual([library], list(cache.iterdir()))
        self.assertLess(made, library.stat().st_ctime_ns)  # its use is noted
        self.assertEqual(self.kernels("generic", TANDEM_KERNEL_CACHE=str(cache))[1]["method"], "morton-blocks")

    def test_a_folder_with_the_name_of_a_compiler_is_passed_over(self):
        (self.folder / "c++").mkdir()
        process, result = self.kernels("generated", PATH=f"{self.folder}:{os.environ['PATH']}")
        self.assertEqual((process.returncode, result["method"]), (0, "morton-blocks-generated"))

    def test_without_a_compiler_the_generic_kernels_work(self):
        process, result = self.kernels("auto", TANDEM_KERNEL_COMPILER="none", TANDEM_KERNEL_CACHE=str(self.folder / "none"))
        self.assertEqual((process.returncode, result["method"]), (0, "morton-blocks"))
        for arguments, words in (((), "there is no C++ compiler"), (("--rank", 300), "only up to order 6 and 256 columns")):
            process, _ = self.kernels("generated", *arguments, TANDEM_KERNEL_COMPILER="none", TANDEM_KERNEL_CACHE=str(self.folder / "none"))
            self.assertEqual(process.returncode, 2)
            self.assertIn(words, process.stderr)

    def test_a_matrix_is_multiplied_in_both_types(self):
        made = self.generate("300", "200", "--density", "0.1")
        sizes = [run_json("tensor", "bench", "--op", "spmm", made, "--columns", 32, "--dtype", dtype, "--seconds", 0)["bytes"]
                 for dtype in ("f32", "f64")]
        self.assertLess(sizes[0], sizes[1])
        self.assertIn("spmm f32:", self.tensor("bench", "--op", "spmm", made, "--seconds", 0))

    def test_products_over_rows_count_what_they_move(self):
        made = self.generate("300", "200", "--density", "0.1")  # 6000 entries
        matrix = 301 * 8 + 6000 * 8
        dense = {"spmv": 500, "sddmm": 500 * 48 + 6000, "fused-attention": 500 * 48 + 500 * 48}
        for op, values in dense.items():
            result = run_json("tensor", "bench", "--op", op, made, "--columns", 40, "--seconds", 0, "--threads", 2, "--kernels", "generic")
            self.assertEqual((result["op"], result["nnz"], result["method"]), (op, 6000, "rows"))
            self.assertEqual(result["bytes"], matrix + 4 * values)
            for name in ("ms", "build_ms", "of_read_bandwidth"):
                self.assertLess(0, result[name], name)
            self.refused("bench", self.small, "--op", op, words=f"--op {op} is for matrices; this tensor has order 3")
            self.refused("bench", made, "--op", op, "--mode", 1, words="--mode is for --op mttkrp, ttv and ttm")

    def test_products_over_rows_take_generated_kernels(self):
        made = self.generate("300", "200", "--density", "0.1")
        for op in ("spmv", "sddmm", "fused-attention"):
            result = run_json("tensor", "bench", "--op", op, made, "--seconds", 0, "--kernels", "generated")
            self.assertEqual(result["method"], "rows-generated", op)
            self.assertLess(0, result["choice_ms"])
            self.assertLess(0, result["compile_ms"])
            kept = run_json("tensor", "bench", "--op", op, made, "--seconds", 0, "--kernels", "generated")
            self.assertNotIn("compile_ms", kept)
        names = sorted(path.name.split("-")[0] for path in (self.folder / "kernels").iterdir())
        self.assertEqual(names, ["attention.c32.f32.i32", "sddmm.c32.f32.i32", "spmv.c1.f32.i32"])
        self.assertIn(run_json("tensor", "bench", "--op", "spmv", made, "--seconds", 0)["method"], ("rows", "rows-generated"))

    def test_spmm_takes_the_faster_of_blocks_and_rows(self):
        made = self.generate("300", "200", "--density", "0.1")
        words = ("tensor", "bench", "--op", "spmm", made, "--seconds", 0, "--kernels")
        self.assertEqual(run_json(*words, "generic")["method"], "morton-blocks")
        self.assertIn(run_json(*words, "generated")["method"], ("morton-blocks-generated", "rows-generated"))
        names = sorted(path.name.split("-")[0] for path in (self.folder / "kernels").iterdir())
        self.assertEqual(names, ["mttkrp.o2.m0.c32.f32.u16", "spmm.c32.f32.i32"])

    def test_a_vector_and_a_matrix_multiply_one_mode(self):
        made = self.generate("60", "70", "80", "--density", "0.05")  # 16800 entries
        for mode in range(3):
            vector, matrix = (run_json("tensor", "bench", "--op", op, made, "--mode", mode, "--columns", 40, "--threads", 2, "--seconds", 0,
                                       "--kernels", "generic") for op in ("ttv", "ttm"))
            self.assertEqual((vector["op"], vector["mode"], vector["nnz"], vector["method"]), ("ttv", mode, 16800, "fibres"))
            self.assertNotIn("columns", vector)
            self.assertEqual(matrix["columns"], 40)
            self.assertEqual(vector["fibres"], matrix["fibres"])
            size, fibres = (60, 70, 80)[mode], vector["fibres"]
            self.assertLessEqual(fibres, 60 * 70 * 80 // size)
            self.assertEqual(vector["bytes"], (fibres + 1) * 8 + 16800 * 8 + (size + fibres) * 4)
            self.assertEqual(matrix["bytes"], (fibres + 1) * 8 + 16800 * 8 + (size + fibres) * 48 * 4)
            for name in ("ms", "build_ms", "of_read_bandwidth"):
                self.assertLess(0, vector[name], name)
                self.assertLess(0, matrix[name], name)

    def test_vectors_of_every_order_have_products(self):
        for sizes in (("40",), ("5", "6"), ("4", "3", "5", "2", "6")):
            made = self.generate(*sizes, "--density", "0.5", name=f"o{len(sizes)}.tns")
            result = run_json("tensor", "bench", "--op", "ttv", made, "--mode", len(sizes) - 1, "--seconds", 0, "--dtype", "f64",
                              "--kernels", "generic")
            self.assertEqual((result["mode"], result["dtype"]), (len(sizes) - 1, "f64"))
        self.assertEqual(run_json("tensor", "bench", "--op", "ttv", self.folder / "o1.tns", "--seconds", 0, "--kernels", "generic")["fibres"], 1)

    def test_each_class_of_fibres_has_a_generated_kernel(self):
        entries = {(1, 1): 1, (2, 1): 2, (2, 2): 1, (3, 1): 1, (3, 2): 1, (3, 3): 1, (3, 4): 1, (3, 5): 1}
        path = self.write("classes.tns", "".join(f"{i} {j} {value}\n" for (i, j), value in entries.items()))
        for op, columns in (("ttv", 1), ("ttm", 32)):
            result = run_json("tensor", "bench", "--op", op, path, "--mode", 1, "--seconds", 0, "--kernels", "generated")
            self.assertEqual((result["method"], result["fibres"]), ("fibres-generated", 3))
            names = sorted(path.name.split("-")[0] for path in (self.folder / "kernels").iterdir() if path.name.startswith(op))
            self.assertEqual(names, [f"{op}.c{columns}.f32.i32", f"{op}.n1.c{columns}.f32.i32", f"{op}.n2.c{columns}.f32.i32"])

    def test_values_may_be_bf16(self):
        made = self.generate("300", "200", "--density", "0.1")
        for op in ("ttv", "ttm", "spmv", "spmm", "sddmm", "fused-attention"):
            words = ("tensor", "bench", "--op", op, made, "--seconds", 0, "--dtype")
            half = run_json(*words, "bf16", "--kernels", "generic")
            self.assertEqual(half["dtype"], "bf16")
            if op != "spmm":  # in f32 it has blocks, too
                self.assertEqual(run_json(*words, "f32", "--kernels", "generic")["bytes"] - half["bytes"], 2 * 6000, op)
            self.assertTrue(run_json(*words, "bf16", "--kernels", "generated")["method"].endswith("-generated"), op)
        self.refused("bench", made, "--op", "mttkrp", "--dtype", "bf16", words="--dtype bf16 is for products over rows and fibres")

    def test_options_of_an_adaptive_partition_are_tuned_once_and_kept(self):
        made = self.generate("60", "70", "80", "--density", "0.05")
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        words = ("tensor", "bench", "--op", "mttkrp", made, "--partition", "adaptive", "--seconds", 0, "--threads", 1)
        first = run_json(*words, environment=environment)
        kept = self.folder / "cache" / "tandem" / "partitions.txt"
        key, grid_bits, *_ = kept.read_text().split()
        self.assertEqual((first["method"], first["grid_bits"], key), ("adaptive-blocks", int(grid_bits), "n15t1-6-7-7"))
        self.assertLess(0, first["blocks"])
        kept.write_text(kept.read_text().replace(f" {grid_bits} ", " 5 ", 1))
        self.assertEqual(run_json(*words, environment=environment)["grid_bits"], 5)
        for other in (("--op", "spmv"), ("--op", "mttkrp", "--dtype", "f64")):
            self.refused("bench", made if other[1] == "mttkrp" else self.generate("9", "9", name="m.tns"), *other, "--partition", "adaptive",
                         words="--partition adaptive is for --op mttkrp in f32")
        self.refused("bench", made, "--op", "mttkrp", "--partition", "adaptive", "--kernels", "generated", words="have no generated kernels")

    def test_what_cannot_be_is_told(self):
        self.refused("bench", self.small, words="--op is required")
        self.refused("bench", self.small, "--op", "spgemm", words="--op")
        self.refused("bench", self.small, "--op", "spmm", words="this tensor has order 3")
        for op in ("mttkrp", "ttv", "ttm"):
            self.refused("bench", self.small, "--op", op, "--mode", 3, words="there is no mode 3; the tensor has the modes 0 to 2")
        self.refused("bench", self.small, "--op", "mttkrp", "--rank", 0, words="--rank")
        wide = self.write("wide.tns", "18446744073709551615 4 1\n")
        self.refused("bench", wide, "--op", "mttkrp", words="GB are left; give fewer columns")
        self.refused("bench", wide, "--op", "ttv", words="GB are left; give fewer columns, or a shorter mode")
        long = self.write("long.tns", "# sizes 4294967297 4294967296\n1 1 1\n")
        self.refused("bench", long, "--op", "spmm", "--columns", 1, words="GB are left; give fewer columns")
        tall = self.write("tall.tns", "# sizes 1099511627776 3\n1 1 1\n")  # 2^40 rows
        for words, size in ((("spmv",), 12), (("spmv", "--dtype", "f64"), 16), (("sddmm", "--columns", 17), 8 + 32 * 4),
                            (("fused-attention", "--columns", 16), 8 + 2 * 16 * 4), (("spmm", "--columns", 16), 3 * 16 * 4)):
            self.refused("bench", tall, "--op", *words, words=f" take up to {size * 2**40 / 1e9:.1f} GB here")


class DevicesTest(TensorCase):
    def test_rows_are_shared_by_predicted_time(self):
        small, large = self.generate("30", "40", "--density", "0.1", name="s.tns"), self.generate("20000", "3000", "--density", "0.02")
        environment = card_environment(1)
        result = run_json("tensor", "bench", "--op", "spmv", small, "--devices", "cpu,xrt:0", "--seconds", 0, "--threads", 1,
                          environment=environment)
        self.assertEqual(result["method"], "rows on cpu 100 %")
        result = run_json("tensor", "bench", "--op", "spmv", large, "--devices", "xrt:0,cpu", "--seconds", 0, "--threads", 1,
                          environment=environment)
        self.assertEqual(sum(part["nnz"] for part in result["devices"]), result["nnz"])
        self.assertEqual(sum(part["rows"] for part in result["devices"]), 20000)
        self.assertLess(result["error"], 32 * 2**-24)
        card = result["devices"][0]
        self.assertEqual((card["device"], card["predicted_by"]), ("xrt:0", "model"))
        self.assertEqual(result["predicted_ms"], max(part["predicted_ms"] for part in result["devices"]))
        # 1.2 million entries: about 10 MB at 115 GB/s, and the fixed time of a card.
        self.assertLess(0.1, card["predicted_ms"])
        self.assertLess(card["predicted_ms"], 1)
        self.assertTrue(result["method"].startswith("rows on xrt:0 "), result["method"])

    def test_the_rows_of_a_card_that_dies_are_finished(self):
        large = self.generate("20000", "3000", "--density", "0.02")
        result = run_json("tensor", "bench", "--op", "spmv", large, "--devices", "cpu,xrt:0", "--seconds", 0, "--threads", 1,
                          environment={**card_environment(1), "TANDEM_FAULTS": "launch 9 die"})
        working, lost = result["devices"]
        self.assertEqual((working["device"], lost["device"], "on_host" in working), ("cpu", "xrt:0", False))
        self.assertIn("card xrt:0 is lost", lost["on_host"])
        self.assertIn(", the host for xrt:0 ", result["method"])
        self.assertEqual(working["rows"] + lost["rows"], 20000)
        self.assertLess(result["error"], 32 * 2**-24)

    def test_what_devices_cannot_do_is_told(self):
        made = self.generate("30", "40", "--density", "0.1")
        self.refused("bench", made, "--op", "spmm", "--devices", "cpu", words="--devices is for --op spmv")
        self.refused("bench", made, "--op", "spmv", "--devices", "cpu", "--dtype", "f64", words="--devices multiplies in f32")
        self.refused("bench", made, "--op", "spmv", "--devices", "cpu,cpu:0", words="--devices names cpu:0 twice")
        self.refused("bench", made, "--op", "spmv", "--devices", "cpu", "--kernels", "generated", words="have no generated kernels")
        self.refused("bench", made, "--op", "spmv", "--devices", "fpga:0", words="no such kind of device: 'fpga:0'")


class CpdTest(TensorCase):
    def test_the_fit_of_a_sum_of_two_outer_products_is_one(self):
        cells = {(i, j, k): i * j * k + 10 * (i == 1) * (j == 2) * (k == 3) for i in (1, 2, 3) for j in (1, 2, 3) for k in (1, 2, 3, 4)}
        path = self.write("two.tns", "".join(f"{i} {j} {k} {value}\n" for (i, j, k), value in cells.items()))
        result = run_json("tensor", "cpd", path, "--rank", 2, "--iterations", 100)
        self.assertAlmostEqual(result["fit"], 1, 4)
        self.assertEqual((len(result["fits"]), len(result["weights"]), result["nnz"]), (100, 2, 36))
        self.assertEqual(result["fit"], result["fits"][-1])
        for before, after in zip(result["fits"], result["fits"][1:]):
            self.assertGreaterEqual(after, before - 1e-7)
        one = run_json("tensor", "cpd", path, "--rank", 1, "--iterations", 100)
        self.assertLess(one["fit"], 0.99)
        self.assertIn("3 x 3 x 4: rank 1, fit ", self.tensor("cpd", path, "--rank", 1))

    def test_what_cannot_be_decomposed_is_told(self):
        self.refused("cpd", self.small, "--rank", 0, words="--rank")
        self.refused("cpd", self.small, "--iterations", 0, words="--iterations")
        self.refused("cpd", self.write("huge.tns", "1 2 1e300\n2 1 1e300\n"), words="scale the tensor's values")
        self.refused("cpd", self.write("wide.tns", "18446744073709551615 4 1\n"), words="GB are left; give fewer columns")


if __name__ == "__main__":
    unittest.main()
