# SPDX-License-Identifier: Apache-2.0
"""Cases of auto_test.py: the trial of the sparsifier auto, with steps that take what a case says."""

import pickle

import torch
import torch.distributed as dist

from tandem.torch import SparseHook, attach
from tandem.torch.trial import PAIRS
from training import OPTIONS, Run, broken_step, caught, distance, run_cases, same_on_all_ranks, small_model

AUTO = dict(OPTIONS, sparsifier="auto")
EXACT_STEPS = 3  # until the buckets have settled
TRIAL_END = EXACT_STEPS + 2 * PAIRS


class Clock:
    """Stands still but for what pass_step() adds."""

    def __init__(self, dense, sparse):
        self.now, self.seconds = 0.0, (dense, sparse)

    def __call__(self):
        return self.now

    def pass_step(self, step):
        self.now += self.seconds[(step - EXACT_STEPS) % 2]


class Paced(Run):
    """A run of auto whose dense and sparse steps take these times."""

    def __init__(self, dense, sparse, ddp=None, **options):
        super().__init__(dict(AUTO, **options), **(ddp or {}))
        self.clock = Clock(dense, sparse)
        self.hook._trial._clock = self.clock

    def steps(self, first, end):
        losses = []
        for step in range(first, end):
            losses.append(self.step(step))
            self.clock.pass_step(step)
        return losses

    def figures(self):
        statistics = self.hook.statistics()
        return {"trial": statistics["trial"], "bytes": statistics["bytes_sent"], "steps": statistics["steps"],
                "residual": statistics["residual_norm"], "same": same_on_all_ranks(self)}


def dense_steps(run, first, end):
    """Plain DDP from the run's weights, and the run itself: how far apart they end."""
    plain = Run(None, small_model())
    plain.module.load_state_dict(run.module.state_dict())
    plain.steps(first, end)
    run.steps(first, end)
    return distance(plain, run)


def case_dense():
    run = Paced(1.0, 2.0)
    run.steps(0, TRIAL_END)
    open_yet = run.figures()
    run.steps(TRIAL_END, TRIAL_END + 1)
    flushed = run.figures()
    apart = dense_steps(run, TRIAL_END + 1, TRIAL_END + 5)
    return {"open": open_yet, "flushed": flushed, "later": run.figures(), "apart": apart}


def hooked_steps(**how):
    """A run of auto whose dense steps have won: how many of the four steps after the first of those the hook made."""
    ddp, options = {}, dict(AUTO)
    for name, value in how.items():
        (options if name == "non_finite" else ddp)[name] = value
    # Without unused parameters buckets settle a step later, and the turns change.
    dense, sparse = (2.0, 1.0) if "find_unused_parameters" in how else (1.0, 2.0)
    run = Paced(dense, sparse, ddp=ddp, **options)
    run.steps(0, TRIAL_END + 2)
    before = run.figures()["steps"]
    apart = dense_steps(run, TRIAL_END + 2, TRIAL_END + 6)
    with run.ddp.no_sync():
        run.loss(0).backward()
    run.steps(TRIAL_END + 6, TRIAL_END + 8)
    return {"hooked": run.figures()["steps"] - before, "apart": apart, "same": same_on_all_ranks(run)}


def case_without_hook():
    found = {name: hooked_steps(**{name: True}) for name in ("gradient_as_bucket_view", "find_unused_parameters")}
    return dict(found, plain=hooked_steps(), kept_reducer=kept_reducer(), in_backward=forward_in_backward())


def case_hook_stays():
    return {"non_finite": hooked_steps(non_finite="skip"), "own": own_hook_around()}


def own_hook_around():
    """A script's own hook round ours is not taken off."""
    calls = []
    run = Run(None)
    run.hook = SparseHook(run.ddp, **AUTO)
    run.hook._trial._clock = Clock(1.0, 2.0)

    def count(state, bucket):
        calls.append(bucket.index())
        return state.reduce(state, bucket)

    run.ddp.register_comm_hook(run.hook, count)
    for step in range(TRIAL_END + 6):
        run.step(step)
        run.hook._trial._clock.pass_step(step)
    return len(calls)


