# SPDX-License-Identifier: Apache-2.0
#
# `tandem train` as a user runs it: from scratch and from a file, resumed, over ranks, exported and served.
import json
import math
import os
import re
import shutil
import struct
import subprocess
import unittest

import directory_model_test
from daemon import BUILD, Daemon, run_json
from train_runs import SMALL, LightRuns, TrainRuns


def gguf_value(value):
    """Type number and bytes of a value, as GGUF stores them."""
    if isinstance(value, str):
        return 8, struct.pack("<Q", len(value.encode())) + value.encode()
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    items = [gguf_value(item) for item in value]
    return 9, struct.pack("<IQ", items[0][0], len(items)) + b"".join(data for _, data in items)


def write_tokenizer(path, tokenizer):
    """A GGUF file with the tokens of a Llama-2-like tokenizer.json, and nothing else."""
    tokens = dict(tokenizer["model"]["vocab"])
    tokens.update({token["content"]: token["id"] for token in tokenizer["added_tokens"]})
    names = sorted(tokens, key=tokens.get)
    kinds = [2 if name == "<unk>" else 3 if name in ("<s>", "</s>") else 6 if re.fullmatch("<0x..>", name) else 1
             for name in names]
    fields = {"general.architecture": "llama", "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": names,
              "tokenizer.ggml.scores": [-float(number) for number in range(len(names))],
              "tokenizer.ggml.token_type": kinds, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2}
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields))
    for name, value in fields.items():
        kind, stored = gguf_value(value)
        data += gguf_value(name)[1] + struct.pack("<I", kind) + stored
    path.write_bytes(data)


