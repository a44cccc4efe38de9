# SPDX-License-Identifier: Apache-2.0
"""Records small tokenizers and what the tokenizers library makes of hard strings.

record_tokenizers.py CORPUS OUT: trains one tokenizer of every published style on the text file
CORPUS and writes OUT/<style>/tokenizer.json and OUT/tokenizer_cases.json: of every style and string
the ids with special tokens, and the text decoded from them. "front" counts the ids that stand
before every text. Needs the PyPI package
tokenizers (0.23); the fixtures beside this script were made from 0.9 MB of stories.
"""

import json
import pathlib
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
BAR = "\u2581"

TEXTS = [
    "", " ", "  ", "   \n", "\n", "\n\n\n", "\t x", "Hello, world!", " Hello", "Hello ", "  two",
    "Once upon a time, there was a little girl.", "don't we'll I'M IT'S '\u017fx", "3 33 333 3333",
    "1234567 1,000.50", "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m", "cafe\u0301 A\u030a e\u0323\u0302",
    "\u4f60\u597d\uff0c\u4e16\u754c", "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "\U0001f600\U0001f469\u200d\U0001f469\u200d\U0001f467 ok", "a\u00a0b\u3000c\u2009d\u180ee",
    "line\r\nnext\rlast\n", "x = {'a': [1, 2]};\n\n\treturn x;\n", "\u2581under \u2581bars\u2581",
    "\x00\x01\x7f", "\u0085 \u2028 \u2029", "<|end|>", "a<|end|>b", "<|user|>\n hi <|end|>  \n",
    " <|user|> x", "<s>a</s>", "<s> <s>", "<tag>inside<tag>", "x<tag> y", "<|en", "the  the   the",
    "\ufffd\ufb01\u2126\u212b", "\u00bd\u00b2\u2167\u0661\u0662\u0663", "...!!!???", "a" * 40, " " * 20,
]


def added(special_style):
    strip = special_style == "phi3"
    return [AddedToken("<|user|>", special=True, normalized=False, rstrip=strip),
            AddedToken("<|end|>", special=True, normalized=False, rstrip=strip),
            AddedToken("<tag>", special=False, normalized=False)]


def template(bos):
    return processors.TemplateProcessing(single=[bos, "$A"], pair=[bos, "$A", bos, "$B"],
                                         special_tokens=[(bos, 1 if bos == "<s>" else 0)])


def byte_level(corpus, split, ignore_merges=False, normalizer=None, bos=None):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        tokenizer.normalizer = normalizer
    if split:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [*split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=480, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=[bos] if bos else [])
    tokenizer.train([corpus], trainer)
    if bos:
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(), template(bos)])
    tokenizer.add_tokens(added(""))
    return tokenizer


def spm_like(corpus, style):
    pieces = {"<unk>": 0, "<s>": 1, "</s>": 2}
    for byte in range(256):
        pieces[f"<0x{byte:02X}>"] = len(pieces)
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", BAR)
    trained.pre_tokenizer = pre_tokenizers.Split(BAR, "merged_with_next")
    trained.train([corpus], trainers.BpeTrainer(vocab_size=330, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    for text, _ in sorted(model["vocab"].items(), key=lambda item: item[1]):
        pieces[text] = len(pieces)
    merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" "))
              for merge in model["merges"]]
    tokenizer = Tokenizer(models.BPE(pieces, merges, unk_token="<unk>", fuse_unk=True,
                                     byte_fallback=True))
    strip = [decoders.Strip(" ", 1, 0)]
    if style in ("llama2", "phi3"):
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend(BAR), normalizers.Replace(" ", BAR)])
    elif style == "gemma":
        tokenizer.normalizer = normalizers.Replace(" ", BAR)
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        strip = []
    else:
        scheme, split = {"mistral": ("first", False), "metaspace": ("always", True)}[style]
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(BAR, scheme, split)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(BAR, " "), decoders.ByteFallback(), decoders.Fuse(), *strip])
    tokenizer.post_processor = template("<s>")
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.add_tokens(added(style))
    return tokenizer


def isolated(regex):
    return pre_tokenizers.Split(Regex(regex), "isolated")


def all_styles(corpus):
    yield "gpt2", byte_level(corpus, [])
    yield "llama3", byte_level(corpus, [isolated(LLAMA3)], True, bos="<|begin_of_text|>")
    yield "qwen2", byte_level(corpus, [isolated(QWEN2)], normalizer=normalizers.NFC())
    yield "digits", byte_level(corpus, [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Split(",", "merged_with_previous"),
        pre_tokenizers.Split("!", "merged_with_next"),
        pre_tokenizers.Split("\n", "contiguous"),
        pre_tokenizers.Split(Regex(r"\s+|\S+"), "removed", invert=True)])
    for style in ("llama2", "mistral", "metaspace", "gemma", "phi3"):
        yield style, spm_like(corpus, style)


def main(corpus, out):
    cases = {"library": f"tokenizers {tokenizers.__version__}", "texts": TEXTS, "styles": {}}
    for style, tokenizer in all_styles(corpus):
        folder = pathlib.Path(out) / style
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.json").write_text(
            json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=True, separators=(",", ":")) + "\n")
        rows = []
        for text in TEXTS:
            ids = tokenizer.encode(text).ids
            rows.append([ids, tokenizer.decode(ids)])
        cases["styles"][style] = {"front": len(tokenizer.encode("").ids), "cases": rows}
    (pathlib.Path(out) / "tokenizer_cases.json").write_text(
        json.dumps(cases, separators=(",", ":")).replace("],[[", "],\n[[") + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
