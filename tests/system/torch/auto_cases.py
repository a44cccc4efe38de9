# SPDX-License-Identifier: Apache-2.0
"""Cases of auto_test.py: the trial of the sparsifier auto, with steps that take what a case says."""

import pickle

import torch
import torch.distributed as dist

from tandem.torch import attach
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

    def __init__(self, dense, sparse, **options):
        super().__init__(dict(AUTO, **options))
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


def case_rules():
    """With rules the library's own dense sum takes part."""
    run = Run(dict(AUTO, rules=[{"match": "0.*", "sparsifier": "topk", "density": 0.5}]))
    run.steps(0, TRIAL_END + 3)
    statistics = run.hook.statistics()
    return {"outcome": statistics["trial"]["outcome"], "calls": sum(one["calls"] for one in statistics["buckets"]),
            "same": same_on_all_ranks(run)}


if __name__ == "__main__":
    run_cases(globals())
