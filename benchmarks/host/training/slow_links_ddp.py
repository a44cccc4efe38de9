# SPDX-License-Identifier: Apache-2.0
"""The models of slow_links.py under PyTorch's DistributedDataParallel with gloo's dense all-reduce: a rank of them.

    slow_links_ddp.py decoder|recommender --folder DIR --steps N --batch N --seed N    with RANK, WORLD_SIZE, MASTER_ADDR

The sizes are those of shape.toml in DIR; so are text and clicks. Optimizers with their constants, rates, clipping, threads
and timeout are the run's of slow_links.py; AdamW is in the fastest form that this PyTorch has. Rank 0 prints a JSON line per
step, and at the end the loss of what is held out.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import time
import tomllib
import zlib

import torch
import torch.distributed as dist
from torch.nn import functional


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", choices=["decoder", "recommender"])
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--context", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--table-rate", type=float, default=0.02)
    parser.add_argument("--decay", choices=["constant", "cosine"], default="constant", help="of the rates, as tandem train's")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60)
    return parser.parse_args()


class Norm(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, True) + 1e-5) * self.weight


class Block(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        width, self.heads, self.kv = shape["width"], shape["heads"], shape["kv_heads"]
        size = width // self.heads
        self.norm, self.inner = Norm(width), Norm(width)
        self.q, self.o = (torch.nn.Linear(width, width, bias=False) for _ in range(2))
        self.k, self.v = (torch.nn.Linear(width, self.kv * size, bias=False) for _ in range(2))
        self.gate, self.up = (torch.nn.Linear(width, shape["ffn"], bias=False) for _ in range(2))
        self.down = torch.nn.Linear(shape["ffn"], width, bias=False)
        angles = torch.outer(torch.arange(shape["context"]), 10000.0 ** (-torch.arange(0, size, 2) / size))
        self.register_buffer("turn", torch.polar(torch.ones_like(angles), angles))

    def rotated(self, x):
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * self.turn[: x.shape[1], None]).flatten(-2)

    def forward(self, x):
        normed = self.norm(x)
        q, k, v = (of(normed).unflatten(-1, (count, -1)) for of, count in ((self.q, self.heads), (self.k, self.kv), (self.v, self.kv)))
        repeat = self.heads // self.kv
        q, k = self.rotated(q).transpose(1, 2), self.rotated(k).repeat_interleave(repeat, 2).transpose(1, 2)
        v = v.repeat_interleave(repeat, 2).transpose(1, 2)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        inner = self.inner(x)
        return x + self.down(functional.silu(self.gate(inner)) * self.up(inner))


class Decoder(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embedding = torch.nn.Embedding(260, shape["width"])
        torch.nn.init.normal_(self.embedding.weight, std=0.02)
        self.blocks = torch.nn.Sequential(*(Block(shape) for _ in range(shape["layers"])))
        self.norm = Norm(shape["width"])

    def forward(self, tokens):
        return functional.linear(self.norm(self.blocks(self.embedding(tokens))), self.embedding.weight)


class TextData:
    """Windows of bytes at random places; BOS is token 256."""

    def __init__(self, given, rank):
        self.given, self.rank = given, rank
        self.text, self.valid = (torch.tensor(list((given.folder / name).read_bytes())) for name in ("text.txt", "valid.txt"))

    def windows(self, text, starts):
        window = text[starts[:, None] + torch.arange(self.given.context)]
        return torch.cat([torch.full((len(starts), 1), 256), window[:, :-1]], 1), window

    def loss(self, model, step):
        draw = torch.Generator().manual_seed(1_000_003 * self.given.seed + 1009 * step + self.rank)
        starts = torch.randint(0, len(self.text) - self.given.context, (self.given.batch,), generator=draw)
        tokens, targets = self.windows(self.text, starts)
        return functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())

    def held_out(self, model):
        starts = torch.arange(0, len(self.valid) - self.given.context, self.given.context)
        losses = []
        for some in starts.split(64):
            tokens, targets = self.windows(self.valid, some)
            losses.append(functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="none"))
        return torch.cat(losses).mean().item()


class Recommender(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        width, count = shape["width"], shape["tables"]
        rows = [shape["rows"]] * count
        self.tables = torch.nn.ModuleList(torch.nn.EmbeddingBag(each, width, mode="sum") for each in rows)
        for table in self.tables:
            torch.nn.init.normal_(table.weight, std=math.sqrt(1 / (3 * table.num_embeddings)))
        self.bottom = self.layers([shape["dense"], *shape["bottom"], width], True)
        pairs = (count + 1) * count // 2
        self.top = self.layers([width + pairs, *shape["top"], 1], False)
        self.places = torch.tril_indices(count + 1, count + 1, -1)

    @staticmethod
    def layers(sizes, ends_in_relu):
        parts = []
        for first, second in zip(sizes, sizes[1:]):
            parts += [torch.nn.Linear(first, second), torch.nn.ReLU()]
        return torch.nn.Sequential(*parts if ends_in_relu else parts[:-1])

    def forward(self, numbers, rows):
        bottom = self.bottom(numbers)
        bags = [table(rows[:, at : at + 1]) for at, table in enumerate(self.tables)]
        z = torch.stack([bottom, *bags], 1)
        dots = (z @ z.transpose(1, 2))[:, self.places[0], self.places[1]]
        return self.top(torch.cat([bottom, dots], 1)).view(-1)


class ClickData:
    def __init__(self, given, rank, rows):
        self.given, self.rank, self.rows = given, rank, rows
        self.samples, self.valid = (self.read(given.folder / name) for name in ("clicks.tsv", "valid.tsv"))

    def read(self, path):
        labels, numbers, words = [], [], []
        for line in path.read_text().splitlines():
            label, *rest = line.split("\t")
            labels.append(float(label))
            numbers.append([math.log1p(max(int(each or 0), 0)) for each in rest[:13]])
            words.append([zlib.crc32(f"{at} {word}".encode()) % self.rows for at, word in enumerate(rest[13:])])
        return torch.tensor(labels), torch.tensor(numbers), torch.tensor(words)

    def loss(self, model, step):
        world = dist.get_world_size()
        batch, count = self.given.batch, len(self.samples[0])
        epoch, at = divmod(step * batch * world, count - count % (batch * world))
        order = torch.randperm(count, generator=torch.Generator().manual_seed(1009 * self.given.seed + epoch))
        chosen = order[at + self.rank * batch : at + (self.rank + 1) * batch]
        labels, numbers, words = (part[chosen] for part in self.samples)
        return functional.binary_cross_entropy_with_logits(model(numbers, words), labels)

    def held_out(self, model):
        labels, numbers, words = self.valid
        return functional.binary_cross_entropy_with_logits(model(numbers, words), labels).item()


class RowwiseAdagrad(torch.optim.Optimizer):
    """FBGEMM's exact_rowwise_adagrad on dense gradients: rows without one stay as they are."""

    def __init__(self, tables, rate):
        super().__init__(tables, {"lr": rate})
        for table in tables:
            self.state[table] = torch.zeros(len(table), 1)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for table in group["params"]:
                sums = self.state[table].add_(table.grad.square().mean(1, True))
                table.addcdiv_(table.grad, sums.sqrt().add_(1e-8), value=-group["lr"])


