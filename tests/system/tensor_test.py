# SPDX-License-Identifier: Apache-2.0
#
# `tandem tensor` as a user runs it: files of every form, features and siblings, and what is refused.
import csv
import gzip
import json
import os
import subprocess
import threading
import unittest
import xml.etree.ElementTree

from daemon import TANDEM, run, run_json
from tensor_case import SMALL, TensorCase


class ConvertTest(TensorCase):
    def test_every_form_leads_back_to_the_same_entries(self):
        first = self.folder / "first.tns"
        self.tensor("convert", self.small, first)
        self.assertEqual(first.read_text(), "# sizes 3 4 3\n1 1 2 0.75\n2 4 3 -1\n3 2 1 1\n")
        for order in ("morton", "hilbert", "lexicographic"):
            for name, options in (("a.tns", ["--header"]), ("a.tns.gz", []), ("a.tns.gz", ["--header"])):
                self.tensor("convert", first, self.folder / name, "--order", order, *options)
                self.tensor("convert", self.folder / name, self.folder / "back.tns")
                self.assertEqual((self.folder / "back.tns").read_text(), first.read_text())

    def test_orders_of_entries(self):
        matrix = self.write("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 4\n1 1\n2 1\n1 2\n2 2\n")
        orders = {"file": "11 21 12 22", "lexicographic": "11 12 21 22", "morton": "11 12 21 22", "hilbert": "11 12 22 21"}
        for order, places in orders.items():
            out = self.folder / "o.tns"
            self.tensor("convert", matrix, out, "--order", order, "--header")
            lines = [line.split() for line in out.read_text().splitlines()[2:]]
            found = " ".join(row + column for row, column, _ in lines)
            if order == "hilbert":
                self.assertIn(found, (places, "11 21 22 12"))
            else:
                self.assertEqual(found, places)

    def test_matrix_market_and_gzip_are_what_others_read(self):
        matrix = self.write("m.tns", "1 3 2.5\n2 1 -1\n")
        self.tensor("convert", matrix, self.folder / "m.mtx.gz")
        with gzip.open(self.folder / "m.mtx.gz", "rt") as file:
            self.assertEqual(file.read(), "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 2.5\n2 1 -1\n")

    def test_what_cannot_be_written_is_told(self):
        self.refused("convert", self.small, self.folder / "a.txt", words="must end in .tns or .mtx")
        self.refused("convert", self.small, self.folder / "a.mtx", words="this tensor has order 3")
        self.refused("convert", self.small, self.folder / "a.mtx", "--header", words="--header is for .tns files")
        self.refused("generate", "9", "9", "--out", self.folder / "a.mtx", "--header", words="--header is for .tns files")
        self.refused("convert", self.small, "/no/folder/a.tns", words="No such file or directory")
        self.refused("convert", self.small, self.folder / "a.tns", "--order", "spiral", words="--order")
        wide = self.write("wide.tns", "18446744073709551615 4 1\n")
        self.refused("convert", wide, self.folder / "a.tns", "--order", "hilbert", words="these modes need 66")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["small.tns", "wide.tns"])

    def test_a_full_disk_is_told_and_leaves_nothing(self):
        large = self.generate("100", "100", "100", "--density", "0.2")
        target = self.folder / "full" / "a.tns"
        (self.folder / "full").mkdir()
        for words in (f"convert {large} {target}", f"generate 100 100 100 --density 0.2 --out {target}"):
            script = (f"mount -t tmpfs -o size=64k none {self.folder}/full && "
                      f"{{ {TANDEM} tensor {words}; echo code $?; ls -A {self.folder}/full; }}")
            result = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
            if "code" not in result.stdout:
                self.skipTest("a file system of its own cannot be mounted here: " + result.stderr)
            self.assertEqual(result.stdout, "code 2\n")
            self.assertIn(f"cannot write '{target}': No space left on device", result.stderr)