class TrainTest(TrainRuns):
    def test_a_model_from_scratch_is_trained_exported_and_scored(self):
        out = self.folder / "run"
        lines = self.from_scratch("--steps", 40, "--out", out, "--valid", self.folder / "valid.txt")
        steps = [line for line in lines if "step" in line]
        self.assertEqual([line["step"] for line in steps], list(range(1, 41)))
        self.assertLess(steps[-1]["loss"], 0.7 * steps[0]["loss"])
        for name in ("loss", "tokens_per_s", "density_sent", "build_up", "bytes_sent", "seconds"):
            self.assertIn(name, steps[0])
        scored = lines[-1]
        exported = self.folder / "model.gguf"
        self.train("export", out, exported, small=False)
        engine = run_json("perplexity", "--model", exported, "--file", self.folder / "valid.txt", "--context", 32,
                          "--attention", "cpu", "--no-lists")
        self.assertEqual(engine["tokens_scored"], scored["tokens_scored"])
        self.assertTrue(math.isclose(engine["mean_nll"], scored["mean_nll"], rel_tol=2e-4), (engine, scored))
        for name in ("log.csv", "loss.svg"):
            self.assertTrue((out / name).exists(), name)

    def test_a_published_model_is_scored_as_the_engine_scores_it(self):
        model = BUILD / "share" / "tandem" / "models" / "tandem-stories-q8_0.gguf"
        arguments = ["--from", model, "--valid", self.folder / "valid.txt", "--rate", "1e-9", "--out", self.folder / "run"]
        before = self.train(*arguments, "--steps", 1, "--context", 64)[-1]
        engine = run_json("perplexity", "--model", model, "--file", self.folder / "valid.txt", "--context", 64,
                          "--attention", "cpu", "--no-lists")
        self.assertTrue(math.isclose(engine["mean_nll"], before["mean_nll"], rel_tol=2e-3), (engine, before))

    def test_a_resumed_run_has_the_undisturbed_runs_log(self):
        common = ["--warmup", 3, "--accumulate", 2]
        whole = self.from_scratch("--steps", 12, *common)
        out = self.folder / "run"
        self.from_scratch("--steps", 12, "--save-every", 5, "--keep", 0, "--out", out, *common)
        lines = self.train("--resume", out / "step-00000005", "--steps", 12, *common)
        self.assertEqual([(line["step"], line["loss"], line["gradient_norm"]) for line in lines],
                         [(line["step"], line["loss"], line["gradient_norm"]) for line in whole[5:]])

    def test_recomputed_layers_give_the_same_bits(self):
        plain, again = (self.from_scratch("--steps", 5, *extra) for extra in ((), ("--recompute",)))
        self.assertEqual([line["loss"] for line in plain], [line["loss"] for line in again])

    def test_ranks_agree_with_one_rank(self):
        one = self.from_scratch("--steps", 6, "--batch", 4)
        two = self.from_scratch("--steps", 6, ranks=2)
        for first, second in zip(one, two):
            self.assertAlmostEqual(first["loss"], second["loss"], delta=1e-4)
        self.assertGreater(two[-1]["bytes_sent"], 0)
        self.assertEqual(two[-1]["density_sent"], 1)

    def test_a_sparsified_run_resumes_bit_for_bit(self):
        out = self.folder / "run"
        sparse = ["--reduce", "exdyna@0.01", "--reduce-warmup", 0]
        arguments = [*sparse, "--out", out, "--save-every", 5, "--keep", 0]
        whole = self.from_scratch("--steps", 10, *arguments, ranks=2)
        self.assertLess(whole[-1]["density_sent"], 0.2)
        self.assertLess(whole[-1]["build_up"], 1.01)
        shutil.copytree(out / "step-00000005", self.folder / "five")
        arguments = [*sparse, "--out", self.folder / "again"]
        lines = self.train("--resume", self.folder / "five", "--steps", 10, *arguments, ranks=2)
        self.assertEqual([line["loss"] for line in lines], [line["loss"] for line in whole[5:]])

    def test_bf16_learns_as_f32_does(self):
        # One batch says little, and at a high rate the two runs part; so the mean of the last ten, at a falling rate.
        plain, rounded = ([line["loss"] for line in self.from_scratch("--steps", 40, "--decay", "cosine", "--precision", name)]
                          for name in ("f32", "bf16"))
        self.assertNotEqual(plain, rounded)
        expected = sum(plain[-10:])
        self.assertAlmostEqual(expected, sum(rounded[-10:]), delta=0.02 * expected)

    def test_a_run_begins_with_a_published_directory(self):
        source = self.folder / "published"
        source.mkdir()
        directory_model_test.write_model(source)
        out, exported = self.folder / "run", self.folder / "model.gguf"
        arguments = ["--from", source, "--valid", self.folder / "valid.txt", "--out", out]
        self.assertIn("name a GGUF file with its tokenizer by --tokenizer",
                      self.train(*arguments, "--steps", 1, code=2))
        tokenizer = self.folder / "tokenizer.gguf"
        write_tokenizer(tokenizer, json.loads(directory_model_test.TOKENIZER.read_text()))
        scored = self.train(*arguments, "--tokenizer", tokenizer, "--steps", 1, "--rate", "1e-9")[-1]
        engine = run_json("perplexity", "--model", source, "--file", self.folder / "valid.txt", "--context", 32,
                          "--attention", "cpu", "--no-lists")
        self.assertEqual(engine["tokens_scored"], scored["tokens_scored"])
        self.assertTrue(math.isclose(engine["mean_nll"], scored["mean_nll"], rel_tol=2e-3), (engine, scored))
        self.train("export", out, exported, small=False)
        again = run_json("perplexity", "--model", exported, "--file", self.folder / "valid.txt", "--context", 32,
                         "--attention", "cpu", "--no-lists")
        self.assertTrue(math.isclose(again["mean_nll"], scored["mean_nll"], rel_tol=2e-4), (again, scored))

    def test_the_daemon_answers_with_the_exported_model(self):
        out, exported = self.folder / "run", self.folder / "model.gguf"
        self.from_scratch("--steps", 3, "--out", out)
        self.train("export", out, exported, small=False)
        with Daemon("--model", exported, "--attention", "cpu") as daemon:
            name = daemon.request("GET", "/v1/models")[2]["data"][0]["id"]
            answer = daemon.complete("the cat", model=name, max_tokens=4, temperature=0)
        self.assertEqual(answer["usage"]["completion_tokens"], 4)

    def test_a_program_without_libtorch_says_so(self):
        program = self.folder / "bin" / "tandem-train"
        program.parent.mkdir()
        shutil.copy(BUILD / "bin" / "tandem-train", program)
        process = subprocess.run([program, "train", "--text", self.folder / "text.txt", "--steps", "1", "--model-config",
                                  self.folder / "shape.toml"],
                                 capture_output=True, text=True)
        self.assertEqual(process.returncode, 2)
        self.assertIn("this build has no libtorch, which computes gradients; install libtorch-dev", process.stderr)


