# SPDX-License-Identifier: Apache-2.0
"""Whether sparsifying pays on these ranks and links: what the sparsifier `auto` asks.

Steps take turns: DDP's own all-reduce, sparse. A step's time is that between its first bucket and the next step's; the
first pair does not count. Then the ranks exchange their medians, and the slowest rank's count, so all ranks decide
alike. Where dense steps win, one step sends what the sparse ones kept back, and the others are DDP's own.
"""

import enum
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, Optional

import torch
import torch.distributed as dist

from tandem.errors import NonFiniteError, TandemError

PAIRS = 9
GAIN = 0.97  # of the dense step's time; above, sparse does not pay


class Mode(enum.Enum):
    """How the buckets of a step are reduced."""

    DENSE = 0  # by DDP's own group
    SPARSE = 1
    FLUSH = 2  # densely, with the residuals


class Trial:
    """Of one hook. Not thread-safe: the backward pass is one thread."""

    def __init__(self, process_group: Any, clock: Callable[[], float] = time.perf_counter) -> None:
        self._group, self._clock = process_group, clock
        self._begins: List[float] = []
        self.pays: Optional[bool] = None
        self.seconds = [0.0, 0.0]  # of a dense and of a sparse step

    def begin_step(self, counts: bool, device: Any) -> Mode:
        """The mode of the step that begins. `counts`: False for a step that is exact or of the warm-up."""
        if self.pays is not None:
            return Mode.SPARSE if self.pays or not counts else Mode.DENSE
        if not counts:
            self._begins.clear()
            return Mode.SPARSE
        self._begins.append(self._clock())
        done = len(self._begins) - 1
        if done < 2 * PAIRS:
            return Mode.SPARSE if done % 2 else Mode.DENSE
        self._decide(device)
        return Mode.SPARSE if self.pays else Mode.FLUSH

    def _decide(self, device: Any) -> None:
        times = [after - begin for begin, after in zip(self._begins, self._begins[1:])][2:]
        medians = torch.tensor([statistics.median(times[0::2]), statistics.median(times[1::2])], device=device)
        dist.all_reduce(medians, dist.ReduceOp.MAX, group=self._group)
        self.seconds = medians.tolist()
        self.pays = self.seconds[1] <= GAIN * self.seconds[0]
        if dist.get_rank(self._group) == 0:
            print(f"tandem: steps take {self.seconds[0] * 1e3:.3g} ms dense and {self.seconds[1] * 1e3:.3g} ms sparse: "
                  f"gradients {'are sparsified' if self.pays else 'stay dense'} from now on", file=sys.stderr, flush=True)

    def outcome(self) -> Dict[str, Any]:
        """As the library's statistics have it."""
        name = "open" if self.pays is None else "sparse" if self.pays else "dense"
        return {"outcome": name, "dense_step_seconds": self.seconds[0], "sparse_step_seconds": self.seconds[1]}

    def restore(self, pays: Optional[bool]) -> None:
        """The outcome of a saved hook; None: the trial begins anew."""
        self.pays = pays
        self._begins.clear()


def all_reduce(bucket: Any, group: Any, fail: Callable[[Exception], None], found: "NonFinite") -> Any:
    """The mean over the ranks of a bucket, by DDP's own group."""
    buffer = bucket.buffer()
    sum_of_shares = dist.all_reduce(buffer.div_(dist.get_world_size(group)), group=group, async_op=True).get_future()

    def finish(future: Any) -> torch.Tensor:
        mean = future.value()[0]
        try:
            found.look(mean, bucket)
        except TandemError as error:
            fail(error)
            raise
        return mean

    return sum_of_shares.then(finish)


class NonFinite:
    """What a NaN or an infinity of a mean does. Every rank has the same mean."""

    def __init__(self, policy: str, step: int, name_of: Callable[[torch.Tensor], str]) -> None:
        self._policy, self._step, self._name_of = policy, step, name_of

    def look(self, mean: torch.Tensor, bucket: Any) -> None:
        """Raises, zeroes or leaves it."""
        if self._policy == "pass" or torch.isfinite(mean.sum()) or torch.isfinite(mean).all():
            return
        if self._policy == "skip":
            mean.zero_()
            return
        place = int((~torch.isfinite(mean)).nonzero()[0])
        for value in bucket.parameters():
            if place < value.numel():
                raise NonFiniteError(f"step {self._step}: the gradient of {self._name_of(value)} has a NaN or an infinity on some "
                                     "rank; lower the learning rate, or set non_finite to skip, clip or pass")
            place -= value.numel()
