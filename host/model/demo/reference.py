# SPDX-License-Identifier: Apache-2.0
"""Independent float64 forward pass over the dequantised GGUF, and the golden file made from it.

    python3 reference.py MODEL.gguf --prompt "Once upon a time" --tokens 48
    python3 reference.py MODEL.gguf --perplexity "Some text."
    python3 reference.py MODEL.gguf --golden golden.json

Shares no code with training: it reads shapes, tokenizer and template from the file, tokenizes by
merging bigrams the way llama.cpp's SPM tokenizer does, and rotates pairs (2i, 2i + 1). The KV cache
is float64 and activations are never quantised. Cost: O(tokens^2 * width) a sequence.
"""
import argparse
import json
import math
import re

import gguf
import numpy as np

# Not training text: written for this file.
HELD_OUT_TEXT = (
    "Once upon a time, there was a small duck named Pip. Pip liked to swim in the pond with his mom. "
    "One day, he saw a shiny red ball near a tree. \"Can I play with it?\" he asked. \"Yes, but be "
    "careful,\" said his mom. Pip pushed the ball into the water, and it floated away. He was sad. A "
    "kind frog jumped in and brought the ball back. Pip said thank you. They played until the sun went "
    "down and became good friends.")
CHAT = ({"role": "user", "content": "Tell me a story about a dog and a ball."},)
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


