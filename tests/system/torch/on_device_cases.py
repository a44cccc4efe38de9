# SPDX-License-Identifier: Apache-2.0
"""Cases of on_device_test.py, run by every rank: buckets that say that they lie on a GPU.

The library is the one over the interpreter of CUDA kernels, in which the memory of a GPU is the host's. So a tensor of
the host with the attributes of one on a GPU takes the whole way: hook, C functions, reducer, kernels.
"""

import contextlib
import json
import os
import types

import torch
import torch.distributed as dist

from tandem.torch import SparseHook, on_device
from tandem.torch.fsdp import FlatReducer

streams = []


class FakeStream:
    """What OnDevice asks of a stream."""

    cuda_stream = 0

    def __init__(self, device=None):
        self.device, self.waited = device, []
        streams.append(self)

    def wait_stream(self, other):
        self.waited.append(other)


class GpuTensor(torch.Tensor):
    """A tensor of the host that says otherwise."""

    is_cuda = property(lambda self: True)
    device = property(lambda self: types.SimpleNamespace(type="cuda", index=0))
    recorded = []

    def record_stream(self, stream):
        GpuTensor.recorded.append(stream)


class Future:
    """torch's own refuses devices that are not there."""

    def __init__(self, devices=None):
        self.devices, self.error = devices, None
        self.inner = torch_future()

    def set_result(self, result):
        self.inner.set_result(result)

    def set_exception(self, error):
        self.inner.set_exception(error)

    def wait(self):
        return self.inner.wait()


torch_future = torch.futures.Future


class Bucket:
    """What the hook asks of a GradBucket."""

    def __init__(self, values, parameters):
        self.values, self.given = values, parameters

    def index(self):
        return 0

    def buffer(self):
        return self.values

    def parameters(self):
        return self.given

    def is_last(self):
        return True


def steps(hook, parameters, on_gpu, kind):
    means = []
    for step in range(8):
        random = torch.Generator().manual_seed(100 * step + dist.get_rank())
        size = sum(parameter.numel() for parameter in parameters)
        values = torch.round(64 * torch.randn(size, generator=random)).div(64).to(kind)
        buffer = values.as_subclass(GpuTensor) if on_gpu else values
        hook.reduce(hook, Bucket(buffer, parameters)).wait()
        means.append(values.float().tolist())
    return means


def compare(kind):
    model = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.Linear(30, 20))
    options = dict(sparsifier="micro", density=0.05, scheme="allgather_sparse", dense_below=100)
    found = {}
    for where in (False, True):
        hook = SparseHook(model.named_parameters(), **options)
        found[where] = steps(hook, list(model.parameters()), where, kind)
        found["hook"] = hook.statistics()["hook"]
        state = hook.state_dict()
        found[("state", where)] = bytes(state["reducer"].tolist())
        hook.close()
    return {"same": found[False] == found[True], "state": found[("state", False)] == found[("state", True)],
            "steps": found["hook"]["steps"], "sparse": sum(value == 0 for value in found[True][-1])}


def flat():
    reducer = FlatReducer(sparsifier="topk", density=0.1, scheme="allgather_sparse", dense_below=0)
    values = (torch.arange(100.0) + dist.get_rank()).as_subclass(GpuTensor)
    reducer.mean("flat", values)
    reducer.end_step()
    result = torch.as_tensor(values).tolist()
    reducer.close()
    return {"entries": sum(value != 0 for value in result), "last": result[99]}


def main():
    torch.cuda.Stream, torch.cuda.current_stream = FakeStream, lambda device: ("current", device.index)
    torch.cuda.stream = lambda stream: contextlib.nullcontext()
    torch.futures.Future = Future
    dist.init_process_group("gloo")
    assert on_device.is_reduced_there(torch.zeros(3).as_subclass(GpuTensor))
    results = {"f32": compare(torch.float32), "f16": compare(torch.float16), "flat": flat()}
    results["streams"] = {"made": len(streams), "waited": all(stream.waited == [("current", 0)] for stream in streams),
                          "recorded": len(GpuTensor.recorded)}
    with open(f"{os.environ['OUT']}/results{dist.get_rank()}.json", "w") as file:
        json.dump(results, file)
    dist.destroy_process_group()


main()
