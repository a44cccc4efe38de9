# SPDX-License-Identifier: Apache-2.0
"""Cases of hook_test.py, run one after another by every rank; each gives figures, which the test judges."""

import os
import pickle

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tandem.torch import SparseHook, attach
from training import (OPTIONS, Run, broken_step, caught, distance, run_cases, same_on_all_ranks, small_model,
                      two_bucket_model)

EXACT = dict(dense_exact=True)


def case_exact():
    plain, exact, whole = Run(), Run(EXACT), Run(dict(OPTIONS, sparsifier="topk", density=1.0))
    losses = [run.steps(0, 12) for run in (plain, exact, whole)]
    return {"losses": losses, "exact": distance(plain, exact), "whole": distance(plain, whole)}


def case_sparse():
    plain, sparse = Run(), Run(OPTIONS)
    losses = [run.steps(0, 80) for run in (plain, sparse)]
    return {"losses": losses, "same": same_on_all_ranks(sparse), "statistics": sparse.hook.statistics()}


def case_idioms():
    """DDP's own call gives what attach() gives."""
    module = small_model()
    ddp = DistributedDataParallel(module)
    hook = SparseHook(module, **OPTIONS)
    ddp.register_comm_hook(hook, hook.reduce)
    other = Run(OPTIONS)
    run = Run.__new__(Run)
    run.module, run.ddp, run.hook = module, ddp, hook
    run.optimizer = torch.optim.SGD(module.parameters(), lr=0.2)
    run.steps(0, 6)
    other.steps(0, 6)
    return {"distance": distance(run, other)}


def accumulate(run, step):
    run.optimizer.zero_grad()
    with run.ddp.no_sync():
        run.loss(3 * step).backward()
        run.loss(3 * step + 1).backward()
    run.loss(3 * step + 2).backward()
    run.optimizer.step()


def case_accumulation():
    plain, exact, sparse = Run(), Run(EXACT), Run(OPTIONS)
    for step in range(6):
        for run in (plain, exact, sparse):
            accumulate(run, step)
    return {"distance": distance(plain, exact), "steps": sparse.hook.state_dict()["layout"]["steps"],
            "same": same_on_all_ranks(sparse), "moved": distance(sparse, Run())}


class Branches(torch.nn.Module):
    """One of two branches, by rank and step: the other one's parameters are unused there."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.never = small_model(1), small_model(2), small_model(3)
        self.turn = 0

    def forward(self, inputs):
        self.turn += 1
        branch = self.first if (self.turn + dist.get_rank()) % 2 or self.turn % 3 == 0 else self.second
        return branch(inputs)


def case_unused():
    runs = [Run(options, Branches(), find_unused_parameters=True) for options in (None, EXACT, OPTIONS)]
    losses = [run.steps(0, 12) for run in runs]
    return {"distance": distance(runs[0], runs[1]), "same": same_on_all_ranks(runs[2]), "losses": losses,
            "layout": runs[2].hook.state_dict()["layout"]}


def case_layouts():
    """How DDP's ways of making buckets settle."""
    found = {}
    for name, ddp in (("default", {}), ("static", {"static_graph": True}), ("view", {"gradient_as_bucket_view": True}),
                      ("unused", {"find_unused_parameters": True})):
        runs = [Run(options, two_bucket_model(), bucket_cap_mb=0.02, **ddp) for options in (None, EXACT, OPTIONS)]
        for run in runs:
            run.steps(0, 6)
        layout = runs[2].hook.state_dict()["layout"]
        found[name] = {"distance": distance(runs[0], runs[1]), "same": same_on_all_ranks(runs[2]),
                       "buckets": len(layout["buckets"]), "settled": layout["settled"], "steps": layout["steps"],
                       "exact_steps": layout["exact_steps"]}
    return found