def kept_reducer():
    """Somebody who keeps DDP's reducer keeps the hook too: two reducers would both reduce."""
    run = Paced(1.0, 2.0)
    kept = run.ddp.reducer
    run.steps(0, TRIAL_END + 4)
    return {"same_reducer": kept is run.ddp.reducer, "same": same_on_all_ranks(run)}


def forward_in_backward():
    """A forward pass between two buckets of a step, as recomputation makes one, changes nothing yet."""
    run = Paced(1.0, 2.0)
    run.steps(0, TRIAL_END + 1)
    run.step(TRIAL_END + 1)
    reducer = id(run.ddp.reducer)  # a reference would keep it
    run.hook._layout.take(run.hook._layout._before[0])
    run.ddp(torch.zeros(1, 32))
    during = reducer == id(run.ddp.reducer)
    run.hook._layout._current = []
    with torch.no_grad():
        run.ddp(torch.zeros(1, 32))
    evaluated = reducer == id(run.ddp.reducer)
    run.steps(TRIAL_END + 2, TRIAL_END + 4)
    return {"during": during, "evaluated": evaluated, "later": reducer == id(run.ddp.reducer), "same": same_on_all_ranks(run)}


def case_sparse():
    run = Paced(2.0, 1.0)
    run.steps(0, TRIAL_END + 4)
    return {"later": run.figures(), "apart": dense_steps(run, TRIAL_END + 4, TRIAL_END + 6)}


def case_ranks():
    """The slowest rank's times count."""
    run = Paced(1.0, 0.1 if dist.get_rank() == 0 else 1.5)
    run.steps(0, TRIAL_END + 2)
    return {"later": run.figures()}


def case_non_finite():
    found = {}
    for choice in ("stop", "skip", None):
        run = Paced(1.0, 2.0, non_finite=choice)
        run.steps(0, TRIAL_END + 2)
        error = caught(lambda: broken_step(run, TRIAL_END + 2))
        finite = all(bool(torch.isfinite(value.grad).all()) for value in run.module.parameters())
        after = run.steps(TRIAL_END + 3, TRIAL_END + 6)
        found[str(choice)] = {"error": error, "finite": finite, "after": after, "same": same_on_all_ranks(run)}
    return found


def case_state():
    """The outcome goes on, in a state and in a pickle, and without a trial."""
    found = []
    for dense, sparse in ((1.0, 2.0), (2.0, 1.0)):
        run = Paced(dense, sparse)
        run.steps(0, TRIAL_END + 2)
        resumed, pickled = Run(AUTO), Run(None)
        resumed.hook.load_state_dict(run.hook.state_dict())
        pickled.hook = attach(pickled.ddp, pickle.loads(pickle.dumps(run.hook)))
        for other in (resumed, pickled):
            other.steps(0, 4)
        found.append([other.hook.statistics()["trial"]["outcome"] for other in (run, resumed, pickled)])
    return {"outcomes": found}


def case_warmup():
    """At a low density DDP's own steps come before the trial."""
    run = Run(dict(AUTO, density=0.0099))
    steps = run.hook._warmup_steps
    apart = dense_steps(run, 0, steps)
    found = {"steps": steps, "apart": apart, "bytes": run.hook.statistics()["bytes_sent"]}
    run.steps(steps, steps + 2)
    gradual = Run(dict(AUTO, density=0.0099, warmup_density=0.25))
    gradual.steps(0, 5)
    return dict(found, later_bytes=run.hook.statistics()["bytes_sent"], gradual_bytes=gradual.hook.statistics()["bytes_sent"],
                trial=len(run.hook._trial._begins), same=same_on_all_ranks(run))


def case_rules():
    """With rules the library's own dense sum takes part."""
    run = Run(dict(AUTO, rules=[{"match": "0.*", "sparsifier": "topk", "density": 0.5}]))
    run.steps(0, TRIAL_END + 3)
    statistics = run.hook.statistics()
    return {"outcome": statistics["trial"]["outcome"], "calls": sum(one["calls"] for one in statistics["buckets"]),
            "same": same_on_all_ranks(run)}


if __name__ == "__main__":
    run_cases(globals())
