# SPDX-License-Identifier: Apache-2.0
#
# Directories as published on model hubs: one file and shards give the same tokens, and a damaged directory is an
# error before anything runs.
import json
import random
import struct
import tempfile
import unittest
from pathlib import Path

from daemon import SOURCE, Daemon, run, run_json

TOKENIZER = SOURCE / "tests" / "host" / "model" / "tokenizer" / "published" / "llama2" / "tokenizer.json"
LAYERS, WIDTH, HEADS, KV_HEADS, FFN = 2, 64, 4, 2, 96
TEMPLATE = "{% for m in messages %}<|user|>{{ m.content }}<|end|>{% endfor %}"


def tensors(vocab_size):
    """{name: (shape, values)} of a random LlamaForCausalLM."""
    draw = random.Random(7)
    head = WIDTH // HEADS
    shapes = {"model.embed_tokens.weight": [vocab_size, WIDTH], "lm_head.weight": [vocab_size, WIDTH],
              "model.norm.weight": [WIDTH]}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        shapes[name + "input_layernorm.weight"] = shapes[name + "post_attention_layernorm.weight"] = [WIDTH]
        for part, rows in (("q", HEADS * head), ("k", KV_HEADS * head), ("v", KV_HEADS * head), ("o", WIDTH)):
            shapes[f"{name}self_attn.{part}_proj.weight"] = [rows, WIDTH]
        shapes[name + "mlp.gate_proj.weight"] = shapes[name + "mlp.up_proj.weight"] = [FFN, WIDTH]
        shapes[name + "mlp.down_proj.weight"] = [WIDTH, FFN]
    result = {}
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0] * count if len(shape) == 1 else [draw.gauss(0, shape[1] ** -0.5) for _ in range(count)]
        result[name] = (shape, values)
    return result


def write_safetensors(path, contents):
    header, data = {}, b""
    for name, (shape, values) in contents.items():
        packed = struct.pack(f"<{len(values)}e", *values)
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_model(folder, num_shards=1):
    tokenizer = json.loads(TOKENIZER.read_text())
    vocab_size = 1 + max([t["id"] for t in tokenizer["added_tokens"]] + list(tokenizer["model"]["vocab"].values()))
    config = {"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": WIDTH,
              "intermediate_size": FFN, "max_position_embeddings": 256, "num_attention_heads": HEADS,
              "num_hidden_layers": LAYERS, "num_key_value_heads": KV_HEADS, "rms_norm_eps": 1e-5,
              "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "tie_word_embeddings": False,
              "eos_token_id": 2, "vocab_size": vocab_size}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(TOKENIZER.read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    contents = tensors(vocab_size)
    if num_shards == 1:
        write_safetensors(folder / "model.safetensors", contents)
        return
    names = [f"model-{i + 1:05}-of-{num_shards:05}.safetensors" for i in range(num_shards)]
    of = {tensor: names[i % num_shards] for i, tensor in enumerate(contents)}
    for name in names:
        write_safetensors(folder / name, {t: contents[t] for t in contents if of[t] == name})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": of}))


def generate(folder):
    return run_json("generate", "--model", folder, "--prompt", "Once upon a time", "--max-tokens", 12,
                    "--temperature", 0, "--ignore-eos", "--attention", "cpu")


class DirectoryModelTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.root = Path(self.temporary.name)

    def model(self, name, **options):
        folder = self.root / name
        folder.mkdir()
        write_model(folder, **options)
        return folder

    def test_one_file_and_shards_give_the_same_tokens(self):
        whole = generate(self.model("whole"))
        self.assertEqual(len(whole["output_ids"]), 12)
        self.assertEqual(generate(self.model("shards", num_shards=3))["output_ids"], whole["output_ids"])

    def test_the_daemon_serves_a_directory_with_its_chat_template(self):
        with Daemon("--model", str(self.model("tiny")), "--attention", "cpu") as daemon:
            body = daemon.complete("Once upon a time", model="tiny", max_tokens=5, temperature=0, ignore_eos=True)
            self.assertEqual(body["usage"]["completion_tokens"], 5)
            status, _, body = daemon.request("POST", "/v1/chat/completions", {
                "model": "tiny", "messages": [{"role": "user", "content": ""}], "max_tokens": 3})
            self.assertEqual(status, 200, body)
            # <s>, as tokenizer.json adds it, and the two special tokens of the template.
            self.assertEqual(body["usage"]["prompt_tokens"], 3)

    def check_refusal(self, folder, *words):
        process = run("generate", "--model", folder, "--prompt", "x", "--attention", "cpu")
        self.assertNotEqual(process.returncode, 0)
        self.assertGreater(process.returncode, 0, "ended by a signal")
        for word in words:
            self.assertIn(word, process.stderr)

    def test_what_is_wrong_is_named(self):
        shards = self.model("shards", num_shards=2)
        (shards / "model-00002-of-00002.safetensors").unlink()
        self.check_refusal(shards, "weight_map", "'model-00002-of-00002.safetensors' is missing")
        whole = self.model("whole")
        weights = (whole / "model.safetensors").read_bytes()
        (whole / "model.safetensors").write_bytes(weights[: len(weights) // 2])
        self.check_refusal(whole, "model.safetensors: tensor '", "truncated")
        (whole / "model.safetensors").write_bytes(weights)
        config = json.loads((whole / "config.json").read_text())
        config["num_hidden_layers"] = "two"
        (whole / "config.json").write_text(json.dumps(config))
        self.check_refusal(whole, "config.json: field 'num_hidden_layers': must be an integer")
        empty = self.root / "empty"
        empty.mkdir()
        self.check_refusal(empty, "has no config.json")


if __name__ == "__main__":
    unittest.main()
