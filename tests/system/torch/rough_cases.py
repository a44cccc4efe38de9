# SPDX-License-Identifier: Apache-2.0
"""Cases of rough_test.py: modules that go, types, exceptions, and buckets at their edges."""

import contextlib
import gc
import inspect
import threading
import time
import warnings

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tandem.torch import attach
from training import (OPTIONS, Run, batch, broken_step, caught, distance, run_cases, same_on_all_ranks, small_model,
                      two_bucket_model)

EXACT = dict(dense_exact=True)


def case_statistics():
    """Of two_bucket_model, whose buckets DDP builds anew after the first step."""
    run = Run(OPTIONS, two_bucket_model(), bucket_cap_mb=0.02)
    found = []
    for step in range(5):
        run.step(step)
        statistics = run.hook.statistics()
        found.append({"names": sorted(sum((bucket["parameters"] for bucket in statistics["buckets"]), [])),
                      "steps": [statistics["steps"], statistics["hook"]["steps"]]})
    return {"found": found, "names": sorted(name for name, _ in run.module.named_parameters())}


def case_rules():
    """Rules as a dict; one of them is for a layer that is not there."""
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        run = Run(dict(OPTIONS, rules={"0.*": "dense", "7.*": "topk", "*": {"sparsifier": "topk", "density": 0.1}}))
    run.steps(0, 5)
    asked = [bucket["density_asked"] for bucket in run.hook.statistics()["buckets"]]
    return {"warnings": [str(one.message) for one in caught_warnings if "tandem" in str(one.message)], "asked": asked,
            "sparsified": [bucket["sparsified_values"] for bucket in run.hook.statistics()["buckets"]]}


def hook_threads(at_most=0):
    """How many there are once garbage is collected; waits until there are few."""
    end = time.monotonic() + 120
    while True:
        gc.collect()
        count = sum(thread.name.startswith("tandem-") for thread in threading.enumerate())
        if count <= at_most or time.monotonic() > end:
            return count
        time.sleep(0.05)


def case_dropped():
    """Modules that nobody holds any more; one of them had an error."""
    before = hook_threads()
    runs = [Run(OPTIONS), Run(OPTIONS)]
    for run in runs:
        run.steps(0, 4)
    caught(lambda: broken_step(runs[1], 4))
    during = hook_threads(before + 2)
    del run, runs
    return {"before": before, "during": during, "after": hook_threads(before), "good": Run(OPTIONS).steps(0, 2)}


def chained(first, second, step):
    """Two modules in one graph: their buckets arrive mixed."""
    inputs, targets = batch(step)
    for run in (first, second):
        run.optimizer.zero_grad()
    torch.nn.functional.mse_loss(second.ddp(first.ddp(inputs).repeat(1, 8)), targets).backward()
    for run in (first, second):
        run.optimizer.step()


def case_chained():
    pairs = [[Run(options, two_bucket_model(seed), bucket_cap_mb=0.02) for seed in (1, 2)]
             for options in (None, EXACT, OPTIONS)]
    for step in range(6):
        for pair in pairs:
            chained(*pair, step)
    return {"far": [distance(*runs) for runs in zip(*pairs[:2])], "same": [same_on_all_ranks(run) for run in pairs[2]],
            "steps": [run.hook.statistics()["steps"] for run in pairs[2]]}


class Raising(torch.nn.Module):
    """Raises in a forward pass, or in a backward pass behind the first layer."""

    def __init__(self):
        super().__init__()
        self.inner, self.where = small_model(), None

    def forward(self, inputs):
        if self.where == "forward":
            raise KeyError("the forward pass")
        hidden = self.inner[0](inputs)
        if self.where == "backward":
            hidden.register_hook(self.fail)
        return self.inner[1:](hidden)

    @staticmethod
    def fail(_):
        raise KeyError("the backward pass")


def case_exceptions():
    """The model's own errors come out as they are, and the run goes on. An error in a backward pass ends a DDP module, but
    none of its peers."""
    run, other = Run(OPTIONS, Raising(), bucket_cap_mb=0.001), Run(OPTIONS)
    errors = []
    for where in ("forward", "backward"):
        run.steps(0, 4)
        other.steps(0, 2)
        run.module.where = where
        errors.append(caught(lambda: run.step(4)))
        run.module.where = None
    return {"errors": errors, "other": other.steps(2, 6), "same": same_on_all_ranks(other)}


def case_bfloat16():
    """A model whose parameters are bf16, where gloo can broadcast them."""
    try:
        runs = [Run(options, small_model().to(torch.bfloat16)) for options in (EXACT, OPTIONS)]
    except RuntimeError as error:
        return {"skipped": str(error)}
    losses = [[], []]
    for step in range(60):
        for run, seen in zip(runs, losses):
            inputs, targets = (part.to(torch.bfloat16) for part in batch(step))
            run.optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(run.ddp(inputs), targets)
            loss.backward()
            run.optimizer.step()
            seen.append(loss.item())
    return {"losses": losses, "same": [same_on_all_ranks(run) for run in runs]}


def case_autocast():
    run = Run(OPTIONS)
    for step in range(6):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = run.loss(step)
        run.optimizer.zero_grad()
        loss.backward()
        run.optimizer.step()
    return {"same": same_on_all_ranks(run), "finite": bool(torch.isfinite(run.weights()).all())}


