# SPDX-License-Identifier: Apache-2.0
#
# `tandem simulate` as a user runs it: fields, files, repeated runs, and what is refused.
import csv
import json
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from daemon import TANDEM

CASE = ["--model", "llama-2-7b", "--devices", "l40s+4*u55c", "--seed", "5"]
LOAD = ["--load", "poisson:20,prompt=50..500,output=1..60,requests=200"]


def simulate(*arguments):
    return subprocess.run([TANDEM, "simulate", *arguments], capture_output=True, text=True, timeout=1200)


def figures(*arguments):
    process = simulate(*arguments, "--json")
    if process.returncode != 0:
        raise AssertionError(f"tandem simulate ended with {process.returncode}:\n{process.stderr}")
    return json.loads(process.stdout)


class SimulateTest(unittest.TestCase):
    def test_json_has_what_readers_rely_on(self):
        result = figures(*CASE, *LOAD)
        for name in ("tokens_per_s", "joules_per_token", "seconds"):
            self.assertLess(0, result[name], name)
        for name in ("ttft_ms", "itl_ms", "latency_ms"):
            self.assertLess(0, result[name]["p50"], name)
            self.assertLessEqual(result[name]["p50"], result[name]["p99"], name)
        self.assertEqual(set(result["utilisation"]), {"l40s", "u55c:0", "u55c:1", "u55c:2", "u55c:3"})
        for value in result["utilisation"].values():
            self.assertTrue(0 <= value <= 1, value)
        self.assertEqual(result["requests"], 200)
        self.assertTrue(1 <= result["mean_running"] <= result["most_running"])

    def test_a_seed_gives_the_same_bytes(self):
        first, again = (simulate(*CASE, *LOAD, "--json").stdout for _ in range(2))
        self.assertEqual(first, again)
        other = simulate(*CASE[:-1], "6", *LOAD, "--json").stdout
        self.assertNotEqual(first, other)

    def test_table_csv_and_drawing_show_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            table, drawing = pathlib.Path(folder, "a.csv"), pathlib.Path(folder, "a.svg")
            text = simulate(*CASE, *LOAD, "--csv", str(table), "--svg", str(drawing)).stdout
            result = figures(*CASE, *LOAD)
            fields = {row["field"]: row["value"] for row in csv.DictReader(table.open())}
            self.assertEqual(float(fields["tokens_per_s"]), result["tokens_per_s"])
            self.assertEqual(float(fields["itl_ms.p99"]), result["itl_ms"]["p99"])
            rate = f"{result['tokens_per_s']:.1f} tokens/s"
            self.assertIn(rate, text)
            words = " ".join(xml.etree.ElementTree.parse(drawing).getroot().itertext())
            self.assertIn(rate, words)
            self.assertIn("u55c:3", words)

    def test_a_trace_is_served_or_refused_with_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "trace.csv")
            trace.write_text("arrival,prompt,output\n0,100,10\n0.5,200,20\n")
            self.assertEqual(figures(*CASE, "--trace", str(trace))["generated_tokens"], 30)
            for line, words in (("0.2,1,1", "line 4: its time is before"), ("-1,1,1", "line 4: the time -1 is negative")):
                trace.write_text(f"arrival,prompt,output\n0,100,10\n0.5,200,20\n{line}\n")
                process = simulate(*CASE, "--trace", str(trace))
                self.assertEqual(process.returncode, 2)
                self.assertIn(words, process.stderr)

    def test_what_cannot_be_is_named(self):
        cases = [(["--model", "llama2-7b", *CASE[2:], *LOAD], "did you mean llama-2-7b?"),
                 (["--model", "llama-2-7b", "--devices", "l40s+u55", *LOAD], "did you mean u55c?"),
                 (["--model", "llama-3-70b", "--devices", "l40s", *LOAD], "94.7 GB are missing"),
                 ([*CASE, "--load", "steady:4"], "batch:N"),
                 ([*CASE, "--load", "bacth:4"], "did you mean 'batch'?"), (CASE, "--load or --trace is missing"),
                 ([*CASE, *LOAD, "--price", "l40s"], "USD per hour"), (["--reproduce", "vllm"], "hpu"),
                 (["--map", "--design", *CASE, *LOAD], "--map and --design exclude each other"),
                 (["--list", "--suggest"], "--list and --suggest exclude each other"),
                 (["--reproduce", "hpu", "--csv", "a.csv"], "--reproduce writes no --csv"),
                 (["--suggest", *CASE, *LOAD, "--svg", "a.svg"], "--suggest draws no --svg"),
                 (["--map", *CASE[:2], "--devices", "l40s"], "'l40s' has none")]
        for arguments, words in cases:
            process = simulate(*arguments)
            self.assertEqual(process.returncode, 2, arguments)
            self.assertIn(words, process.stderr)

    def test_lengths_that_are_assumed_are_printed(self):
        self.assertIn("assumed of the load: prompt=512,output=128,requests=16", simulate(*CASE, "--load", "batch:4").stdout)
        self.assertEqual(figures(*CASE, "--load", "batch:4,prompt=9")["load_assumed"], "output=128,requests=16")
        self.assertNotIn("assumed", simulate(*CASE, "--load", "batch:4,prompt=9,output=3,requests=4").stdout)
        load = ["--load", "batch:2,prompt=9,requests=2"]
        self.assertIn("assumed of the load: output=128", simulate("--design", *CASE, *load).stdout)
        self.assertIn("assumed of the load: output=128", simulate("--suggest", *CASE[:2], "--devices", "l40s", *load).stdout)

    def test_a_target_that_cannot_be_met_is_said(self):
        long_prompts = ["--load", "poisson:2,prompt=1500,output=50,requests=40", "--target-itl-ms"]
        case = ["--model", "llama-2-7b", "--devices", "l40s"]
        self.assertFalse(figures(*case, *long_prompts, "5")["meets_target"])
        self.assertIn("misses the target of 5 ms", simulate(*case, *long_prompts, "5").stdout)
        self.assertTrue(figures(*case, *long_prompts, "80")["meets_target"])
        self.assertNotIn("misses", simulate(*case, *long_prompts, "80").stdout)

    def test_a_measured_table_is_a_machine(self):
        curve = {"head_group": 4, "kv_dtype": "f16", "by_tokens": [[0, 0], [1e6, 1]], "per_pair_s": 0, "per_row_s": 0,
                 "rows_per_read": 1, "correction": 1}
        link = {"latency_s": 0, "bytes_per_s": 0}
        device = {"id": "cpu", "driver": "", "dense_by_rows": [[1, 0.01], [512, 0.1]], "dense_correction": 1,
                  "attention": [curve], "to_device": link, "from_device": link}
        device |= {name: 0 for name in ("launch_s", "merge_row_s", "causal_pair_s", "sampling_s", "sampling_row_s", "page_move_s")}
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "table.json")
            table.write_text(json.dumps({"version": 3, "machine": "m", "model": "n", "options": "", "devices": [device]}))
            case = ["--model", "llama-3.2-1b", "--devices", str(table), "--load", "batch:2,prompt=10,output=10"]
            self.assertEqual(list(figures(*case)["utilisation"]), ["cpu"])
            for study in ("--map", "--design"):
                process = simulate(study, *case)
                self.assertEqual(process.returncode, 2)
                self.assertIn("a measured table has one: name devices", process.stderr)
            table.write_text(table.read_text()[:-20])
            process = simulate(*case)
            self.assertEqual(process.returncode, 2)
            self.assertIn(str(table), process.stderr)

    def test_published_results_come_with_assumptions_and_error(self):
        for name in ("hpu", "neo", "lamina"):
            for row in figures("--reproduce", name)["rows"]:
                self.assertAlmostEqual(row["error"], row["simulated"] / row["published"] - 1)
                self.assertTrue(row["assumptions"])

    def test_suggestions_are_ordered_by_price(self):
        rows = figures("--suggest", "--model", "llama-3-8b", "--devices", "l40s,a100,u55c", "--load",
                       "poisson:3,prompt=300,output=50,requests=60", "--target-itl-ms", "80")["suggestions"]
        prices = [row["price_per_hour"] for row in rows if row["meets_target"]]
        self.assertTrue(prices)
        self.assertEqual(prices, sorted(prices))
        self.assertTrue(all(row["itl_ms"]["p99"] <= 80 for row in rows if row["meets_target"]))

    def test_a_model_file_gives_its_shape(self):
        model = pathlib.Path(TANDEM).parent.parent / "share/tandem/models/tandem-stories-q8_0.gguf"
        result = figures("--model", str(model), "--devices", "t4", "--load", "batch:2,prompt=20,output=5")
        self.assertEqual(result["generated_tokens"], 40)

    def test_the_map_has_every_cell(self):
        cells = figures("--map", "--model", "llama-2-7b", "--devices", "l40s+4*u55c")["cells"]
        self.assertEqual(len(cells), 120)
        self.assertTrue(any(cell["pays"] for cell in cells) and not all(cell["pays"] for cell in cells))
        lines = simulate("--map", "--model", "llama-2-7b", "--devices", "l40s+4*u55c").stdout.splitlines()
        rows = [line.split() for line in lines if line.split()[:1] == ["64"]]
        gains = [f"{cell['gain']:.2f}" for cell in cells if cell["batch"] == 64]
        self.assertEqual([word for row in rows for word in row[1:] if word != "*"], gains)
        self.assertEqual(sum(line.count("*") for line in lines[1:]), sum(cell["pays"] for cell in cells))

    def test_parts_of_the_design_are_switched_off_in_turn(self):
        with tempfile.TemporaryDirectory() as folder:
            drawing = pathlib.Path(folder, "design.svg")
            rows = figures("--design", "--model", "llama-3-8b", "--devices", "l40s:20+4*u55c", "--weights", "q8_0",
                           "--load", "batch:32,prompt=512,output=64,requests=32", "--svg", str(drawing))["rows"]
            words = " ".join(xml.etree.ElementTree.parse(drawing).getroot().itertext())
        self.assertEqual(rows[0]["what"], "all parts")
        self.assertEqual([row["what"] for row in rows[-2:]], ["without any of them", "without units"])
        for part in ("grouped-query attention", "8-bit KV", "pages", "one read of the weights", "early queries"):
            self.assertIn(f"without {part}", [row["what"] for row in rows])
            self.assertIn(f"without {part}", words)
        for row in rows:
            self.assertAlmostEqual(row["of_all"], row["tokens_per_s"] / rows[0]["tokens_per_s"])

    def test_a_part_without_which_nothing_runs_is_told(self):
        case = ["--design", "--model", "llama-3-8b", "--devices", "l40s:9+4*u55c", "--weights", "f8", "--load",
                "batch:4,prompt=3000,output=20,requests=4"]
        with tempfile.TemporaryDirectory() as folder:
            drawing = pathlib.Path(folder, "design.svg")
            rows = figures(*case, "--svg", str(drawing))["rows"]
            self.assertIn("impossible", drawing.read_text())
        self.assertIn("is missing", rows[-1]["impossible"])
        self.assertEqual(sum("impossible" in row for row in rows), 1)
        self.assertIn("without units: impossible, ", simulate(*case).stdout)

    def test_the_map_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            drawing = pathlib.Path(folder, "map.svg")
            simulate("--map", "--model", "llama-2-7b", "--devices", "l40s+4*u55c", "--svg", str(drawing))
            root = xml.etree.ElementTree.parse(drawing).getroot()
        squares = [node for node in root.iter() if node.tag.endswith("rect")]
        self.assertEqual(len(squares), 121)
        self.assertTrue(any(node.get("stroke-width") == "2" for node in squares))
        self.assertIn("8-bit KV, 8 heads per KV head", " ".join(root.itertext()))

    def test_presets_are_listed_with_their_sources(self):
        text = simulate("--list").stdout
        for word in ("mixtral-8x7b", "b200", "v80", "400gbe", "datasheet"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