def continued(saved_run, hook=None):
    """A new module and DDP with the weights and the hook's state of another run, as after a restart."""
    file = os.path.join(os.environ["OUT"], f"saved{dist.get_rank()}.pt")
    torch.save({"model": saved_run.module.state_dict(), "hook": saved_run.hook.state_dict()}, file)
    saved = torch.load(file)
    model = two_bucket_model(9)
    model.load_state_dict(saved["model"])
    run = Run(None, model, bucket_cap_mb=0.02)
    if hook is None:
        run.hook = attach(run.ddp, **OPTIONS)
        run.hook.load_state_dict(saved["hook"])
    else:
        run.hook = attach(run.ddp, hook)
    return run


def case_resume():
    found = {}
    OPTIONS["scheme"] = "allgather_sparse"  # auto may add in another order in another run
    for name in ("exdyna", "dgc"):
        options = dict(OPTIONS, sparsifier=name)
        OPTIONS["sparsifier"] = name
        whole, first = [Run(options, two_bucket_model(), bucket_cap_mb=0.02) for _ in range(2)]
        whole.steps(0, 9)
        first.steps(0, 5)
        second = continued(first)
        second.steps(5, 9)
        pickled = continued(first, pickle.loads(pickle.dumps(first.hook)))
        pickled.steps(5, 9)
        fresh = Run(None, two_bucket_model(), bucket_cap_mb=0.02)
        fresh.module.load_state_dict(first.module.state_dict())
        fresh.hook = attach(fresh.ddp, **options)
        fresh.steps(5, 9)
        found[name] = {"resumed": distance(whole, second), "pickled": distance(whole, pickled),
                       "without_state": distance(whole, fresh)}
    OPTIONS["sparsifier"] = "exdyna"
    del OPTIONS["scheme"]
    return found


class Words(torch.nn.Module):
    def __init__(self, sparse=True):
        super().__init__()
        torch.manual_seed(5)
        self.table = torch.nn.Embedding(50, 8, sparse=sparse)
        self.out = torch.nn.Linear(8, 1)

    def forward(self, words):
        return self.out(self.table(words).sum(1))


def words_of(step):
    """Repeated rows; ranks other than 0 have none in every third step."""
    if dist.get_rank() > 0 and step % 3 == 0:
        return torch.zeros((4, 0), dtype=torch.int64)
    return torch.randint(0, 20 + step, (4, 6), generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))


def case_embedding():
    """The peer is DDP with dense gradients."""
    runs = [Run(options, Words(sparse=options is not None)) for options in (None, EXACT, dict(OPTIONS, dense_below=99))]
    layouts, farthest = set(), [0.0, 0.0]
    for step in range(9):
        for run in runs:
            run.optimizer.zero_grad()
            (run.ddp(words_of(step)).square().mean() / 20).backward()
        layouts |= {str(run.module.table.weight.grad.layout) for run in runs[1:]}
        dense = [run.module.table.weight.grad.to_dense() for run in runs]
        farthest = [max(far, (dense[0] - other).abs().max().item()) for far, other in zip(farthest, dense[1:])]
        for run in runs:
            run.optimizer.step()
    rows = [bucket for bucket in runs[2].hook.statistics()["buckets"] if bucket["parameters"] == ["table.weight"]]
    return {"layouts": sorted(layouts), "farthest": farthest, "same": same_on_all_ranks(runs[2]), "rows": len(rows),
            "distance": distance(runs[0], runs[1])}


