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
CPU = torch.device("cpu")


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


def rootless(mesh):
    """The root has no parameters of its own; after two steps of warm-up everything is sparse."""
    model = small_model()
    for layer in (model[0], model[2], model[4]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    reducer = attach_fsdp(model, within=dist.group.WORLD, **dict(OPTIONS, warmup_steps=2))
    trained(model, 5)
    return told(reducer)


def told(reducer):
    statistics = reducer.statistics()
    reducer.close()
    buckets = {bucket["parameters"][0]: [bucket["values"], bucket["calls"], bucket["dense_calls"]]
               for bucket in statistics["buckets"]}
    return {"steps": statistics["steps"], "seconds": statistics["seconds"], "hidden": statistics["hidden_seconds"],
            "buckets": buckets}


class Layers(torch.nn.Module):
    """Four layers of one size. The second is frozen at first, the third is used in every other step only."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(4))
        self.out = torch.nn.Linear(32, 4)
        self.step = 0

    def forward(self, inputs):
        self.step += 1
        for number, layer in enumerate(self.layers):
            inputs = torch.tanh(layer(inputs)) if number != 2 or self.step % 2 else inputs
        return self.out(inputs)


def frozen(strategy):
    """What FSDP1's units have sent, and the exact weights against FSDP's own."""
    made = []
    for options in (None, EXACT, OPTIONS):
        model = Layers()
        model.layers[1].requires_grad_(False)
        for number, layer in enumerate(model.layers):
            model.layers[number] = FullyShardedDataParallel(layer, sharding_strategy=strategy, device_id=CPU)
        model = FullyShardedDataParallel(model, sharding_strategy=strategy, device_id=CPU)
        if options is not None:
            state = FlatState(model, **options)
            model.register_comm_hook(state, flat_hook)
        made.append((trained(model, 4, weights), state if options is not None else None))
    (plain, _), (exact, _), (_, state) = made
    return dict(told(state), far=far(plain, exact))


def weights(model):
    with FullyShardedDataParallel.summon_full_params(model):
        return [value.clone() for value in model.parameters()]


def fsdp1():
    found = {}
    for strategy in (ShardingStrategy.NO_SHARD, ShardingStrategy.FULL_SHARD):
        models = [FullyShardedDataParallel(small_model(), sharding_strategy=strategy, device_id=CPU) for _ in range(2)]
        state = FlatState(models[1], **EXACT)
        models[1].register_comm_hook(state, flat_hook)
        found[strategy.name] = [far(*[trained(model, 6, weights) for model in models]), state.statistics()["steps"]]
    return found


def main():
    start()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("between", "host"))
    results = {"fsdp2": fsdp2(mesh, mesh.get_group("between"), dist.group.WORLD), "fsdp1": fsdp1(),
               "rootless": rootless(init_device_mesh("cpu", (dist.get_world_size(),))),
               "frozen": {strategy.name: frozen(strategy) for strategy in (ShardingStrategy.NO_SHARD,
                                                                           ShardingStrategy.FULL_SHARD)}}
    with open(os.path.join(os.environ["OUT"], f"results{dist.get_rank()}.json"), "w") as file:
        json.dump(results, file)
    dist.barrier()


if __name__ == "__main__":
    main()
