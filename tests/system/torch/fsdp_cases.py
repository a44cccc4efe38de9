# SPDX-License-Identifier: Apache-2.0
"""FSDP2 and FSDP1 on 4 ranks, run by fsdp_test.py: exact against FSDP itself, sparse for itself."""

import json
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard

from tandem.torch import FlatState, attach_fsdp, flat_hook
from training import OPTIONS, batch, small_model, start

EXACT = dict(dense_exact=True)


def sharded(mesh):
    model = small_model()
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def trained(model, steps=8, weights=None):
    """The whole weights after some steps, and the mean losses."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    losses = []
    for step in range(steps):
        inputs, targets = batch(step)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    parts = weights(model) if weights else [value.full_tensor() for value in model.parameters()]
    return torch.cat([value.detach().double().reshape(-1) for value in parts]), losses


def far(first, second):
    return (first[0] - second[0]).abs().max().item()


def fsdp2(mesh, between, within):
    """Hosts of two ranks: dimension 0 is `between`, dimension 1 within a host."""
    plain = trained(sharded(mesh), 4)
    whole = init_device_mesh("cpu", (dist.get_world_size(),))
    found = {}
    for name, options in (("exact", EXACT), ("sparse", dict(OPTIONS, density=0.1))):
        hosts, scattered = sharded(mesh["host"]), sharded(whole)
        reducers = [attach_fsdp(hosts, between=between, **options), attach_fsdp(scattered, within=within, **options)]
        steps = 4 if name == "exact" else 60
        ran = [trained(hosts, steps), trained(scattered, steps)]
        statistics = [reducer.statistics() for reducer in reducers]
        found[name] = {"far": [far(plain, one) for one in ran] if name == "exact" else None,
                       "losses": [losses for _, losses in ran], "steps": [one["steps"] for one in statistics],
                       "parameters": [sorted(sum((bucket["parameters"] for bucket in one["buckets"]), []))
                                      for one in statistics],
                       "sent": [max(bucket["density_sent"] for bucket in one["buckets"]) for one in statistics]}
        for reducer in reducers:
            reducer.close()
        print(name, found[name], flush=True)
    return found


def fsdp1():
    def weights(model):
        with FullyShardedDataParallel.summon_full_params(model):
            return [value.clone() for value in model.parameters()]

    found = {}
    for strategy in (ShardingStrategy.NO_SHARD, ShardingStrategy.FULL_SHARD):
        models = [FullyShardedDataParallel(small_model(), sharding_strategy=strategy, device_id=torch.device("cpu"))
                  for _ in range(2)]
        state = FlatState(models[1], **EXACT)
        models[1].register_comm_hook(state, flat_hook)
        found[strategy.name] = [far(*[trained(model, 6, weights) for model in models]), state.statistics()["steps"]]
    return found


def main():
    start()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("between", "host"))
    results = {"fsdp2": fsdp2(mesh, mesh.get_group("between"), dist.group.WORLD), "fsdp1": fsdp1()}
    with open(os.path.join(os.environ["OUT"], f"results{dist.get_rank()}.json"), "w") as file:
        json.dump(results, file)
    dist.barrier()


if __name__ == "__main__":
    main()