def case_groups():
    """Two modules in turns; then modules on subsets of the ranks, each with a group of its own."""
    first, second, plain = Run(EXACT), Run(EXACT, small_model(2)), Run()
    for step in range(4):
        for run in (first, second, plain):
            run.step(step)
    half = dist.get_world_size() // 2
    groups = [dist.new_group(list(range(half))), dist.new_group(list(range(half, 2 * half)))]
    mine = groups[dist.get_rank() // half]
    pair = [Run(options, process_group=mine) for options in (None, EXACT)]
    for step in range(4):
        for run in pair:
            run.step(step)
    return {"distance": distance(first, plain), "moved": distance(second, Run(None, small_model(2))),
            "subset": distance(*pair), "ranks": list(pair[1].hook._engine.ranks)}


class Bucket:
    """As DDP gives one, for types that gloo and this CPU cannot train with."""

    def __init__(self, parameters, buffer):
        self._parameters, self._buffer = parameters, buffer

    def buffer(self):
        return self._buffer

    def parameters(self):
        return self._parameters

    def index(self):
        return 0

    def is_last(self):
        return True


def case_types():
    """Each rank's gradient is its number + 1, so the mean is (world + 1) / 2."""
    found = {}
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        model = torch.nn.Linear(64, 64).to(kind)
        hook = SparseHook(model, **dict(OPTIONS, density=0.5))
        means = []
        for _ in range(4):
            buffer = torch.full((64 * 64 + 64,), dist.get_rank() + 1, dtype=kind)
            future = hook.reduce(hook, Bucket(list(model.parameters()), buffer))
            means.append(sorted(set(future.wait()[-64:].tolist())))
        found[str(kind)] = means
        hook.close()
    return found


def case_non_finite():
    found = {}
    for choice in ("stop", "skip", "clip"):
        run = Run(dict(OPTIONS, non_finite=choice))
        run.steps(0, 5)
        error = caught(lambda: broken_step(run, 5))
        gradients = torch.cat([value.grad.reshape(-1) for value in run.module.parameters()])
        finite = bool(torch.isfinite(gradients).all())
        biggest = gradients.abs().max().item() if finite else None
        after = run.steps(6, 9)
        found[choice] = {"error": error, "finite": finite, "biggest": biggest, "after": after,
                         "same": same_on_all_ranks(run)}
    return found


def case_different_ranks():
    """Different options, then different names of parameters: an error on every rank; then a good hook works."""
    rank = dist.get_rank()
    options = Run(dict(OPTIONS, density=0.05 if rank == 0 else 0.1))
    first = caught(lambda: options.step(0))
    model = torch.nn.Sequential(torch.nn.Linear(32, 4))
    if rank == 1:
        model = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(32, 4))
    names = Run(OPTIONS, model)
    second = caught(lambda: names.step(0))
    good = Run(OPTIONS)
    return {"options": first, "names": second, "good": good.steps(0, 3), "same": same_on_all_ranks(good)}


def case_edges():
    """Densities 0 and 1, a zero gradient, a bucket of one element."""
    found = {}
    for density in (0.0, 1.0):
        run = Run(dict(OPTIONS, density=density))
        found[str(density)] = run.steps(0, 6)
    zero = Run(OPTIONS)
    for _ in range(5):
        zero.optimizer.zero_grad()
        (zero.loss(0) * 0).backward()
        zero.optimizer.step()
    found["zero"] = [distance(zero, Run()), same_on_all_ranks(zero)]
    one = Run(dict(OPTIONS, rules=[{"match": "*", "sparsifier": "topk"}]), torch.nn.Linear(1, 1, bias=False))
    for _ in range(5):
        one.ddp(torch.full((1, 1), float(dist.get_rank() + 1))).sum().backward()
    found["one"] = one.module.weight.grad.item()
    return found


def case_misuse():
    run = Run(OPTIONS)
    state = dict(run.hook.state_dict(), rank=17)
    unbound = pickle.loads(pickle.dumps(run.hook))
    foreign = Run()
    foreign.ddp.register_comm_hook(None, lambda state, bucket: dist.all_reduce(bucket.buffer(), async_op=True).get_future())
    return {"twice": caught(lambda: attach(run.ddp, **OPTIONS)), "foreign": caught(lambda: attach(foreign.ddp)),
            "no_ddp": caught(lambda: attach(small_model())),
            "option": caught(lambda: SparseHook(None, densty=0.1)),
            "density": caught(lambda: SparseHook(None, density=2)),
            "sparsifier": caught(lambda: SparseHook(small_model(), sparsifier="top_k")),
            "other_rank": caught(lambda: run.hook.load_state_dict(state)),
            "format": caught(lambda: run.hook.load_state_dict({"weights": 1})),
            "unbound": caught(unbound.statistics), "bound": caught(lambda: run.hook.bind(run.ddp)),
            "works": run.steps(0, 2)}


if __name__ == "__main__":
    run_cases(globals())
