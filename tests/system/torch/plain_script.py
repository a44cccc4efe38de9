# SPDX-License-Identifier: Apache-2.0
"""A script that knows nothing of Tandem: trains and checks itself against training on all data in one process."""

import argparse
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def data(step, rank):
    generator = torch.Generator().manual_seed(100 * step + rank)
    inputs = torch.randn(8, 16, generator=generator)
    return inputs, inputs.sin()


def make():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 16))


def train(model, ranks, steps, late=False):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        batches = [data(step, rank) for rank in ranks]
        inputs, targets = (torch.cat(part) for part in zip(*batches))
        optimizer.zero_grad()
        model.require_backward_grad_sync = not late
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        model.require_backward_grad_sync = True
        if late and isinstance(model, DistributedDataParallel):
            model.reducer.prepare_for_backward([])
        loss.backward()
        optimizer.step()
    return torch.cat([value.detach().reshape(-1) for value in model.parameters()])


def worker(rank, world, steps, own_hook, late=False):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
    dist.init_process_group("gloo")
    model = DistributedDataParallel(make())
    if own_hook:
        model.register_comm_hook(None, mean)
    far = (train(model, [rank], steps, late) - train(make(), range(world), steps)).abs().max().item()
    print(f"rank {rank} of {world}: {far:.9f} from one process, __main__ is {sys.argv[0]}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def mean(_, bucket):
    work = dist.all_reduce(bucket.buffer() / dist.get_world_size(), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--spawn", type=int, default=0)
    parser.add_argument("--own-hook", action="store_true")
    parser.add_argument("--switch-late", action="store_true", help="as Lightning does in manual optimization")
    given = parser.parse_args()
    if given.spawn:
        mp.spawn(worker, (given.spawn, given.steps, given.own_hook), nprocs=given.spawn)
    else:
        worker(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), given.steps, given.own_hook,
               given.switch_late)


if __name__ == "__main__":
    main()
