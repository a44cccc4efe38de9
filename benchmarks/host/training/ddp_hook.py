# SPDX-License-Identifier: Apache-2.0
"""A step of a DDP script with gloo's dense all-reduce and with the sparse hook, in turns, and the loss after equal steps.

    scripts/netlab.sh --hosts 2 --rate 1gbit --launcher gloo -- /usr/bin/python3 benchmarks/host/training/ddp_hook.py \\
        --rank {rank} --world {world} --master 10.91.0.1 --text FILE --steps 300

Needs build/release/python. A model of characters predicts the next one from 16; `--text` is what it learns, else a
generated one. Contestants have models of equal weights and equal batches and take turns, a step each, in one order and
then in the other once they count. A sample is the slowest rank's step after a barrier. Rank 0 prints a JSON line per contestant and seed:
medians of the steps after the first `--settled`, the ratio to dense, and the loss over held-out batches, the mean
over the last tenth of the steps, with its ratio to dense.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import time

TREE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TREE / "build" / "release" / "python"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import tandem.torch  # noqa: E402

CONTEXT = 16


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rank", type=int, default=int(os.environ.get("RANK", 0)))
    parser.add_argument("--world", type=int, default=int(os.environ.get("WORLD_SIZE", 1)))
    parser.add_argument("--master", default="127.0.0.1", help="address of rank 0")
    parser.add_argument("--port", default="29511")
    parser.add_argument("--text", help="a file to learn; without, a generated text")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--rate", type=float, default=0.05, help="learning rate")
    parser.add_argument("--contestants", default="exdyna@0.01,exdyna@0.001", help="beside dense: auto, or a sparsifier with its density")
    parser.add_argument("--warmup-steps", type=int, help="until the density is reached; without, the hook's default")
    parser.add_argument("--settled", type=int, default=10, help="steps whose times do not count")
    parser.add_argument("--network", default="", help="what the result says of the links")
    return parser.parse_args()


def text_of(path):
    if path:
        text = pathlib.Path(path).read_bytes()[:2_000_000]
    else:
        words = random.Random(1).choices([bytes(random.Random(n).choices(b"etaoinshrdlu", k=5)) for n in range(400)], k=40000)
        text = b" ".join(words)
    return torch.frombuffer(bytearray(text), dtype=torch.uint8).long()


def batch(text, seed, step, rank, size):
    generator = torch.Generator().manual_seed(1_000_003 * seed + 1009 * step + rank)
    starts = torch.randint(0, len(text) - CONTEXT - 1, (size, 1), generator=generator)
    window = text[starts + torch.arange(CONTEXT + 1)]
    return window[:, :-1], window[:, -1]


class Contestant:
    def __init__(self, name, given, seed):
        torch.manual_seed(seed)
        width = given.width
        self.name, self.times, self.losses = name, [], []
        self.model = torch.nn.Sequential(
            torch.nn.Embedding(256, 64), torch.nn.Flatten(), torch.nn.Linear(64 * CONTEXT, width), torch.nn.ReLU(),
            torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
            torch.nn.Linear(width, 256))
        self.ddp = torch.nn.parallel.DistributedDataParallel(self.model)
        self.hook = None
        if name != "dense":
            sparsifier, _, density = name.partition("@")
            chosen = {"density": float(density)} if density else {}
            algorithm = {"momentum": 0} if sparsifier == "dgc" else None  # as the optimizer's
            self.hook = tandem.torch.attach(self.ddp, sparsifier=sparsifier, warmup_steps=given.warmup_steps, timeout_s=300,
                                            algorithm=algorithm, **chosen)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=given.rate, momentum=0)

    def step(self, inputs, targets):
        dist.barrier()
        begun = time.perf_counter()
        self.optimizer.zero_grad()
        torch.nn.functional.cross_entropy(self.ddp(inputs), targets).backward()
        self.optimizer.step()
        self.times.append(time.perf_counter() - begun)

    def loss(self, text, given):
        with torch.no_grad():
            batches = [batch(text, 999, number, given.rank, 256) for number in range(8)]
            losses = [torch.nn.functional.cross_entropy(self.model(inputs), targets) for inputs, targets in batches]
        mean = torch.stack(losses).mean()
        dist.all_reduce(mean)
        return mean.item() / given.world


def slowest(times, settled):
    every = torch.tensor(times)
    dist.all_reduce(every, op=dist.ReduceOp.MAX)
    return sorted(every.tolist()[settled:])


def run_seed(given, text, seed):
    contestants = [Contestant(name, given, seed) for name in ("dense", *given.contestants.split(","))]
    for step in range(given.steps):
        inputs, targets = batch(text, seed, step, given.rank, given.batch)
        turned = step >= given.settled and step % 2 == 1  # not while `auto` times its steps
        for contestant in reversed(contestants) if turned else contestants:
            contestant.step(inputs, targets)
        if (given.steps - 1 - step) % max(1, given.steps // 100) == 0 and step >= given.steps * 0.9:
            for contestant in contestants:
                contestant.losses.append(contestant.loss(text, given))
    found = [(slowest(one.times, given.settled), statistics.mean(one.losses)) for one in contestants]
    for one, (times, loss) in zip(contestants, found):
        median = statistics.median(times)
        line = {"name": "ddp_step", "contestant": one.name, "seed": seed, "median": median * 1e3,
                "p10": times[len(times) // 10] * 1e3, "p90": times[len(times) * 9 // 10] * 1e3, "unit": "ms",
                "times_dense": statistics.median(found[0][0]) / median, "loss": loss, "of_dense_loss": loss / found[0][1],
                "steps": given.steps, "parameters": sum(value.numel() for value in one.model.parameters()),
                "world": given.world, "network": given.network, "load": os.getloadavg()[0], "command": " ".join(sys.argv[1:])}
        if one.hook is not None:
            line["megabytes_per_step"] = one.hook.statistics()["bytes_sent"] / given.steps / 1e6
            line["trial"] = one.hook.statistics().get("trial", {}).get("outcome")
            one.hook.close()
        if given.rank == 0:
            print(json.dumps(line), flush=True)


def main():
    given = options()
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR=given.master, MASTER_PORT=given.port)
    if given.master != "127.0.0.1":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "eth0")  # of a host of netlab
    dist.init_process_group("gloo", rank=given.rank, world_size=given.world)
    text = text_of(given.text)
    for seed in range(1, given.seeds + 1):
        run_seed(given, text, seed)
    dist.barrier()


if __name__ == "__main__":
    main()
