# SPDX-License-Identifier: Apache-2.0
"""Byte-level BPE against Hugging Face's tokenizers: usage: bpe_oracle.py TOKENIZE_LINES_PROGRAM

For each pre-tokenizer a small vocabulary is trained on text made here with the expression its
publisher uses, written as a vocabulary-only GGUF, and fuzzed texts of many scripts are encoded by
both; ids must be equal. Exit code 77: tokenizers is not installed.
"""
import json
import random
import struct
import subprocess
import sys
import tempfile

try:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
except ImportError as error:
    print(f"skipped: {error}; scripts/test.sh installs tests/requirements.txt")
    sys.exit(77)

TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + TAIL
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + TAIL


def expression(pattern):
    return [pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]


# name in the GGUF: pre-tokenizer, ignore_merges
STYLES = {
    "llama-bpe": (expression(LLAMA3), True),
    "qwen2": (expression(QWEN2), False),
    "gpt-2": ([pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)], False),
    "smollm": ([pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)], False),
}

SPECIALS = ["<|begin|>", "<|end|>", "<|end|>x", "<|user|>"]

# Ranges of scripts, and single characters that pre-tokenizers treat differently.
SCRIPTS = [
    (0x20, 0x7e), (0xa1, 0xff), (0x100, 0x17f), (0x370, 0x3ff), (0x400, 0x4ff), (0x531, 0x586),
    (0x5d0, 0x5ea), (0x620, 0x669), (0x904, 0x96f), (0xe01, 0xe5b), (0x1100, 0x11ff),
    (0x1780, 0x17f9), (0x3041, 0x30ff), (0x4e00, 0x4fff), (0xac00, 0xad00), (0x1f300, 0x1f64f),
    (0x10400, 0x1044f), (0x1d400, 0x1d433), (0x2070, 0x209c), (0x2150, 0x2189), (0x2460, 0x249b),
    (0xff10, 0xff5a), (0x1d7ce, 0x1d7ff),
]
PIECES = [
    "'s", "'S", "'t", "'re", "'RE", "'ve", "'Ve", "'m", "'ll", "'LL", "'d", "'D", "'\u017f", "'x",
    "'", "''", "\u2019s", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", " \n", "\n ", " \n \n ",
    "\u00a0", "\u2003", "\u3000", "\u1680", "\u180e", "\u200b", "\u2028", "\u0085", "\x00", "\x07",
    "\x0b", "\x0c", "\x1c", "\x1f", "\x7f", "1", "12", "123", "1234", "12345678", "3.14", "1,000",
    "\u00bd", "\u00b2", "\u2167", "\u0663\u0664\u0665\u0666", "\u096a\u096b\u096c\u096d", "e\u0301",
    "A\u030a\u0323", "\u0915\u094d\u0937\u093f", "\u1112\u1161\u11ab", "\u05e9\u05c1\u05dc",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f",
    "\U0001f44d\U0001f3fd", "...", "!?", "------", "=====", "_", "__init__", "C++", "$5", "#!/bin/sh",
    "the", " the", " The", "ing", "ABC", "camelCase", "\u01c5", "\u02b0", "\u00aa", "<|end", "|>",
    "https://example.org/a?b=c&d=e#f", "\u6211\u60f3\u5728apple\u5de5\u4f5c1314151\u5929\uff5e",
]


def random_text(rng):
    parts = []
    for _ in range(rng.randint(1, 24)):
        kind = rng.random()
        if kind < 0.45:
            parts.append(rng.choice(PIECES))
        elif kind < 0.9:
            low, high = rng.choice(SCRIPTS)
            parts.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6))))
        else:
            parts.append(rng.choice([" ", "\n", "a", "\u00e9", "1", "'"]) * rng.randint(1, 40))
    return "".join(parts)


def train(style, corpus):
    steps, ignore_merges = STYLES[style]
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=1200, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    tokenizer.add_special_tokens(SPECIALS)
    return tokenizer


def whole_words(tokenizer, style):
    """Words that are tokens without a merge that makes them: what ignore_merges is about."""
    data = json.loads(tokenizer.to_str())
    merges = data["model"]["merges"]
    if STYLES[style][1]:
        del merges[len(merges) // 2::7]
        data["model"]["merges"] = merges
    return Tokenizer.from_str(json.dumps(data))


def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def field(key, kind, payload):
    return gguf_string(key) + struct.pack("<I", kind) + payload


def array(kind, items):
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def write_gguf(path, tokenizer, style):
    data = json.loads(tokenizer.to_str())
    size = tokenizer.get_vocab_size()
    texts = [tokenizer.id_to_token(i) for i in range(size)]
    kinds = [3 if text in SPECIALS else 1 for text in texts]
    merges = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    fields = [
        field("general.architecture", 8, gguf_string("llama")),
        field("tokenizer.ggml.model", 8, gguf_string("gpt2")),
        field("tokenizer.ggml.pre", 8, gguf_string(style)),
        field("tokenizer.ggml.tokens", 9, array(8, [gguf_string(t) for t in texts])),
        field("tokenizer.ggml.token_type", 9, array(5, [struct.pack("<i", k) for k in kinds])),
        field("tokenizer.ggml.merges", 9, array(8, [gguf_string(m) for m in merges])),
    ]
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + b"".join(fields))


def check(program, style, count):
    rng = random.Random(style)
    tokenizer = whole_words(train(style, [random_text(rng) for _ in range(3000)]), style)
    texts = [""] + PIECES + [random_text(rng) for _ in range(count)]
    texts += [rng.choice(SPECIALS).join(random_text(rng) for _ in range(3)) for _ in range(50)]
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        write_gguf(file.name, tokenizer, style)
        run = subprocess.run([program, file.name, "--parse-special"], input=lines,
                             capture_output=True, text=True, check=True)
    failures = 0
    for text, line in zip(texts, run.stdout.split("\n")[:-1], strict=True):
        wanted = tokenizer.encode(text, add_special_tokens=False).ids
        got = json.loads(line)
        shown = "".join(part for part in _without_specials(text))
        if got["ids"] == wanted and got["text"] == shown:
            continue
        failures += 1
        if failures <= 5:
            print(f"{style}: {text!r}\n  wanted {wanted}\n  got    {got}")
    print(f"{style}: {len(texts)} texts, {tokenizer.get_vocab_size()} tokens, {failures} differ")
    return failures


def _without_specials(text):
    """The text a reader sees: special tokens, longest first at each place, are left out."""
    at = 0
    while at < len(text):
        found = max((s for s in SPECIALS if text.startswith(s, at)), key=len, default="")
        yield "" if found else text[at]
        at += len(found) or 1


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    sys.exit(1 if sum(check(program, style, count) for style in STYLES) else 0)


if __name__ == "__main__":
    main()
