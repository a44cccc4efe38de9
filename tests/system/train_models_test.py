# SPDX-License-Identifier: Apache-2.0
#
# `tandem train` with its other models and places: recommenders, LSTMs, the update in host memory and on cards.
import fcntl
import json
import os
import random
import re
import shutil
import signal
import unittest
from pathlib import Path

from daemon import BUILD
from train_runs import LightRuns, TrainRuns

CLICKS = """
kind = "recommender"
dense = 5
width = 8
rows = [400, 300, 20]
bag = 2
bottom = [16]
top = [16]
"""
LSTM = """
kind = "lstm"
layers = 2
width = 48
"""
HAVE_CARDS = (BUILD / "xrt" / "bin" / "tandem-card").exists()


def card_processes(application):
    """The emulated cards that a process has for itself."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"tandem-card", b"--application"] and words[2] == str(application).encode():
            found.append(int(entry.name))
    return found


def model_bytes(out):
    folder = out / (out / "latest").read_text().strip()
    return [(folder / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")]


def losses(lines):
    return {line["step"]: (line["loss"], line["gradient_norm"]) for line in lines if "step" in line}


class Clicks:
    """Runs of a small recommender."""

    def setUp(self):
        super().setUp()
        (self.folder / "clicks.toml").write_text(CLICKS)

    def arguments(self, *more):
        return ["--data", "synthetic", "--batch", 32, "--rate", "1e-2", "--json", "--threads", 1, *more]

    def clicks(self, *arguments, **options):
        source = [] if "--resume" in arguments else ["--model-config", self.folder / "clicks.toml"]
        return self.train(*source, *self.arguments(*arguments), small=False, **options)


class RecommenderTest(Clicks, TrainRuns):
    def test_it_learns_and_is_scored(self):
        lines = self.clicks("--steps", 300, "--log-every", 100, "--valid", "synthetic", "--out", self.folder / "run",
                            "--table-rate", 0.1)
        scored = lines[-1]
        self.assertLess(scored["logloss"], 0.65)
        self.assertGreater(scored["auc"], 0.68)
        self.assertEqual(scored["samples_scored"], 8192)
        self.assertIn("3 tables of 5760 values, synthetic samples", self.log)
        self.assertRegex(self.log, r"the newest checkpoint is \S+/run/step-00000300\n")
        self.assertNotIn("tandem train export", self.log)
        self.assertIn("not of a decoder", self.train("export", self.folder / "run", self.folder / "a.gguf", small=False,
                                                     code=2))

    def test_a_resumed_run_has_the_undisturbed_runs_log(self):
        for ranks in (0, 2):
            out = self.folder / f"run{ranks}"
            whole = self.clicks("--steps", 12, "--save-every", 6, "--keep", 0, "--out", out, ranks=ranks)
            final = model_bytes(out)
            again = self.clicks("--steps", 12, "--resume", out / "step-00000006", "--out", self.folder / f"again{ranks}",
                                ranks=ranks)
            self.assertEqual(losses(again), {step: of for step, of in losses(whole).items() if step > 6})
            self.assertEqual(model_bytes(self.folder / f"again{ranks}"), final)

    def test_ranks_sparsify_the_layers_and_send_rows_of_tables(self):
        lines = self.clicks("--steps", 5, "--reduce", "topk@0.05", "--reduce-warmup", 0, "--dense-below", 32, ranks=2)
        self.assertLess(lines[-1]["density_sent"], 0.3)

    def test_a_file_of_criteos_format_is_learned(self):
        draw = random.Random(5)
        with open(self.folder / "clicks.tsv", "w") as file:
            for _ in range(400):
                words = [f"{draw.randrange(20):08x}" for _ in range(26)]
                label = int(int(words[0], 16) < 10)
                numbers = ["" if draw.random() < 0.2 else str(draw.randrange(100)) for _ in range(13)]
                file.write("\t".join([str(label), *numbers, *words]) + "\n")
        (self.folder / "criteo.toml").write_text('kind = "recommender"\ntables = 26\nrows = 100\nwidth = 4\n')
        lines = self.train("--model-config", self.folder / "criteo.toml", "--data", self.folder / "clicks.tsv", "--valid",
                           self.folder / "clicks.tsv", "--steps", 60, "--batch", 64, "--rate", "1e-2", "--table-rate", 0.1, "--threads", 1,
                           "--json", small=False)
        self.assertGreater(lines[-1]["auc"], 0.9)
        self.assertEqual(lines[-1]["samples_scored"], 400)


class TablesTest(Clicks, LightRuns):
    """Where the tables are, and what is refused."""

    def test_a_checkpoint_of_another_model_than_the_one_named_is_refused(self):
        out = self.folder / "run"
        self.clicks("--steps", 1, "--out", out)
        same = self.clicks("--resume", out, "--model-config", self.folder / "clicks.toml", "--steps", 2)
        self.assertEqual([line["step"] for line in same], [2])
        other = self.folder / "other.toml"
        other.write_text(CLICKS.replace("width = ", "width = 1"))
        self.assertIn("field 'width' is", self.clicks("--resume", out, "--model-config", other, "--steps", 2, code=2))

    def test_wrong_inputs_are_named(self):
        (self.folder / "bad.tsv").write_text("0\t1\n")
        config = ["--model-config", self.folder / "clicks.toml"]
        for arguments, words in (
            ([*config, "--text", self.folder / "text.txt"], "text.txt is for a language model; a recommender learns from --data"),
            (config, "--data is missing"),
            ([*config, "--data", self.folder / "bad.tsv"], "the model takes 5 numbers and has 3 tables"),
            ([*config, "--data", "synthetic", "--offload", "xrt:0,cpu"], "'cpu' is not a card"),
            ([*config, "--data", "synthetic", "--offload", "xrt:0,xrt"], "'xrt' is named twice; name each card once"),
            ([*config, "--data", "synthetic", "--offload", "xrt:0,"], "'' is not a card"),
            ([*config, "--data", "synthetic", "--offload", "xrt:a"], "'xrt:a' is not a card"),
            ([*config, "--data", self.folder / "none"], "No such file or directory; name a file of Criteo's format"),
            ([*config, "--data", "synthetic", "--tokenizer", "bytes"], "--tokenizer bytes is for a language model; a recommender has no tokenizer"),
            ([*config, "--data", "synthetic", "--offload", "disk"], "choose none, host, auto"),
            (["--model-config", self.folder / "shape.toml", "--data", "synthetic"], "--data synthetic is for a recommender; a model of the kind llama learns from --text"),
        ):
            self.assertIn(words, self.train("--steps", 1, *arguments, small=False, code=2))

    @unittest.skipUnless(HAVE_CARDS, "this build has no emulated cards")
    def test_tables_on_cards_have_the_bits_of_the_host(self):
        for rule in ("rowwise_adagrad", "row_adam", "sgd"):
            for ranks in (0, 2):
                if ranks and rule != "row_adam":
                    continue
                name = f"{rule}{ranks}"
                common = ["--steps", 6, "--table-optimizer", rule]
                host = self.clicks(*common, "--out", self.folder / f"host{name}", ranks=ranks)
                cards = self.clicks(*common, "--out", self.folder / f"cards{name}", "--offload", "xrt:0,xrt:1", ranks=ranks)
                self.assertIn("by the cost model a step's rows take", self.log)
                self.assertIn("xrt:0 updated", self.log)
                self.assertEqual("xrt:1 updated" in self.log, ranks == 0)  # else it is rank 1's, which logs less
                self.assertEqual(losses(cards), losses(host))
                self.assertEqual(model_bytes(self.folder / f"cards{name}"), model_bytes(self.folder / f"host{name}"))

    @unittest.skipUnless(HAVE_CARDS, "this build has no emulated cards")
    def test_a_card_killed_in_mid_run_changes_no_bit(self):
        self.clicks("--steps", 200, "--out", self.folder / "host")
        process = self.start("--model-config", self.folder / "clicks.toml", *self.arguments(
            "--steps", 200, "--out", self.folder / "cards", "--offload", "xrt:0,xrt:1"))
        # What it says of 200 steps does not fit in, so it does not end before this test has read them.
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        for _ in range(5):
            json.loads(process.stdout.readline())
        process.send_signal(signal.SIGSTOP)  # it does not end while the cards are looked for
        cards = card_processes(process.pid)
        self.assertEqual(len(cards), 2)
        os.kill(cards[1], signal.SIGKILL)
        process.send_signal(signal.SIGCONT)
        _, error = process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 0, error)
        self.assertIn("host memory takes over the tables of xrt:", error)
        self.assertEqual(model_bytes(self.folder / "cards"), model_bytes(self.folder / "host"))

    # Of 24 million rows of one number: a card pads each to 192 bytes, so its 8 memories of 480 MiB are too small.
    @unittest.skipUnless(HAVE_CARDS, "this build has no emulated cards")
    def test_a_card_that_is_too_small_is_named_with_the_bytes(self):
        (self.folder / "large.toml").write_text(
            'kind = "recommender"\ndense = 2\nwidth = 1\nrows = [24000000]\nbottom = [4]\ntop = [4]\n')
        error = self.train("--model-config", self.folder / "large.toml", *self.arguments(
            "--steps", 1, "--table-optimizer", "row_adam", "--offload", "xrt:0"), small=False, code=2)
        self.assertRegex(error, r"the tables with their state need \d+ bytes in each of the 8 memories of card xrt:0, "
                                r"which have \d+: use more cards")

    @unittest.skipUnless(HAVE_CARDS, "this build has no emulated cards")
    def test_auto_takes_cards_only_where_they_are_faster(self):
        lines = self.clicks("--steps", 12, "--offload", "none")
        cards = {"XILINX_XRT": str(BUILD / "xrt"), "TANDEM_CARDS": "2"}
        tried = self.clicks("--steps", 12, "--offload", "auto", environment=cards)
        self.assertRegex(self.log, r"--offload auto updates tables (in host memory|on cards): .* ms on cards")
        self.assertEqual(losses(tried), losses(lines))
        self.clicks("--steps", 12, "--offload", "auto", environment={"TANDEM_CARDS": "0"})
        self.assertNotIn("updates tables", self.log)

    # A tree of emulated cards without the program that is a card: XRT is there, and no card can be opened.
    @unittest.skipUnless(HAVE_CARDS, "this build has no emulated cards")
    def test_auto_goes_on_where_cards_cannot_be_opened(self):
        broken = self.folder / "xrt"
        shutil.copytree(BUILD / "xrt", broken, symlinks=True)
        (broken / "bin" / "tandem-card").unlink()
        cards = {"XILINX_XRT": str(broken), "TANDEM_CARDS": "1"}
        lines = self.clicks("--steps", 12, "--offload", "none")
        self.assertEqual(losses(self.clicks("--steps", 12, "--offload", "auto", environment=cards)), losses(lines))
        self.assertIn("tandem-card", self.log)  # it was asked for
        # A model without tables has no use for cards, so nobody looks for them.
        (self.folder / "shape.toml").write_text(LSTM)
        self.from_scratch("--steps", 5, "--offload", "auto", environment=cards)
        self.assertNotRegex(self.log, "card|xrt")


class LstmTest(TrainRuns):
    def setUp(self):
        super().setUp()
        (self.folder / "shape.toml").write_text(LSTM)

    def test_it_learns_a_text(self):
        lines = self.from_scratch("--steps", 60, "--valid", self.folder / "valid.txt")
        self.assertLess(lines[-1]["mean_nll"], 0.55 * lines[0]["loss"])

    def test_a_resumed_run_has_the_undisturbed_runs_log(self):
        whole = self.from_scratch("--steps", 8)
        out = self.folder / "run"
        self.from_scratch("--steps", 8, "--save-every", 4, "--keep", 0, "--out", out)
        lines = self.train("--resume", out / "step-00000004", "--steps", 8)
        self.assertEqual(losses(lines), {step: of for step, of in losses(whole).items() if step > 4})
        recomputed = self.from_scratch("--steps", 8, "--recompute")
        self.assertEqual(losses(recomputed), losses(whole))

    def test_ranks_sparsify_it(self):
        lines = self.from_scratch("--steps", 4, "--reduce", "exdyna@0.01", "--reduce-warmup", 0, "--dense-below",
                                  1000, ranks=2)
        self.assertLess(lines[-1]["density_sent"], 0.2)

    def test_it_is_not_exported(self):
        out = self.folder / "run"
        self.from_scratch("--steps", 1, "--out", out)
        self.assertIn("of the family 'lstm', not of a decoder",
                      self.train("export", out, self.folder / "a.gguf", small=False, code=2))


class ThreadsTest(TrainRuns):
    """libgomp tells what it has read from the environment when it was loaded."""

    def test_threads_wait_without_spinning_unless_the_user_says_otherwise(self):
        for given, found in (({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "active"}, "ACTIVE")):
            self.from_scratch("--steps", 1, environment={"OMP_DISPLAY_ENV": "true", **given})
            policies = re.findall(r"OMP_WAIT_POLICY = '(\w+)'", self.log)
            if not policies:
                self.skipTest("the OpenMP library tells nothing")
            self.assertEqual(set(policies), {found})


class OffloadTest(LightRuns):
    def test_the_update_in_host_memory_has_the_bits_of_the_update_in_place(self):
        for ranks, clip in ((0, 0), (3, 0), (3, 1)):
            of = {}
            for place in ("none", "host", "auto"):
                out = self.folder / f"{place}{ranks}{clip}"
                lines = self.from_scratch("--steps", 5, "--clip", clip, "--offload", place, "--out", out, ranks=ranks)
                of[place] = (losses(lines), model_bytes(out))
            self.assertEqual(of["host"], of["none"])
            self.assertEqual(of["auto"], of["none"])
            if ranks:
                self.assertRegex(self.log, r"--offload auto is (host|none): a step takes")

    def test_a_run_goes_on_with_another_place_and_number_of_ranks(self):
        out = self.folder / "run"
        self.from_scratch("--steps", 4, "--offload", "host", "--out", out, ranks=3)
        two = self.train("--resume", out, "--steps", 6, "--offload", "host", "--out", self.folder / "a", ranks=2)
        same = self.train("--resume", out, "--steps", 6, "--out", self.folder / "b", ranks=2)
        self.assertEqual(losses(two), losses(same))


if __name__ == "__main__":
    unittest.main()
