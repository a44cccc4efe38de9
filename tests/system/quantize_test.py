# SPDX-License-Identifier: Apache-2.0
#
# A model file converted to another type, and the same type chosen while loading, give the same weights.
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from daemon import BUILD, TANDEM, run, run_json

TEXT = "Once upon a time, there was a small duck named Pip. Pip liked to swim in the pond with his mom. "


class QuantizeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = BUILD / "share" / "tandem" / "models" / "tandem-stories-q8_0.gguf"
        (self.folder / "text.txt").write_text(TEXT * 3)

    def losses(self, *arguments):
        return run_json("perplexity", "--file", self.folder / "text.txt", "--attention", "cpu", *arguments)["nll"]

    def test_a_written_file_computes_as_one_quantised_on_load(self):
        for kind in ("q4_k", "q5_1"):
            out = self.folder / f"{kind}.gguf"
            result = run("quantize", self.model, out, "--type", kind)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(kind, result.stdout)
            self.assertLess(out.stat().st_size, 0.75 * self.model.stat().st_size)
            written = self.losses("--model", out)
            self.assertEqual(written, self.losses("--model", self.model, "--quantize", kind))
            self.assertNotEqual(written, self.losses("--model", self.model))

    def test_says_what_was_quantised_on_load(self):
        result = run("generate", "--prompt", "Once", "-n", 2, "--attention", "cpu", "--quantize", "q4_k")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"converted 36 matrices in .* s, .*q4_k")

    def test_refuses_what_it_cannot_do(self):
        out = self.folder / "out.gguf"
        out.write_text("precious")
        (self.folder / "no.gguf").write_text("no model at all")
        for arguments, words in (
            ((self.model, out, "--type", "q4_k"), "--force"),
            ((self.model, self.folder, "--type", "q4_k"), "folder"),
            ((self.model, self.model, "--type", "q4_k", "--force"), "name another"),
            ((self.model, out, "--type", "q9", "--force"), "q9"),
            ((self.model, out, "--type", "q8_0", "--force"), "no matrix"),
            ((self.folder / "no.gguf", out, "--type", "q4_k", "--force"), "not a GGUF file"),
            ((self.model, self.folder / "absent" / "out.gguf", "--type", "q4_k"), "cannot write"),
        ):
            result = run("quantize", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)
        self.assertEqual(out.read_text(), "precious")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["no.gguf", "out.gguf", "text.txt"])
        self.assertEqual(run("quantize", self.model, out, "--type", "q4_0", "--force").returncode, 0)

    def pruned(self, *arguments):
        out = self.folder / "pruned.gguf"
        result = run("quantize", self.model, out, "--force", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return out, result.stdout

    def test_a_pruned_model_computes_the_same_without_its_zeros(self):
        for pattern, part in (("values", 0.9), ("2:4", 0.5), ("8x8", 0.75)):
            out, said = self.pruned("--type", "f32", "--prune", part, "--prune-pattern", pattern)
            zeros = re.search(r"of \d+ values of the pruned matrices are zero \((.*) %\)", said)
            self.assertAlmostEqual(float(zeros[1]), 100 * part, delta=0.5)  # rows round
            whole = sum(self.losses("--model", out, "--cpu-sparse", "never"))
            self.assertAlmostEqual(sum(self.losses("--model", out, "--cpu-sparse", "always")), whole, delta=1e-4 * whole)
            self.assertNotAlmostEqual(sum(self.losses("--model", self.model)), whole, delta=1e-2 * whole)

    def test_a_pruned_model_reads_less_and_the_daemon_says_what_it_measured(self):
        out, _ = self.pruned("--type", "bf16", "--prune", 0.9, "--prune-scope", "global", "--prune-output")
        words = ("generate", "--model", out, "--prompt", "Once", "-n", 2, "--attention", "cpu")
        read = {}
        for word in ("always", "never"):
            result = run(*words, "--cpu-sparse", word)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("without them", result.stderr)
            line = next(line for line in result.stderr.splitlines() if line.startswith("cpu "))
            read[word] = float(line.split()[6])
        self.assertLess(read["always"], 0.6 * read["never"], read)
        result = run(*words)
        self.assertRegex(result.stderr, r"bf16 weights with \d+ % zeros: .* times as fast without them")

    def test_zeros_of_a_pruned_model_survive_its_quantisation_and_are_left_out(self):
        out, _ = self.pruned("--type", "bf16", "--prune", 0.9)
        small = self.folder / "small.gguf"
        self.assertEqual(run("quantize", out, small, "--type", "q8_0", "--force").returncode, 0)
        whole = sum(self.losses("--model", small, "--cpu-sparse", "never"))
        self.assertAlmostEqual(sum(self.losses("--model", small, "--cpu-sparse", "always")), whole, delta=1e-2 * whole)
        words = ("generate", "--model", small, "--prompt", "Once", "-n", 2, "--attention", "cpu")
        read = {}
        for word in ("always", "never"):
            result = run(*words, "--cpu-sparse", word)
            self.assertEqual(result.returncode, 0, result.stderr)
            line = next(line for line in result.stderr.splitlines() if line.startswith("cpu "))
            read[word] = float(line.split()[6])
        self.assertLess(read["always"], 0.8 * read["never"], read)

    def test_a_model_whose_output_is_its_table_gets_a_pruned_copy_of_it(self):
        whole, pruned = self.folder / "whole.gguf", self.folder / "tied.gguf"
        made = subprocess.run([BUILD / "bin" / "tandem-random-model", whole, "--type", "bf16", "--context", "64", "--vocab", "512",
                               "--layers", "1", "--width", "128", "--q-heads", "2", "--kv-heads", "1", "--ffn", "256"], check=False)
        self.assertEqual(made.returncode, 0)
        for flags, has_copy in (((), False), (("--prune-output",), True)):
            result = run("quantize", whole, pruned, "--type", "bf16", "--prune", 0.9, "--force", *flags)
            self.assertEqual(result.returncode, 0, result.stderr)
            name = (13).to_bytes(8, "little") + b"output.weight"  # not that of attention
            self.assertEqual(name in pruned.read_bytes()[:1 << 20], has_copy)
            words = ("generate", "--model", pruned, "--prompt", "a", "-n", 2, "--attention", "cpu", "--cpu-sparse", "always")
            self.assertEqual(run(*words).returncode, 0)

    def test_a_random_model_in_blocks_has_no_zeros(self):
        for kind in ("q8_0", "q4_0"):
            path = self.folder / f"{kind}.gguf"
            made = subprocess.run([BUILD / "bin" / "tandem-random-model", path, "--type", kind, "--zeros", "0.5"], check=False,
                                  capture_output=True, text=True)
            self.assertEqual((made.returncode, path.exists()), (2, False))
            self.assertIn(f"{kind} keeps values in blocks; use f32, f16 or bf16", made.stderr)

    def test_refuses_to_prune_what_it_cannot(self):
        out = self.folder / "out.gguf"
        for arguments, words in (
            ((), "add --type or --prune"),
            (("--prune", 0.9), "add --type bf16"),
            (("--prune", 0.9, "--type", "q4_0"), "add --type bf16"),
            (("--prune", 1.5, "--type", "bf16"), "the fraction 1.500000 is not above 0 and below 1"),
            (("--prune", "nan", "--type", "bf16"), "below 1"),
            (("--prune", 0.9, "--type", "bf16", "--prune-pattern", "2:4"), "not 0.9"),
            (("--prune", 0.5, "--type", "bf16", "--prune-pattern", "2:4", "--prune-scope", "global"), "no global scope"),
            (("--prune", 0.5, "--type", "bf16", "--prune-pattern", "1:7"), "prunes"),
            (("--prune", 0.5, "--type", "bf16", "--prune-pattern", "round"), "is not a pattern"),
            (("--type", "bf16", "--prune-scope", "global"), "need --prune"),
            (("--type", "f32"), "use it together with --prune"),
        ):
            result = run("quantize", self.model, out, *arguments)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(words, result.stderr)
            self.assertFalse(out.exists())

    def test_names_the_matrix_with_a_value_that_is_not_finite(self):
        out, _ = self.pruned("--type", "f32", "--prune", 0.5)
        content = bytearray(out.read_bytes())
        at = len(content) * 6 // 10 // 32 * 32  # among the layers' matrices
        content[at:at + 4] = b"\x00\x00\xc0\x7f"
        (self.folder / "nan.gguf").write_bytes(content)
        for scope in ("row", "global"):
            result = run("quantize", self.folder / "nan.gguf", self.folder / "made.gguf",
                         "--type", "bf16", "--prune", 0.9, "--prune-scope", scope)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertRegex(result.stderr, r"'blk\.\d+\..*\.weight', rows from \d+: holds a value that is not finite")
            self.assertFalse((self.folder / "made.gguf").exists())

    def test_replaces_regular_files_only(self):
        fifo, link, loose = (self.folder / name for name in ("fifo", "link", "loose"))
        os.mkfifo(fifo)
        loose.symlink_to("nothing")
        for out, words in ((fifo, "a FIFO"), ("/dev/null", "a device"), (loose, "a link whose target does not exist")):
            result = run("quantize", self.model, out, "--type", "q4_0", "--force")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)
        self.assertTrue(fifo.is_fifo())
        (self.folder / "real.gguf").write_text("old")
        link.symlink_to("real.gguf")
        result = run("quantize", self.model, link, "--type", "q4_0", "--force")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(link.is_symlink(), "the link stays, its target is replaced")
        self.assertGreater((self.folder / "real.gguf").stat().st_size, 1 << 20)

    def test_warns_of_rounding_twice(self):
        result = run("quantize", self.model, self.folder / "out.gguf", "--type", "q4_0")
        self.assertIn("36 matrices of the model are quantised already", result.stderr)

    def test_a_full_disk_is_told_and_leaves_nothing(self):
        script = (f"mount -t tmpfs -o size=1m none {self.folder} && "
                  f"{{ {TANDEM} quantize {self.model} {self.folder}/out.gguf --type q4_0; echo code $?; ls -A {self.folder}; }}")
        result = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
        if "code" not in result.stdout:
            self.skipTest("a file system of its own cannot be mounted here: " + result.stderr)
        self.assertEqual(result.stdout, "code 2\n")
        self.assertIn("out.gguf': No space left on device", result.stderr)

    def test_touches_no_file_but_the_one_it_writes(self):
        out = self.folder / "out.gguf"
        model = self.folder / "out.gguf.partial"
        model.write_bytes(self.model.read_bytes())
        result = run("quantize", model, out, "--type", "q4_0")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(model.read_bytes(), self.model.read_bytes())
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ["out.gguf", "out.gguf.partial", "text.txt"])
        self.assertEqual(out.stat().st_mode, model.stat().st_mode)


if __name__ == "__main__":
    unittest.main()
