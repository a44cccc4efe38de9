# SPDX-License-Identifier: Apache-2.0
#
# A model file converted to another type, and the same type chosen while loading, give the same weights.
import os
import pathlib
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