class LargerThanMemoryTest(TensorCase):
    """--memory below what the entries take: they are sorted in temporary files."""

    def doubled(self):
        text = self.generate("60", "50", "70", "--density", "0.15").read_text()
        path = self.folder / "doubled.tns.gz"
        path.write_bytes(gzip.compress((text + text).encode()))
        return path

    def test_stats_and_features_equal_those_of_memory(self):
        path = self.doubled()
        for command, timings in (("stats", ("read_ms", "runs")), ("features", ("read_ms", "ms"))):
            found = [run_json("tensor", command, path, *memory) for memory in ((), ("--memory", "200KiB"))]
            if command == "stats":
                self.assertEqual(found[0]["runs"], 0)
                self.assertGreater(found[1]["runs"], 20)
                self.assertEqual((found[1]["nnz"], found[1]["duplicates"]), (31500, 31500))
            for result in found:
                for field in timings:
                    del result[field]
            self.assertEqual(found[0], found[1])
        self.refused("features", path, "--memory", "200KiB", "--html", self.folder / "p.html", words="give more --memory")

    def test_least_memory_makes_no_run_of_an_entry(self):
        path = self.doubled()
        result = run_json("tensor", "stats", path, "--memory", "1")
        self.assertEqual((result["nnz"], result["duplicates"]), (31500, 31500))
        self.assertLess(result["runs"], 1000)

    def test_convert_writes_the_same_file_in_every_order(self):
        path, a, b = self.doubled(), self.folder / "a.tns", self.folder / "b.tns"
        for order in ("lexicographic", "morton", "hilbert", "file"):
            told = [self.tensor("convert", path, out, "--order", order, *memory).split(": ")[1].rsplit(",", 1)[0]
                    for out, memory in ((a, ()), (b, ("--memory", "200KiB")))]
            self.assertEqual(told[0], told[1])
            self.assertEqual(a.read_bytes(), b.read_bytes(), order)
        matrix = self.generate("300", "200", "--density", "0.3", name="matrix.tns")
        self.tensor("convert", matrix, self.folder / "a.mtx")
        self.tensor("convert", matrix, self.folder / "b.mtx", "--memory", "200KiB")
        self.assertEqual((self.folder / "a.mtx").read_bytes(), (self.folder / "b.mtx").read_bytes())

    def test_a_pipe_is_read_once(self):
        path, pipe, a, b = self.doubled(), self.folder / "pipe", self.folder / "a.tns", self.folder / "b.tns"
        os.mkfifo(pipe)
        for order in ("lexicographic", "file"):
            writer = threading.Thread(target=pipe.write_bytes, args=[gzip.decompress(path.read_bytes())], daemon=True)
            writer.start()
            self.tensor("convert", pipe, a, "--order", order, "--memory", "200KiB")
            writer.join()
            self.tensor("convert", path, b, "--order", order)
            self.assertEqual(a.read_bytes(), b.read_bytes(), order)

    def test_the_memory_is_bounded(self):
        path = self.generate("200", "200", "200", "--density", "0.2")

        def most_resident_kib(*arguments):
            process = subprocess.Popen([str(TANDEM), "tensor", *map(str, arguments)], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            return usage.ru_maxrss

        # 1.6 million entries take 32 MB, and while they are sorted more than as much again.
        out = self.folder / "out.tns"
        for command in (("stats", path), ("convert", path, out, "--order", "morton")):
            whole, bounded = most_resident_kib(*command), most_resident_kib(*command, "--memory", "8MiB")
            self.assertLess(bounded, whole - 40_000, command)

    def test_a_full_disk_of_runs_is_told_and_leaves_nothing(self):
        large = self.generate("100", "100", "100", "--density", "0.2")
        script = (f"mount -t tmpfs -o size=64k none {self.folder}/full && TMPDIR={self.folder}/full "
                  f"{TANDEM} tensor stats {large} --memory 1MiB; echo code $?; ls -A {self.folder}/full")
        (self.folder / "full").mkdir()
        result = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
        if "mount" in result.stderr or "unshare" in result.stderr:
            self.skipTest("a file system of its own cannot be mounted here: " + result.stderr)
        self.assertEqual(result.stdout, "code 2\n")
        self.assertIn(f"a temporary file in {self.folder}/full: No space left on device", result.stderr)


class BadInputTest(TensorCase):
    def test_the_line_is_named(self):
        for text, words in (("1 1 1\n1 x 1\n", "line 2: 'x' is not an index"), ("1 1 1\n0 1 1\n", "line 2: index 0"),
                            ("1 1 1\n-1 1 1\n", "line 2: index '-1' is negative"), ("", "is empty"),
                            ("1 1 1\n99999999999999999999 1 1\n", "line 2: index '99999999999999999999' does not fit"),
                            ("3\n2 2 2\n1 1 3 1\n", "line 3: index 3 in column 3 exceeds the mode's size 2"),
                            ("1 1 1\n1 1\n", "line 2: fewer than 2 indices and a value")):
            path = self.write("bad.tns", text)
            for command in ("stats", "features", "spy"):
                self.refused(command, path, words=words)
        for command in ("stats", "features", "spy"):
            self.refused(command, "/no/such.tns", words="/no/such.tns")

    def test_a_gzip_that_is_cut_off_is_refused(self):
        path = self.folder / "cut.tns.gz"
        path.write_bytes(gzip.compress(SMALL.encode() * 1000)[:-9])
        self.refused("stats", path, words="the gzip stream is damaged or cut off")

    def test_what_follows_a_gzip_stream_is_refused(self):
        path = self.folder / "more.tns.gz"
        path.write_bytes(gzip.compress(SMALL.encode()) + b"9 9 9 1\n")
        self.refused("stats", path, words=f"{path}: the gzip stream ends before the file")

    def test_output_that_a_full_disk_does_not_take_is_an_error(self):
        for words in (("stats", self.small), ("features", self.small, "--json"), ("spy", self.small),
                      ("bench", self.small, "--op", "mttkrp", "--kernels", "generic", "--seconds", 0),
                      ("cpd", self.small, "--rank", 1, "--kernels", "generic"), ("--help",)):
            with open("/dev/full", "w") as full:
                process = subprocess.run([TANDEM, "tensor", *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((process.returncode, process.stderr),
                             (2, "tandem: [output] cannot write standard output: No space left on device\n"), words)

    def test_unknown_words_are_told(self):
        self.refused("stats", self.small, "--jsn", words="--jsn")
        self.refused("features", self.small, "--json", "--csv", words="exclude each other")
        self.refused("features", self.small, "--threads", "many", words="--threads")
        self.refused("features", self.small, "--threads", "-1", words="--threads")
        process = run("tensor", "stat", self.small)
        self.assertEqual(process.returncode, 2)


class StatsTest(TensorCase):
    def test_fields_and_table_say_the_same(self):
        stats = run_json("tensor", "stats", self.small)
        self.assertEqual((stats["order"], stats["sizes"], stats["nnz"], stats["duplicates"]), (3, [3, 4, 3], 3, 1))
        self.assertEqual(stats["values"], {"min": -1, "max": 1, "sum": 0.75})
        self.assertEqual(stats["bytes"], {"coo": 3 * 20, "linear": 3 * 16})
        self.assertEqual(stats["density"], 3 / 36)
        self.assertIn("3 entries, 1 duplicates summed", self.tensor("stats", self.small))

    def test_orders_1_and_12_and_an_empty_tensor(self):
        self.assertEqual(run_json("tensor", "stats", self.write("a.tns", "5 1\n"))["sizes"], [5])
        twelve = run_json("tensor", "stats", self.write("b.tns", "1 " * 11 + "7 1\n"))
        self.assertEqual(twelve["sizes"], [1] * 11 + [7])
        empty = run_json("tensor", "stats", self.write("c.tns", "# sizes 3 4\n"))
        self.assertEqual((empty["nnz"], empty["values"]), (0, None))
        self.assertIn("csr", empty["bytes"])

    def test_rows_beyond_what_a_format_takes_are_left_out_of_its_bytes(self):
        stats = run_json("tensor", "stats", self.write("wide.tns", "18446744073709551615 4 1\n"))
        self.assertEqual(stats["bytes"], {"coo": 20, "csc": 5 * 8 + 16})


class SpyTest(TensorCase):
    def test_text_and_drawing(self):
        path = self.write("d.tns", "1 1 1\n2 2 1\n3 3 1\n")
        self.assertIn("|@  |\n| @ |\n|  @|", self.tensor("spy", path))
        self.tensor("spy", self.small, "--modes", "2,0", "--svg", self.folder / "s.svg")
        drawing = xml.etree.ElementTree.parse(self.folder / "s.svg").getroot()
        self.assertEqual(len(drawing.findall(".//{*}rect")), 1 + 3)
        self.assertIn("rows: mode 2", "".join(drawing.itertext()))
        self.refused("spy", self.small, "--modes", "0,3", words="there is no mode 3")
        self.refused("spy", self.small, "--modes=-1,0", words="'-1' is not a number from 0")
        self.assertIn("mode 0", self.tensor("spy", self.write("line.tns", "5 1\n")))


class FeaturesTest(TensorCase):
    def test_json_csv_and_html_say_the_same(self):
        features = run_json("tensor", "features", self.small)
        self.assertEqual((features["order"], features["sizes"], features["nnz"], features["duplicates"]), (3, [3, 4, 3], 3, 1))
        self.assertEqual(len(features["rows"]), 9)
        fibers = next(row for row in features["rows"] if row["kind"] == "nonzeros_per_fiber" and row["modes"] == [2])
        self.assertEqual((fibers["all"], fibers["nonempty"], fibers["max"], fibers["sum"]), (12, 3, 1, 3))
        text = self.tensor("features", self.small, "--csv")
        whole, rows = text.split("\n\n")
        self.assertEqual(next(csv.DictReader(whole.splitlines()))["nnz"], "3")
        rows = list(csv.DictReader(rows.splitlines()))
        for row, fields in zip(rows, features["rows"], strict=True):
            self.assertEqual(row["kind"], fields["kind"])
            self.assertEqual(row["modes"], "-".join(map(str, fields["modes"])))
            for name in ("all", "nonempty", "max", "average", "cv", "standard_deviation_nonempty"):
                self.assertEqual(float(row[name]), fields[name], name)
        table = self.tensor("features", self.small, "--html", self.folder / "f.html")
        self.assertIn("3 x 4 x 3: 3 entries", table)
        page = (self.folder / "f.html").read_text()
        self.assertEqual(page.count("<svg"), 2)
        self.assertIn("<td>nonzeros_per_fiber</td>", page)

    def test_threads_do_not_change_them(self):
        made = self.generate("60", "70", "80", "--density", "0.05", "--seed", "3")
        first, second = (run_json("tensor", "features", made, "--threads", n) for n in (1, 3))
        self.assertEqual((first.pop("threads"), second.pop("threads")), (1, 3))
        for result in (first, second):
            self.assertLess(0, result.pop("ms"))
            self.assertLess(0, result.pop("read_ms"))
        self.assertEqual(first, second)

    def test_a_header_costs_no_entries(self):
        bare = self.write("bare.tns", "1 1 2 1\n3 2 1 1\n")
        headed = self.write("headed.tns", "3\n3 2 2\n1 1 2 1\n3 2 1 1\n")
        self.assertEqual(self.tensor("features", bare, "--csv"), self.tensor("features", headed, "--csv"))


class GenerateTest(TensorCase):
    ASKED = ["100", "80", "120", "--density", "0.01", "--fiber-density", "0.4", "--slice-density", "0.9", "--cv-fibers", "0.3",
             "--cv-nonzeros", "0.6", "--seed", "5"]

    def row(self, features, kind, modes):
        return next(row for row in features["rows"] if row["kind"] == kind and row["modes"] == modes)

    def test_counts_are_exact_and_spreads_near(self):
        features = run_json("tensor", "features", self.generate(*self.ASKED))
        self.assertEqual((features["nnz"], features["duplicates"]), (9600, 0))
        fibers = self.row(features, "nonzeros_per_fiber", [2])
        self.assertEqual(fibers["nonempty"], 3200)
        self.assertLess(abs(fibers["cv_nonempty"] - 0.6), 0.06)
        slices = self.row(features, "fibers_per_slice", [1, 2])
        self.assertEqual(slices["nonempty"], 90)
        self.assertLess(abs(slices["cv_nonempty"] - 0.3), 0.06)

    def test_a_seed_gives_the_same_file_for_any_number_of_threads(self):
        files = [self.generate(*self.ASKED, "--threads", n, name=f"{n}.tns").read_bytes() for n in (1, 2, 5)]
        self.assertEqual(files[0], files[1])
        self.assertEqual(files[0], files[2])
        self.assertNotEqual(self.generate(*self.ASKED[:-1], "6").read_bytes(), files[0])

    def test_a_sibling_has_the_features_of_its_model(self):
        model = run_json("tensor", "features", self.generate(*self.ASKED))
        path = self.write("features.json", json.dumps(model))
        told = run_json("tensor", "generate", "--like", path, "--seed", "9", "--out", self.folder / "s.tns.gz")
        self.assertEqual((told["nnz"], told["nonempty_fibers"], told["nonempty_slices"]), (9600, 3200, 90))
        sibling = run_json("tensor", "features", self.folder / "s.tns.gz")
        self.assertEqual((sibling["sizes"], sibling["nnz"]), (model["sizes"], model["nnz"]))
        for kind, modes in (("nonzeros_per_fiber", [2]), ("fibers_per_slice", [1, 2])):
            self.assertEqual(self.row(sibling, kind, modes)["nonempty"], self.row(model, kind, modes)["nonempty"])

    def test_what_no_tensor_can_meet_is_refused_with_both_numbers(self):
        out = ["--out", self.folder / "no.tns"]
        cases = [(["10", "10", "10", "--density", "0.01", "--fiber-density", "0.5"], "10 nonzeros cannot fill 50 fibers"),
                 (["10", "10", "--density", "2"], "the density 2 is not in 0 .. 1"), ([], "give the sizes of the modes, or --like"),
                 (["10", "0"], "mode 1 has size 0"), (["10", "ten"], "ten"), (["10", "-3"], "'-3' is not a number from 0"), (["10", "10", "--seed", "-1"], "'-1' is not a number from 0"),
                 (["10", "10", "--density", "nan"], "density"), (["--like", "/no/features.json"], "/no/features.json"),
                 (["10", "--like", self.small], "--like takes sizes"), (["--like", self.small], "is not JSON"),
                 (["--like", self.write("half.json", '{"order": 2, "sizes": [3, 4]}')], "half.json': features: the field 'nnz' is missing"),
                 (["--like", self.write("two.json", '{"order": 3, "sizes": [3, 4]}')], "the order is 3, and there are 2 sizes"),
                 (["--like", self.folder], "Is a directory"),
                 (["5", "5", "5", "--density", "1", "--cv-fibers", "0.5"], "25 fibers in 5 slices of at most 5 vary by at most 0")]
        for arguments, words in cases:
            with self.subTest(words=words):
                self.refused("generate", *arguments, *out, words=words)
        self.refused("generate", "10", "10", "10", "--out", self.folder / "no.mtx", words="this tensor has order 3")
        self.refused("generate", "10", "10", words="--out is required")
        self.assertFalse((self.folder / "no.tns").exists())


if __name__ == "__main__":
    unittest.main()