class Model:
    """Dequantised tensors in float64, metadata as Python values."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.meta = {key: field.contents() for key, field in reader.fields.items()}
        self.tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64)
                        for t in reader.tensors}
        self.num_layers = self.meta["llama.block_count"]
        self.num_heads = self.meta["llama.attention.head_count"]
        self.num_kv_heads = self.meta["llama.attention.head_count_kv"]
        self.head_dim = self.meta["llama.rope.dimension_count"]
        self.epsilon = float(self.meta["llama.attention.layer_norm_rms_epsilon"])
        self.rope_base = float(self.meta["llama.rope.freq_base"])
        self.output = self.tensors.get("output.weight", self.tensors["token_embd.weight"])

    def norm(self, x, name):
        scale = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.epsilon)
        return x * scale * self.tensors[name]

    def rotate(self, x, position):  # x [tokens, heads, head_dim]
        exponents = np.arange(0, self.head_dim, 2) / self.head_dim
        turn = np.exp(1j * np.outer(position, self.rope_base ** -exponents))[:, None]
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
        return np.stack((pairs.real, pairs.imag), axis=-1).reshape(x.shape)

    def logits(self, ids, cache):
        """ids go behind what `cache` (a list, one [k, v] a layer, or empty) holds; returns
        [len(ids), vocab]."""
        if not cache:
            empty = np.zeros((0, self.num_kv_heads, self.head_dim))
            cache.extend([empty, empty] for _ in range(self.num_layers))
        past, count = len(cache[0][0]), len(ids)
        position = np.arange(past, past + count)
        x = self.tensors["token_embd.weight"][ids]
        for layer in range(self.num_layers):
            def project(y, name, layer=layer):
                return y @ self.tensors[f"blk.{layer}.{name}.weight"].T
            y = self.norm(x, f"blk.{layer}.attn_norm.weight")
            q = project(y, "attn_q").reshape(count, self.num_heads, self.head_dim)
            k = project(y, "attn_k").reshape(count, self.num_kv_heads, self.head_dim)
            v = project(y, "attn_v").reshape(count, self.num_kv_heads, self.head_dim)
            cache[layer][0] = np.concatenate((cache[layer][0], self.rotate(k, position)))
            cache[layer][1] = np.concatenate((cache[layer][1], v))
            mixed = self.attend(self.rotate(q, position), *cache[layer], position)
            x = x + project(mixed, "attn_output")
            y = self.norm(x, f"blk.{layer}.ffn_norm.weight")
            gate = project(y, "ffn_gate")
            x = x + project(gate / (1.0 + np.exp(-gate)) * project(y, "ffn_up"), "ffn_down")
        return self.norm(x, "output_norm.weight") @ self.output.T

    def attend(self, q, k, v, position):
        heads = []
        for head in range(self.num_heads):
            kv_head = head * self.num_kv_heads // self.num_heads
            scores = q[:, head] @ k[:, kv_head].T / math.sqrt(self.head_dim)
            scores[np.arange(len(k))[None] > position[:, None]] = -np.inf
            odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
            heads.append(odds / odds.sum(axis=-1, keepdims=True) @ v[:, kv_head])
        return np.concatenate(heads, axis=-1)


class Tokenizer:
    def __init__(self, meta):
        self.pieces = meta["tokenizer.ggml.tokens"]
        self.scores = meta["tokenizer.ggml.scores"]
        self.kinds = meta["tokenizer.ggml.token_type"]
        self.bos, self.eos = meta["tokenizer.ggml.bos_token_id"], meta["tokenizer.ggml.eos_token_id"]
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.special = [p for p, kind in zip(self.pieces, self.kinds) if kind in (CONTROL, USER_DEFINED)]

    def encode(self, text, add_bos):
        ids, after_special = [self.bos] if add_bos else [], True
        for part in re.split("(" + "|".join(map(re.escape, self.special)) + ")", text):
            if part in self.special:
                ids.append(self.ids[part])
                after_special = True
            elif part:
                ids += self.encode_fragment((" " if after_special else "") + part)
                after_special = False
        return ids

    def encode_fragment(self, text):
        """Joins the best-scored neighbouring pair (leftmost of equals) until none is a piece."""
        symbols = list(text.replace(" ", "\u2581"))
        while True:
            best, at = -math.inf, None
            for i in range(len(symbols) - 1):
                joined = self.ids.get(symbols[i] + symbols[i + 1])
                if joined is not None and self.scores[joined] > best:
                    best, at = self.scores[joined], i
            if at is None:
                break
            symbols[at:at + 2] = [symbols[at] + symbols[at + 1]]
        ids = []
        for symbol in symbols:
            if symbol in self.ids:
                ids.append(self.ids[symbol])
            else:
                ids += [self.ids[f"<0x{byte:02X}>"] for byte in symbol.encode()]
        return ids

    def decode(self, ids):
        """Bytes of the pieces, control tokens left out, a leading space kept."""
        data = b""
        for i in ids:
            if self.kinds[i] == BYTE:
                data += bytes([int(self.pieces[i][3:5], 16)])
            elif self.kinds[i] == NORMAL:
                data += self.pieces[i].replace("\u2581", " ").encode()
        return data.decode(errors="replace")


def render_chat(meta, messages):
    import jinja2  # only the golden file needs it
    tokens = meta["tokenizer.ggml.tokens"]
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(
        meta["tokenizer.chat_template"])
    return template.render(messages=messages, add_generation_prompt=True,
                           bos_token=tokens[meta["tokenizer.ggml.bos_token_id"]],
                           eos_token=tokens[meta["tokenizer.ggml.eos_token_id"]])


def greedy(model, prompt_ids, count, stop=None):
    cache, ids, gaps = [], [], []
    logits = model.logits(prompt_ids, cache)[-1]
    while len(ids) < count:
        second, best = np.argsort(logits)[-2:]
        ids.append(int(best))
        gaps.append(round(float(logits[best] - logits[second]), 5))
        if best == stop or len(ids) == count:
            break
        logits = model.logits([ids[-1]], cache)[-1]
    return ids, gaps


def negative_log_likelihood(model, ids):
    logits = model.logits(ids[:-1], [])
    top = logits.max(axis=-1)
    totals = np.log(np.exp(logits - top[:, None]).sum(axis=-1)) + top
    return totals - logits[np.arange(len(ids) - 1), ids[1:]]


def golden(model, tokenizer):
    chat = render_chat(model.meta, CHAT)
    prompts = []
    for text, add_bos in (("Once upon a time", True), ("One day, Tim and Lily went to the park.", True),
                          (chat, False)):
        prompt_ids = tokenizer.encode(text, add_bos)
        ids, gaps = greedy(model, prompt_ids, 48)
        prompts.append({"prompt": text, "add_bos": add_bos, "prompt_ids": prompt_ids, "out_ids": ids,
                        "out_text": tokenizer.decode(ids), "gap": gaps})
    ids = tokenizer.encode(HELD_OUT_TEXT, True)
    losses = negative_log_likelihood(model, ids)
    return {
        "settings": "float64 on the dequantised weights, activations not quantised, KV cache float64, "
                    "greedy argmax on raw logits, generation not stopped at EOS; gap = best minus second logit",
        "prompts": prompts,
        "chat": {"messages": list(CHAT), "add_generation_prompt": True, "rendered": chat},
        "perplexity": {"text": HELD_OUT_TEXT, "ids": ids, "num_predicted": len(losses),
                       "mean_nll": round(float(losses.mean()), 6),
                       "perplexity": round(float(np.exp(losses.mean())), 6),
                       "nll": [round(float(v), 5) for v in losses]},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--prompt")
    parser.add_argument("--chat", help="one user message, rendered with the template of the file")
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--perplexity", metavar="TEXT")
    parser.add_argument("--golden", metavar="FILE")
    options = parser.parse_args()
    model = Model(options.model)
    tokenizer = Tokenizer(model.meta)
    if options.prompt or options.chat:
        text = options.prompt or render_chat(model.meta, [{"role": "user", "content": options.chat}])
        prompt_ids = tokenizer.encode(text, add_bos=not options.chat)
        ids, _ = greedy(model, prompt_ids, options.tokens, stop=tokenizer.eos)
        print(prompt_ids, ids, tokenizer.decode(ids), sep="\n")
        print("ended by EOS" if ids[-1] == tokenizer.eos else "not ended")
    if options.perplexity:
        ids = tokenizer.encode(options.perplexity, True)
        print("perplexity", float(np.exp(negative_log_likelihood(model, ids).mean())), "over", len(ids) - 1)
    if options.golden:
        with open(options.golden, "w", encoding="utf-8") as file:
            text = json.dumps(golden(model, tokenizer), indent=1, ensure_ascii=False)
            # One line for a list of numbers.
            file.write(re.sub(r"\[[\s\d.,\-e]+\]", lambda m: " ".join(m.group(0).split()), text) + "\n")


if __name__ == "__main__":
    main()
