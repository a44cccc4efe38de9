# SPDX-License-Identifier: Apache-2.0
"""A small model, data that depend on rank and step only, and a loop; for the ranks of the tests."""

import faulthandler
import json
import os
import sys
import traceback

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

OPTIONS = dict(sparsifier="exdyna", density=0.05, dense_below=0, timeout_s=300)


def small_model(seed=1):
    return make_model(seed, 128, 64)


def two_bucket_model(seed=1):
    """More than 1 MiB, which DDP's first bucket takes whatever bucket_cap_mb says."""
    return make_model(seed, 512, 512)


def make_model(seed, first, second):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(32, first), torch.nn.Tanh(), torch.nn.Linear(first, second), torch.nn.Tanh(),
                               torch.nn.Linear(second, 4))


def batch(step, rank=None):
    generator = torch.Generator().manual_seed(1000 * step + (dist.get_rank() if rank is None else rank))
    teacher = torch.randn(32, 4, generator=torch.Generator().manual_seed(7)) / 4
    inputs = torch.randn(16, 32, generator=generator)
    return inputs, torch.tanh(inputs @ teacher)


class Run:
    """A DDP module, its optimizer and, unless `options` is None, its hook."""

    def __init__(self, options=None, model=None, **ddp):
        from tandem.torch import attach
        self.module = model if model is not None else small_model()
        self.ddp = DistributedDataParallel(self.module, **ddp)
        self.hook = attach(self.ddp, **options) if options is not None else None
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.2)

    def loss(self, step):
        inputs, targets = batch(step)
        return torch.nn.functional.mse_loss(self.ddp(inputs), targets)

    def step(self, step):
        self.optimizer.zero_grad()
        loss = self.loss(step)
        loss.backward()
        self.optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        return mean.item() / dist.get_world_size()

    def steps(self, first, last):
        return [self.step(step) for step in range(first, last)]

    def weights(self):
        return torch.cat([value.detach().double().reshape(-1) for value in self.module.parameters()])


def distance(first, second):
    return (first.weights() - second.weights()).abs().max().item()


def same_on_all_ranks(run):
    mine = run.weights()
    other = mine.clone()
    dist.broadcast(other, 0)
    return torch.equal(mine, other)


def start():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://", rank=int(os.environ["RANK"]),
                            world_size=int(os.environ["WORLD_SIZE"]))


def caught(action):
    try:
        action()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def broken_step(run, step, value=float("nan")):
    """A bad gradient on the last rank only."""
    run.optimizer.zero_grad()
    loss = run.loss(step)
    if dist.get_rank() == dist.get_world_size() - 1:
        loss = loss * value
    loss.backward()


def run_cases(program):
    """Runs the functions case_* of a program, or those that its arguments name; writes what they give."""
    faulthandler.dump_traceback_later(float(os.environ.get("DUMP_AFTER_S", "500")), exit=True)
    start()
    results = {}
    for name in sys.argv[1:] or [name for name in program if name.startswith("case_")]:
        try:
            results[name] = program[name]()
        except Exception:  # the other ranks are in a collective call of PyTorch's own and cannot go on
            print(name, "failed:", traceback.format_exc(), flush=True)
            os._exit(1)
        print(name, "done", flush=True)
    with open(os.path.join(os.environ["OUT"], f"results{dist.get_rank()}.json"), "w") as file:
        json.dump(results, file)
    dist.barrier()