class RunTest(LightRuns):
    """Files, options and ends of a run."""

    def test_more_steps_may_be_asked_for_when_a_run_is_resumed(self):
        whole = self.from_scratch("--steps", 8)
        out = self.folder / "run"
        self.from_scratch("--steps", 3, "--out", out)
        lines = self.from_scratch("--resume", out, "--steps", 8)
        self.assertEqual([(line["step"], line["loss"]) for line in lines],
                         [(line["step"], line["loss"]) for line in whole[3:]])

    def test_ranks_with_other_options_are_told_all_of_them(self):
        script = self.folder / "rank.sh"
        script.write_text(f'#!/bin/sh\nexec {self.program} train "$@" --seed $((OMPI_COMM_WORLD_RANK + 5)) '
                          '--log-every $((OMPI_COMM_WORLD_RANK + 1)) '
                          f'$([ $OMPI_COMM_WORLD_RANK = 1 ] && echo --valid {self.folder}/valid.txt)\n')
        script.chmod(0o755)
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed")
        process = subprocess.run(
            ["mpirun", "--oversubscribe", "-n", "2", script, "--text", self.folder / "text.txt", *map(str, SMALL),
             "--model-config", self.folder / "shape.toml", "--steps", "2"],
            capture_output=True, text=True, timeout=1200, env=environment)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("--seed is 5 on rank 0, 6 on rank 1", process.stderr)
        self.assertIn("--log-every is 1 on rank 0, 2 on rank 1", process.stderr)
        self.assertIn("the model's weights (checksum)", process.stderr)
        self.assertIn("the data of --valid (checksum) is 0 on rank 0, ", process.stderr)  # else rank 1 waits for rank 0

    def publish(self, checkpoint, folder):
        """The model of a checkpoint as a published directory without a tokenizer."""
        bytes_ = (checkpoint / "model.safetensors").read_bytes()
        size = int.from_bytes(bytes_[:8], "little")
        names = {"token_embd": "embed_tokens", "output_norm": "norm", "blk": "layers", "attn_norm": "input_layernorm",
                 "ffn_norm": "post_attention_layernorm", "attn_output": "self_attn.o_proj",
                 **{f"attn_{one}": f"self_attn.{one}_proj" for one in "qkv"},
                 **{f"ffn_{one}": f"mlp.{one}_proj" for one in ("gate", "up", "down")}}
        header = {key if key.startswith("__") else "model." + ".".join(names.get(word, word) for word in key.split(".")): value
                  for key, value in json.loads(bytes_[8:8 + size]).items()}
        text = json.dumps(header).encode()
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes_[8 + size:])
        (folder / "config.json").write_text(json.dumps({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 64,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 260,
            "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "tie_word_embeddings": True}))

    def test_a_resumed_run_asks_for_no_tokenizer_of_the_directory_that_it_began_from(self):
        out, model = self.folder / "run", self.folder / "published"
        self.copy_one_step(out)
        self.publish(out / "step-00000001", model)
        self.assertIn("tokenizer.json: is missing", self.train("--from", model, "--steps", 1, code=2))
        self.train("--resume", out, "--from", model, "--steps", 2)
        config = (model / "config.json").read_text()
        (model / "config.json").write_text(config.replace('"intermediate_size": 64', '"intermediate_size": 96'))
        self.assertIn("ffn_gate.weight of [64, 64] there and", self.train("--resume", out, "--from", model, "--steps", 3, code=2))

    def test_wrong_inputs_are_named(self):
        shape = self.folder / "shape.toml"
        (self.folder / "short.txt").write_text("short")
        (self.folder / "empty.txt").touch()
        (self.folder / "both.toml").write_text("width = 8\n[model]\n" + shape.read_text())
        for arguments, words in (
            (["--model-config", shape], "--steps is missing"),
            (["--steps", 1], "name a model"),
            (["--steps", 1, "--model-config", shape, "--from", shape], "exclude each other"),
            (["--steps", 1, "--model-config", shape, "--reduce", "exdina@1"], "exdyna@DENSITY"),
            (["--steps", 1, "--model-config", shape, "--offload", "xrt:0"], "cards hold embedding tables"),
            (["--steps", 1, "--resume", self.folder / "nowhere"], "has no checkpoint"),
            (["--steps", 1, "--model-config", shape, "--text", self.folder / "short.txt"], "give a longer text"),
            (["--steps", 1, "--from", self.folder / "text.txt"], "not a GGUF file"),
            (["--steps", 30, "--model-config", shape, "--optimizer", "sgd", "--clip", 0, "--rate", "1e30"],
             "is not a number; --on-nan"),
            (["--config", self.folder], "is a folder; name a TOML file"),
            (["--steps", -3], "--steps: '-3' is not a number from 0"),
            (["--steps", 1, "--save-every", "1e3"], "--save-every: '1e3' is not a number from 0"),
            (["--steps", 1, "--warmup", -1], "--warmup: '-1' is not a number from 0"),
            (["--steps", 1, "--evaluate-every", -1], "--evaluate-every: '-1' is not a number"),
            (["--steps", 1, "--dense-below", -1], "--dense-below: '-1' is not a number"),
            (["--steps", 1, "--reduce-warmup", -1], "--reduce-warmup: '-1' is not a number"),
            (["--steps", 1, "--scheme", "ring"], "--scheme: ring not in {auto,"),
            (["--step", 1, "two"], "unknown option --step (did you mean '--steps'?); '1' is not expected here; 'two' is"),
            (["--steps", 1, "--model-config", shape, "--out", self.folder / "text.txt"], "text.txt cannot be made: "),
            (["--steps", 1, "--model-config", self.folder], "it is a folder; name a model's configuration"),
            (["--steps", 1, "--model-config", shape, "--text", self.folder / "none"], "No such file or directory; name a file of text"),
            (["--steps", 1, "--model-config", shape, "--valid", "/dev/null"], "it is not a regular file; name"),
            (["--steps", 1, "--model-config", shape, "--valid", self.folder / "empty.txt"], "empty.txt has no token to score"),
            (["--steps", 1, "--model-config", shape, "--context", 65], "--context 65 exceeds the model's 64; give at most"),
            (["--steps", 1, "--model-config", self.folder / "both.toml"], "beside the table [model] there is width; all"),
            (["--steps", 1, "--model-config", shape, "--on-nan", "back"], "--on-nan back goes back to checkpoints"),
        ):
            text = ["--text", self.folder / "text.txt"] if "--text" not in arguments else []
            error = self.train(*text, "--batch", 2, "--context", 32, *arguments, code=2, small=False)
            self.assertIn(words, error)

    def test_windows_have_the_models_context_where_that_is_less(self):
        line, = self.train("--text", self.folder / "text.txt", "--model-config", self.folder / "shape.toml", "--steps", 1,
                           "--batch", 3, "--threads", 1, "--json", small=False)
        self.assertAlmostEqual(line["tokens_per_s"] * line["seconds"], 3 * 64, places=3)

    def test_the_help_shows_what_holds_without_an_option(self):
        process = self.start("--help")
        help_text, _ = process.communicate(timeout=1200)
        help_text = " ".join(help_text.split())
        for words in ("--rate NUMBER learning rate [default: 0.001]", "--reduce TEXT ", "[default: dense]", "[1 to 1048576; default: 8]",
                      "[0 or more; default: 1]", "--on-nan {stop,skip,back} ", "[default: stop]", "--steps INT ", "--text TEXT ", "--cuts INT ..."):
            self.assertIn(words, help_text)

    def test_options_come_from_a_file(self):
        config = self.folder / "train.toml"
        config.write_text(f'text = "{self.folder}/text.txt"\nmodel-config = "{self.folder}/shape.toml"\nsteps = 3\n'
                          '[run]\nbatch = 2\ncontext = 32\njson = true\n')
        lines = self.train("--config", config, "--steps", 2, small=False)
        self.assertEqual([line["step"] for line in lines], [1, 2])
        config.write_text('text = "text.txt"\nmodel-config = "shape.toml"\nsteps = 1\nbatch = 2\ncontext = 32\njson = true\n')
        self.assertEqual(len(self.train("--config", config, small=False)), 1)  # files beside it
        config.write_text('text = "nowhere.txt"\nmodel-config = "shape.toml"\nsteps = 1\n')
        self.assertIn("cannot read 'nowhere.txt'", self.train("--config", config, small=False, code=2))
        config.write_text("stepz = 3\n")
        self.assertIn("unknown key 'stepz'", self.train("--config", config, small=False, code=2))


if __name__ == "__main__":
    unittest.main()