def adamw(groups, rate):
    for form in ({"fused": True}, {"foreach": True}, {}):
        try:
            return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, **form)
        except (TypeError, RuntimeError):  # not of this version, or not on the CPU
            continue
    raise SystemExit("this PyTorch makes no AdamW on the CPU")


def optimizers(task, model, given):
    if task == "decoder":
        matrices = [value for value in model.parameters() if value.dim() > 1]
        others = [value for value in model.parameters() if value.dim() < 2]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0}]
        return [adamw(groups, given.rate)]
    tables = list(model.tables.parameters())
    known = {id(value) for value in tables}
    layers = [value for value in model.parameters() if id(value) not in known]
    matrices = {"params": [value for value in layers if value.dim() > 1], "weight_decay": 0.1}
    vectors = {"params": [value for value in layers if value.dim() < 2], "weight_decay": 0}
    return [adamw([matrices, vectors], given.rate), RowwiseAdagrad(tables, given.table_rate)]


def share_of_rate(given, step):
    if given.decay == "constant" or given.steps < 2:
        return 1
    return 0.1 + 0.45 * (1 + math.cos(math.pi * step / (given.steps - 1)))


def main():
    given = options()
    rank = int(os.environ["RANK"])
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    shape = tomllib.loads((given.folder / "shape.toml").read_text())
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=given.timeout))
    model = Decoder(shape) if given.task == "decoder" else Recommender(shape)
    data = TextData(given, rank) if given.task == "decoder" else ClickData(given, rank, shape["rows"])
    ddp = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    steps = optimizers(given.task, model, given)
    rates = [(group, group["lr"]) for each in steps for group in each.param_groups]
    begin = time.perf_counter()
    for step in range(given.steps):
        for group, rate in rates:
            group["lr"] = rate * share_of_rate(given, step)
        for each in steps:
            each.zero_grad()
        loss = data.loss(ddp, step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for each in steps:
            each.step()
        now = time.perf_counter()
        if rank == 0:
            print(json.dumps({"step": step + 1, "loss": loss.item(), "seconds": now - begin}), flush=True)
        begin = now
    with torch.no_grad():
        if rank == 0:
            print(json.dumps({"held_out": data.held_out(model)}), flush=True)
    dist.barrier()


if __name__ == "__main__":
    main()
