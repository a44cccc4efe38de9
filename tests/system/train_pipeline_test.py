# SPDX-License-Identifier: Apache-2.0
#
# `tandem train --pipeline` as a user runs it: over ranks of mpirun and of gloo, against one rank, moved, frozen, resumed,
# and with a rank that is killed. Where the passes of a block do not matter, without libtorch.
import array
import json
import os
import shlex
import shutil
import signal
import unittest

from daemon import run, run_json
from train_runs import SMALL, LightRuns, TrainRuns
from waiting import wait_for

DEEP = """
name = "deep"
layers = 4
width = 32
heads = 4
kv_heads = 2
ffn = 32
context = 32
tied = {tied}
"""
STEP = ["--accumulate", 4, "--steps", 4]


def last_weights(folder):
    """Name to values of the model in the newest checkpoint."""
    (file,) = (folder / (folder / "latest").read_text().strip()).glob("model*.safetensors")
    raw = file.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    fields = json.loads(raw[8:begin])
    return {name: array.array("f", raw[begin:][slice(*entry["data_offsets"])])
            for name, entry in fields.items() if name != "__metadata__"}


def curve(lines):
    return [(line["step"], line["loss"], line["gradient_norm"]) for line in lines if "loss" in line]


class DeepModel:
    meetings = 0

    def setUp(self):
        super().setUp()
        self.describe(tied=False)

    def describe(self, tied):
        (self.folder / "shape.toml").write_text(DEEP.format(tied=str(tied).lower()))

    def ranks(self, world, *arguments):
        """Processes that meet through a folder: those of mpirun spin while they wait. Output goes to RANK.out and RANK.err."""
        self.meetings += 1
        started = []
        for rank in range(world):
            with open(self.folder / f"{rank}.out", "w") as out, open(self.folder / f"{rank}.err", "w") as error:
                started.append(self.start(*arguments, stdout=out, stderr=error, environment={
                    "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)}))
            self.addCleanup(started[-1].wait)
            self.addCleanup(started[-1].kill)
        return started

    def errors(self):
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.err")))

    def train(self, *arguments, ranks=0, by_mpirun=False, **options):
        if by_mpirun or not ranks:
            return super().train(*arguments, ranks=ranks, **options)
        meeting = () if "--out" in arguments or "--resume" in arguments else ("--out", self.folder / f"meeting{self.meetings}")
        started = self.ranks(ranks, "--text", self.folder / "text.txt", *SMALL, *arguments, *meeting)
        codes = [process.wait(1200) for process in started]
        self.assertEqual(codes, [0] * ranks, self.errors())
        lines = (self.folder / "0.out").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


class TrainPipelineTest(DeepModel, TrainRuns):
    def test_every_schedule_has_the_curve_of_one_rank(self):
        one = curve(self.from_scratch(*STEP))
        self.assertEqual(len(one), 4)
        for schedule, ranks, more in (("gpipe", 2, []), ("1f1b", 3, []), ("zero-bubble", 2, []),
                                      ("interleaved", 2, ["--stages-per-rank", 2])):
            found = self.from_scratch(*STEP, "--pipeline", ranks, "--schedule", schedule, *more, ranks=ranks)
            self.assertEqual(curve(found), one, schedule)

    def test_pruned_weights_are_zero_at_the_end_with_the_curve_of_one_rank(self):
        prune = ["--prune", 0.75, "--prune-from", 0, "--prune-to", 0.5, "--prune-every", 1]
        one, two = self.folder / "one", self.folder / "two"
        expected = curve(self.from_scratch(*STEP, *prune, "--out", one))
        self.assertNotEqual(expected, curve(self.from_scratch(*STEP)))
        found = self.from_scratch(*STEP, *prune, "--pipeline", 2, "--rebalance", 1, "--save-every", 2, "--out", two, ranks=2)
        self.assertEqual(curve(found), expected)
        self.assertEqual(self.errors().count(f"tandem train export {two} model.gguf writes a file"), 1)
        for folder in one, two:
            zeros = {name: values.count(0) / len(values) for name, values in last_weights(folder).items()}
            for name, share in zeros.items():
                self.assertEqual(share, 0.75 if name.startswith("blk.") and "norm" not in name else 0, name)
        shutil.rmtree(two / "step-00000004")
        resumed = self.train("--resume", two / "step-00000002", *STEP, *prune)
        self.assertEqual(curve(resumed), expected[2:])

    def test_pruning_does_not_depend_on_the_place_of_the_update(self):
        prune = ["--prune", 0.75, "--prune-from", 0, "--prune-to", 0.5, "--prune-every", 1, "--clip", 0]
        curves, shares = [], []
        for place in "none", "host":  # host: beside the backward pass, were it not for the cuts
            out = self.folder / place
            curves.append(curve(self.from_scratch(*STEP, *prune, "--offload", place, "--out", out)))
            shares.append({name: values.count(0) / len(values) for name, values in last_weights(out).items()})
        self.assertEqual(curves[0], curves[1])
        self.assertEqual(shares[0], shares[1])
        self.assertEqual(shares[0]["blk.0.ffn_up.weight"], 0.75)

    def expect_moving(self, *options, steps=12):
        """Learns, alike on one rank and on three whose layers may move. Returns the curve."""
        steps = ["--accumulate", 4, "--steps", steps, *options]
        one = curve(self.from_scratch(*steps, "--pipeline", 1))
        self.assertLess(one[-1][1], one[0][1] - 0.5)
        found = self.from_scratch(*steps, "--pipeline", 3, "--cuts", "1,2", "--rebalance", 1, "--layer-times", "processor", ranks=3)
        self.assertEqual(curve(found), one)
        return one

    def one_rank(self, *options, steps=12):
        return curve(self.from_scratch("--accumulate", 4, "--steps", steps, *options, "--pipeline", 1))

    def test_experts_learn_and_their_export_has_the_same_score(self):
        shape = DEEP.format(tied="true") + "experts = 4\nexperts_used = 2\n"
        (self.folder / "shape.toml").write_text(shape)
        self.assertNotEqual(self.expect_moving("--expert-capacity", 0.75), self.one_rank())
        out, exported = self.folder / "run", self.folder / "model.gguf"
        lines = self.from_scratch(*STEP, "--valid", self.folder / "valid.txt", "--out", out)
        (score,) = [line for line in lines if "evaluated_step" in line]
        self.train("export", out, exported, small=False)
        engine = run_json("perplexity", "--model", exported, "--file", self.folder / "valid.txt", "--context", 32, "--attention", "cpu")
        self.assertAlmostEqual(score["mean_nll"], engine["mean_nll"], delta=1e-3)

    def test_sparse_attention_learns_and_leaves_blocks_out(self):
        (self.folder / "shape.toml").write_text(DEEP.format(tied="false").replace("context = 32", "context = 256"))
        long = ["--context", 256, "--batch", 1]
        sparse = self.expect_moving(*long, "--sparse-attention", 0.4)
        self.assertNotEqual(sparse, self.one_rank(*long))
        by_depth = self.expect_moving(*long, "--sparse-attention", 0.4, "--sparse-attention-last", 0.05)
        self.assertNotEqual(by_depth, sparse)

    def test_tokens_that_leave_learn(self):
        self.assertNotEqual(self.expect_moving("--early-exit", 0.5), self.one_rank())

    def test_tokens_that_are_chosen_learn_and_go_on_from_a_checkpoint(self):
        out = self.folder / "run"
        whole = self.expect_moving("--depth", 0.25)
        steps = ["--accumulate", 4, "--steps", 12, "--depth", 0.25]
        self.assertEqual(curve(self.from_scratch(*steps, "--pipeline", 2, "--save-every", 6, "--out", out, ranks=2)), whole)
        shutil.rmtree(out / "step-00000012")
        self.assertEqual(curve(self.train("--resume", out / "step-00000006", *steps, "--pipeline", 1)), whole[6:])
        self.assertIn("the newest checkpoint is", self.log)
        self.assertNotIn("tandem train export", self.log)
        self.assertIn("trained with --depth", self.train("export", out, self.folder / "a.gguf", small=False, code=2))

    def test_sparse_products_of_pruned_matrices_learn_alike_on_all_ranks(self):
        prune = ["--prune", 0.9, "--prune-from", 0, "--prune-to", 0.5, "--prune-every", 1]
        self.assertNotEqual(self.expect_moving(*prune, "--sparse-products", 0.5), self.one_rank(*prune, "--sparse-products", 0))

    def test_a_tied_matrix_of_two_ranks_has_the_curve_of_one(self):
        self.describe(tied=True)
        one = curve(self.from_scratch(*STEP))
        self.assertEqual(curve(self.from_scratch(*STEP, "--pipeline", 2, ranks=2, by_mpirun=True)), one)


class LightPipelineTest(DeepModel, LightRuns):
    def test_a_text_has_the_score_of_one_rank(self):
        scored = ["--valid", self.folder / "valid.txt", "--evaluate-every", 2]
        one = [line for line in self.from_scratch(*STEP, *scored) if "evaluated_step" in line]
        self.assertEqual([line["evaluated_step"] for line in one], [2, 4])
        for ranks, more in ((3, []), (2, ["--schedule", "interleaved", "--stages-per-rank", 2])):
            found = self.from_scratch(*STEP, *scored, "--pipeline", ranks, *more, ranks=ranks)
            self.assertEqual([line for line in found if "evaluated_step" in line], one)

    def test_looking_at_the_times_changes_no_bit_and_the_profile_is_told(self):
        one = curve(self.from_scratch(*STEP))
        lines = self.from_scratch(*STEP, "--pipeline", 2, "--cuts", 1, "--rebalance", 2, ranks=2)
        self.assertEqual(curve(lines), one)
        told = [line["pipeline"] for line in lines if "pipeline" in line]
        self.assertEqual(len(told), 1)
        self.assertEqual(len(told[0]["layers"]), 6)  # embedding, four blocks, output
        self.assertGreater(told[0]["layers"][1]["backward_us"], 0)
        self.assertGreater(told[0]["layers"][1]["bytes"], 0)
        moves = [line for line in lines if "rebalanced_after_step" in line]
        self.assertEqual(told[0]["migrations"], len(moves))
        self.assertEqual(told[0]["cuts"], moves[-1]["cuts"] if moves else [1])

    def test_replicas_have_the_curve_of_one_rank_with_their_samples(self):
        one = curve(self.from_scratch(*STEP))
        half = ["--accumulate", 2, "--steps", 4, "--pipeline", 2]
        for more in [], ["--reduce", "topk@1", "--dense-below", 1]:
            found = curve(self.from_scratch(*half, *more, ranks=4))
            self.assertEqual([step for step, _, _ in found], [1, 2, 3, 4])
            for (_, loss, norm), (_, expected, expected_norm) in zip(found, one):
                self.assertAlmostEqual(loss, expected, delta=1e-4)
                self.assertAlmostEqual(norm, expected_norm, delta=1e-3 * expected_norm)
        sparse = curve(self.from_scratch(*half, "--reduce", "topk@0.2", "--dense-below", 1, ranks=4))
        self.assertNotEqual(sparse, found)
        moved = self.from_scratch(*half, "--reduce", "topk@0.2", "--dense-below", 1, "--cuts", 1, "--rebalance", 1, ranks=4)
        self.assertEqual(curve(moved), sparse)

    def test_a_trace_of_replicas_has_the_ranks_of_the_launcher(self):
        common = ["--model-config", self.folder / "shape.toml", "--text", self.folder / "text.txt", *SMALL, "--accumulate", 2, "--steps", 2,
                  "--pipeline", 2, "--reduce", "topk@0.2", "--dense-below", 1, "--out", self.folder / "run"]
        ranks = "".join(f"RANK={rank} WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 {shlex.join(map(str, [self.program, 'train', *common]))} &\n"
                        for rank in range(4))
        script = self.folder / "ranks.sh"
        script.write_text(ranks + "wait\n")
        run("trace-comm", "--out", self.folder / "traced", "--kind", "transport", "--", "sh", script)
        report = json.loads((self.folder / "traced.json").read_text())
        self.assertEqual((report["ranks"], report["missing_ranks"]), (4, []))

        def pairs(operation):  # {(source, destination)}
            counts = report["by_collective"][operation]["counts"]
            return {(source, to) for to in range(4) for source in range(4) if counts[to][source] > 0}
        self.assertEqual(pairs("pipeline"), {(0, 1), (1, 0), (2, 3), (3, 2)})
        self.assertEqual(pairs("allreduce"), {(0, 2), (2, 0), (1, 3), (3, 1)})

    def test_a_step_of_replicas_takes_the_windows_of_all_of_them(self):
        (self.folder / "text.txt").write_text("ab " * 110)  # ten windows; one replica takes eight
        started = self.ranks(2, "--text", self.folder / "text.txt", "--model-config", self.folder / "shape.toml", *SMALL, *STEP,
                             "--pipeline", 1, "--out", self.folder / "run")
        self.assertEqual([process.wait(1200) for process in started], [2, 2], self.errors())
        self.assertIn("a step of all ranks takes 16", self.errors())

    def test_freed_ranks_are_told_to_the_launcher(self):
        one = curve(self.from_scratch(*STEP))
        ranks_file = self.folder / "ranks.json"
        lines = self.from_scratch(*STEP, "--pipeline", 3, "--rebalance", 1, "--repack", 1000, "--ranks-file", ranks_file, ranks=3)
        self.assertEqual(curve(lines), one)
        moves = [line for line in lines if "rebalanced_after_step" in line]
        self.assertEqual([line["freed_ranks"] for line in moves], [[1, 2]])  # a step may be 1,001 times as long
        self.assertEqual(json.loads(ranks_file.read_text()), {"step": moves[0]["rebalanced_after_step"], "freed_ranks": [1, 2]})

    def test_frozen_layers_are_those_of_one_rank(self):
        freeze = ["--freeze", 0.05]
        one = curve(self.from_scratch(*STEP, "--pipeline", 1, *freeze))
        self.assertNotEqual(one, curve(self.from_scratch(*STEP)))
        self.assertEqual(curve(self.from_scratch(*STEP, "--pipeline", 2, "--rebalance", 1, *freeze, ranks=2)), one)

    def test_checkpoints_of_a_pipeline_and_of_one_rank_go_on_in_each_other(self):
        whole = curve(self.from_scratch(*STEP))
        pipeline, one = self.folder / "pipeline", self.folder / "one"
        first = ["--accumulate", 4, "--steps", 2]
        self.from_scratch(*first, "--pipeline", 2, "--out", pipeline, ranks=2)
        self.assertEqual(curve(self.train("--resume", pipeline, *STEP)), whole[2:])
        self.from_scratch(*first, "--out", one)
        self.assertEqual(curve(self.train("--resume", one, *STEP, "--pipeline", 2, ranks=2)), whole[2:])
        exported = self.folder / "model.gguf"
        self.train("export", one, exported, small=False)
        self.assertGreater(exported.stat().st_size, 0)

    def test_a_resume_with_other_options_is_told(self):
        out = self.folder / "run"
        first = ["--accumulate", 2, "--pipeline", 1]
        self.from_scratch(*first, "--steps", 1, "--out", out)
        self.assertIn("has the checkpoints of another run", self.from_scratch(*first, "--steps", 1, "--out", out, code=2))
        self.train("--resume", out, *first, "--steps", 2, "--seed", 5, "--freeze", 0.5)
        self.assertIn("its results will differ: --seed was 1 and is 5; --freeze was 0 and is 0.5", self.log)

    def test_ranks_with_other_models_are_told(self):
        (self.folder / "other.toml").write_text(DEEP.format(tied="false").replace("width = 32", "width = 64"))
        ranks = [self.start("--model-config", self.folder / shape, "--text", self.folder / "text.txt", "--steps", 2, *SMALL,
                            "--pipeline", 2, "--out", self.folder / "run",
                            environment={"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"})
                 for rank, shape in enumerate(("shape.toml", "other.toml"))]
        for rank in ranks:
            self.addCleanup(rank.kill)
        errors = [rank.communicate(timeout=1200)[1] for rank in ranks]
        for error in errors:
            self.assertIn("the model is 4 layers, width 32, 4 / 2 heads of 8", error)
            self.assertIn("width 64", error)

    def test_what_does_not_go_together_is_said(self):
        for arguments, text in (
                (["--pipeline", 2], "--pipeline 2 needs as many ranks, or a multiple, and there is 1"),
                (["--schedule", "gpipe"], "--schedule needs --pipeline, the number of ranks"),
                (["--freeze", 0.5], "--freeze needs --pipeline, the number of ranks"),
                (["--prune", 1], "--prune 1"),
                (["--prune", 0.5, "--prune-from", 0.9], "--prune-from"),
                (["--pipeline", 1, "--reduce", "exdyna@0.01"], "--reduce exdyna@0.01 is for replicas of a pipeline"),
                (["--pipeline", 1, "--reduce", "auto"], "--reduce auto cannot be combined with --pipeline"),
                (["--repack", 0.2], "--repack needs --pipeline, the number of ranks"),
                (["--ranks-file", "ranks"], "--ranks-file needs --pipeline, the number of ranks"),
                (["--migration", "between"], "--migration needs --pipeline, the number of ranks"),
                (["--pipeline", 1, "--repack", 0.2], "--repack needs --rebalance, the number of steps"),
                (["--pipeline", 1, "--rank-bytes", 9], "--rank-bytes needs --rebalance, the number of steps"),
                (["--pipeline", 1, "--ranks-file", "ranks"], "--ranks-file needs --rebalance, the number of steps"),
                (["--pipeline", 1, "--layer-times", "processor", "--threads", 2], "add --threads 1"),
                (["--early-exit", 0.9], "--early-exit needs --pipeline, the number of ranks"),
                (["--depth", 0.5], "--depth needs --pipeline, the number of ranks"),
                (["--pipeline", 1, "--depth", 0], "--depth 0 leaves no token"),
                (["--pipeline", 1, "--early-exit", 0.9, "--depth", 0.5], "--early-exit cannot be combined with --depth"),
                (["--pipeline", 1, "--early-exit", 0.9, "--sparse-attention", 0.5],
                 "--early-exit cannot be combined with --sparse-attention"),
                (["--sparse-attention-last", 0.5], "--sparse-attention-last needs --sparse-attention"),
                (["--expert-capacity", 1], "--expert-capacity and --expert-skew are for a model with experts"),
                (["--pipeline", 1, "--stages-per-rank", 2], "need --schedule interleaved"),
                (["--pipeline", 1, "--on-nan", "back", "--out", self.folder / "run"], "--on-nan back cannot be combined")):
            self.assertIn(text, self.from_scratch(*STEP, *arguments, code=2), arguments)

    def test_a_killed_rank_ends_the_run_and_the_checkpoint_goes_on(self):
        out = self.folder / "run"
        arguments = ["--model-config", self.folder / "shape.toml", "--text", self.folder / "text.txt", "--batch", 2,
                     "--context", 32, "--rate", "1e-2", "--threads", 1, "--accumulate", 4, "--steps", 100000,
                     "--pipeline", 2, "--rebalance", 1, "--save-every", 1, "--out", out, "--timeout", 600]
        ranks = self.ranks(2, *arguments)
        wait_for(lambda: (out / "latest").exists() or ranks[0].poll() is not None, "a checkpoint", more=self.errors)
        self.assertIsNone(ranks[0].poll(), self.errors())
        os.kill(ranks[1].pid, signal.SIGKILL)
        ranks[0].wait(1200)
        error = (self.folder / "0.err").read_text()
        self.assertEqual(ranks[0].returncode, 3, error)
        self.assertIn("rank 1 is lost", error)
        self.assertIn("--resume", error)
        step = int((out / "latest").read_text().split("-")[1])
        lines = self.train("--resume", out, "--accumulate", 4, "--steps", step + 2)
        self.assertEqual([line[0] for line in curve(lines)], [step + 1, step + 2])


if __name__ == "__main__":
    unittest.main()