def case_scaler():
    """What GradScaler does: a scaled loss whose gradient is infinite on one rank; the step is skipped on all."""
    run = Run(dict(OPTIONS, non_finite="pass"))
    run.steps(0, 4)
    before = run.weights()
    broken_step(run, 4, float("inf"))
    found = [bool(torch.isfinite(value.grad).all()) for value in run.module.parameters()]
    return {"finite": found, "moved": (run.weights() - before).abs().max().item(), "after": run.steps(5, 8),
            "same": same_on_all_ranks(run)}


class Scalars(torch.nn.Module):
    """Parameters of one value, each in a bucket of its own."""

    def __init__(self):
        super().__init__()
        self.all = torch.nn.ParameterList([torch.nn.Parameter(torch.tensor(float(number))) for number in range(3)]
                                          + [torch.nn.Parameter(torch.ones(1, 1))])

    def forward(self, scale):
        return sum((value * scale).sum() for value in self.all)


def case_scalars():
    """The gradient of each is rank + 1, in 6 steps, of which the first two or three are exact."""
    found = {}
    for name, more in (("none", {"density": 0}), ("all", {"density": 1}), ("some", {"density": 0.5})):
        for sparsifier in ("exdyna", "topk", "dgc", "randomk", "chunk_topk"):
            options = dict(OPTIONS, rules={"*": {"sparsifier": sparsifier}}, algorithm={"momentum": 0}, **more)
            run = Run(options, Scalars(), bucket_cap_mb=1e-6)
            sent = [0.0] * len(run.module.all)
            for _ in range(6):
                run.ddp(float(dist.get_rank() + 1)).backward()
                for number, value in enumerate(run.module.all):
                    sent[number] += value.grad.item()
                    value.grad.zero_()
            found[f"{name} {sparsifier}"] = [sent, run.hook.statistics()["hook"]["exact_steps"]]
    return found


class Empty(torch.nn.Module):
    """A parameter without values, in a bucket of its own: the last one."""

    def __init__(self):
        super().__init__()
        self.nothing, self.inner = torch.nn.Parameter(torch.zeros(0)), two_bucket_model()

    def forward(self, inputs):
        return self.inner(inputs) + self.nothing.sum()


def case_empty():
    runs = [Run(options, Empty(), bucket_cap_mb=0.001) for options in (None, EXACT, OPTIONS)]
    for run in runs:
        run.steps(0, 6)
    return {"far": distance(*runs[:2]), "same": same_on_all_ranks(runs[2]), "steps": runs[2].hook.statistics()["steps"]}


def case_skipped_buckets():
    """PyTorch leaves out buckets that no rank uses, the last one too, where it is told so."""
    if "skip_all_reduce_unused_params" not in inspect.signature(DistributedDataParallel.__init__).parameters:
        return {"skipped": "this PyTorch has no skip_all_reduce_unused_params"}
    more = dict(find_unused_parameters=True, skip_all_reduce_unused_params=True, bucket_cap_mb=0.01)
    runs = [Run(options, Halves(), **more) for options in (None, EXACT, OPTIONS)]
    for step in range(8):
        for run in runs:
            run.step(step)
    layout = runs[2].hook.state_dict()["layout"]
    return {"far": distance(*runs[:2]), "same": same_on_all_ranks(runs[2]), "layout": layout,
            "steps": runs[2].hook.statistics()["steps"]}


class Halves(torch.nn.Module):
    """No rank ever uses the first half, which DDP puts into its last buckets."""

    def __init__(self):
        super().__init__()
        self.first, self.second = two_bucket_model(1), two_bucket_model(2)

    def forward(self, inputs):
        return self.second(inputs)


def case_uneven():
    """DDP's join(): ranks with fewer batches shadow the others' exchanges with zeros."""
    runs = [Run(options, two_bucket_model(), bucket_cap_mb=0.02) for options in (None, EXACT, OPTIONS)]
    for run in runs:
        with run.ddp.join():
            for step in range(5 + dist.get_rank()):
                run.optimizer.zero_grad()
                run.loss(step).backward()
                run.optimizer.step()
    return {"far": distance(*runs[:2]), "same": same_on_all_ranks(runs[2]), "steps": runs[2].hook.statistics()["steps"]}


def case_differences():
    """One option of rank 1 is another one's."""
    found = {}
    for name, value in (("sparsifier", "topk"), ("rules", {"0.weight": "dgc"}), ("dense_exact", True), ("wire", "bf16"),
                        ("warmup_steps", 3), ("algorithm", {"momentum": 0.5})):
        run = Run(dict(OPTIONS, **({name: value} if dist.get_rank() == 1 else {})))
        found[name] = caught(lambda: run.steps(0, 4))
    return {"errors": found, "after": Run(OPTIONS).steps(0, 2)}


def case_late_rank():
    """A rank that pauses for less than the timeout is waited for."""
    run = Run(dict(OPTIONS, timeout_s=120))
    run.steps(0, 4)
    if dist.get_rank() == 1:
        time.sleep(2)
    return {"after": run.steps(4, 6), "same": same_on_all_ranks(run)}


if __name__ == "__main__":
    run_cases(globals())
