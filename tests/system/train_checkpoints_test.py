# SPDX-License-Identifier: Apache-2.0
#
# What runs of `tandem train` leave on disk: after kills, signals and full disks, and beside the checkpoints of other runs.
import json
import random
import resource
import shlex
import signal
import subprocess
import time
import unittest

from train_runs import SMALL, LightRuns


class CheckpointsTest(LightRuns):
    def test_a_new_run_leaves_the_checkpoints_of_another_alone(self):
        self.from_scratch("--steps", 1)
        self.assertIn("nothing will be saved", self.log)
        out = self.folder / "run"
        self.from_scratch("--steps", 1, "--out", out)
        before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
        self.assertIn(f"--out {out} has the checkpoints of another run: --resume {out} continues that run; for a new one, name another",
                      self.from_scratch("--steps", 1, "--out", out, code=2))
        self.assertEqual({path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}, before)
        other = self.folder / "other"
        self.from_scratch("--steps", 1, "--out", other)
        self.assertIn(f"--out {other} has the checkpoints of another run",
                      self.train("--resume", out, "--steps", 2, "--out", other, code=2))
        self.train("--resume", out, "--steps", 2)

    def test_a_folder_is_left_as_it_was_by_a_run_that_does_not_begin(self):
        self.from_scratch("--steps", 1, "--out", self.folder / "none", "--text", self.folder / "absent.txt", code=2)
        self.assertFalse((self.folder / "none").exists())
        kept = self.folder / "kept" / "step-00000001" / "thesis.txt"
        kept.parent.mkdir(parents=True)
        kept.write_text("precious")
        self.assertIn("has 'step-00000001', which is no checkpoint",
                      self.from_scratch("--steps", 1, "--out", kept.parent.parent, code=2))
        self.assertEqual(kept.read_text(), "precious")

    def test_a_resumed_run_tells_what_differs(self):
        out = self.folder / "run"
        self.from_scratch("--steps", 2, "--out", out)
        self.assertIn(f"the newest checkpoint is {out}/step-00000002\n", self.log)
        self.assertIn(f"tandem train export {out} model.gguf writes a file for tandem serve\n", self.log)
        self.assertIn("step-00000002' is of step 2, and --steps 1 counts from the very first step",
                      self.train("--resume", out, "--steps", 1, code=2))
        self.assertEqual(self.train("--resume", out, "--steps", 2, "--save-every", 5, "--offload", "host"), [])
        self.assertIn("step 2 of 2 is already done; a larger --steps continues the run", self.log)
        self.assertNotIn("other options", self.log)
        self.train("--resume", out, "--steps", 3, "--batch", 4, "--seed", 5)
        self.assertIn("the run continues with other options, so its results will differ: --batch was 2 and is 4; --seed was 1 and is 5",
                      self.log)

    def test_files_that_cannot_grow_end_logs_and_saves_but_not_the_steps(self):
        out = self.folder / "run"
        self.copy_one_step(out)
        limit = (2000, 2000)
        process = self.start("--text", self.folder / "text.txt", *SMALL, "--resume", out, "--steps", 30, "--save-every", 10,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        lines, error = process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 2, error)
        self.assertIn("model.safetensors': File too large; earlier checkpoints stay, and the run continues", error)
        self.assertRegex(error, r"tfevents\S+: File too large; the run continues without this log")
        self.assertEqual(json.loads(lines.splitlines()[-1])["step"], 30)
        self.assertEqual((out / "latest").read_text(), "step-00000001\n")
        self.train("--resume", out, "--steps", 2)

    def test_a_signal_saves_and_ends_the_run(self):
        out = self.folder / "run"
        process = self.start("--text", self.folder / "text.txt", *SMALL, "--model-config", self.folder / "shape.toml",
                             "--steps", 1000000, "--out", out)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 0, error)
        self.assertRegex(error, rf"stopped after step \d+; --resume {out} continues the run")
        self.assertNotIn("the newest checkpoint", error)
        step = json.loads((out / (out / "latest").read_text().strip() / "checkpoint.json").read_text())["step"]
        lines = self.train("--resume", out, "--steps", step + 2)
        self.assertEqual([line["step"] for line in lines], [step + 1, step + 2])

    def test_kills_at_any_instant_lose_no_checkpoint(self):
        out = self.folder / "run"
        draw = random.Random(3)
        last = 0
        for _ in range(8):
            source = ["--resume", out] if last else ["--model-config", self.folder / "shape.toml"]
            process = self.start("--text", self.folder / "text.txt", *SMALL, *source, "--out", out, "--steps", 100000,
                                 "--save-every", 1)
            for _ in range(draw.randrange(2, 12)):
                process.stdout.readline()
            time.sleep(draw.random() * 0.02)
            process.kill()
            process.communicate()
            found = json.loads((out / (out / "latest").read_text().strip() / "checkpoint.json").read_text())["step"]
            self.assertGreater(found, last)
            last = found
        self.train("--resume", out, "--steps", last + 1)

    def test_a_full_disk_leaves_the_checkpoint_before(self):
        out = self.folder / "run"
        out.mkdir()
        common = ["--text", self.folder / "text.txt", *SMALL, "--out", out]
        first = [self.program, "train", *common, "--model-config", self.folder / "shape.toml", "--steps", 2]
        again = [self.program, "train", *common, "--resume", out, "--steps", 4]
        script = (f"mount -t tmpfs -o size=8m tmpfs {out} || exit 77\n{shlex.join(map(str, first))} || exit 1\n"
                  f"cat /dev/zero > {out}/filler\n{shlex.join(map(str, again))} && exit 2\n"
                  f"cat {out}/latest; ls -A {out}; rm {out}/filler\n{shlex.join(map(str, again))} || exit 3\n"
                  f"cat {out}/latest")
        process = subprocess.run(["unshare", "--mount", "bash", "-c", script], capture_output=True, text=True,
                                 timeout=1200)
        if process.returncode == 77 or "unshare failed" in process.stderr:
            self.skipTest("this user cannot mount a tmpfs")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("No space left on device", process.stderr)
        self.assertEqual([line for line in process.stdout.splitlines() if line.startswith("step-")],
                         ["step-00000002", "step-00000002", "step-00000004"])
        self.assertNotIn("partial", process.stdout)

    def test_another_runs_checkpoint_is_refused(self):
        out = self.folder / "run"
        self.copy_one_step(out)
        saved = out / "step-00000001" / "model.safetensors"
        whole = saved.read_bytes()
        saved.write_bytes(whole[:-100])
        self.assertIn(f"has {len(whole) - 100} bytes, not the {len(whole)} that were written",
                      self.train("--resume", out, "--steps", 2, code=2))
        saved.write_bytes(whole)
        self.assertIn("of the optimizer adam", self.train("--resume", out, "--steps", 2, "--optimizer", "sgd", code=2))

    def test_a_checkpoint_of_another_model_than_the_one_named_is_refused(self):
        out = self.folder / "run"
        self.copy_one_step(out)
        for change, words in ((("ffn = 64", "ffn = 96"), "ffn_gate.weight of [64, 64] there and"),
                              (("layers = 2", "layers = 1"), "there and output_norm.weight of [64] here"),
                              (("layers = 2", "layers = 2\ntied = false"), "it has 20 parameters there and 21 here"),
                              (("layers = 2", 'kind = "lstm"\nlayers = 2'), "the kind is llama there and lstm here")):
            other = self.folder / "other.toml"
            other.write_text((self.folder / "shape.toml").read_text().replace(*change))
            error = self.train("--resume", out, "--model-config", other, "--steps", 2, code=2)
            self.assertIn(f"--resume {out} has another model than --model-config {other}: ", error)
            self.assertIn(words, error)


if __name__ == "__main__":
    unittest.main()
