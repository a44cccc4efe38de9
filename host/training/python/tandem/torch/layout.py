# SPDX-License-Identifier: Apache-2.0
"""Which parameters DDP puts together, and whether that has settled.

DDP builds its buckets anew after the first step (static_graph: the second; find_unused_parameters: never) and may leave out
those that no rank has used. A step is exact until the step before it had the buckets of the one before that. After a checkpoint, buckets that DDP has not
built anew yet are cut into those of the checkpoint, so that a resumed run repeats what an unbroken one does.
"""

from typing import Any, Mapping, Sequence


class Layout:
    """Follows the buckets of one DDP module. Not thread-safe: the backward pass is one thread."""

    def __init__(self) -> None:
        self.settled = False
        self.steps = 0
        self.exact_steps = 0
        self._before: "list[tuple[str, ...]]" = []
        self._current: "list[tuple[str, ...]]" = []
        self._current_exact = False

    @property
    def open(self) -> bool:
        """Whether a step has begun that has not ended."""
        return bool(self._current)

    def take(self, names: "tuple[str, ...]") -> "tuple[list[tuple[str, ...]], bool]":
        """The buckets to reduce for DDP's bucket of `names`, and whether they are reduced exactly."""
        parts = self._cut(names) if self.settled else [names]
        if not parts:
            self.settled, parts = False, [names]
        exact = not self.settled
        self._current_exact = self._current_exact or exact
        self._current += parts
        return parts, exact

    def end_step(self) -> None:
        """After the last bucket of a step."""
        known = set(self._before)
        placed = {name for bucket in known for name in bucket}
        fresh = [bucket for bucket in self._current if bucket not in known]
        # DDP may leave buckets out of a step, so a new bucket is a new layout only where it takes another one's parameters.
        self.settled = bool(known) and all(placed.isdisjoint(bucket) for bucket in fresh)
        self._before = (self._before if self.settled else []) + (fresh if self.settled else self._current)
        self.steps += 1
        self.exact_steps += self._current_exact
        self._current, self._current_exact = [], False

    def present(self) -> "set[tuple[str, ...]]":
        """The buckets of this step so far; between steps those that there are."""
        return set(self._current or self._before)

    def _cut(self, names: "tuple[str, ...]") -> "list[tuple[str, ...]]":
        """`names` as buckets of the step before, in whatever order; empty if they do not make up exactly those names."""
        if names in self._before:
            return [names]
        wanted = set(names)
        parts = [bucket for bucket in self._before if wanted.issuperset(bucket)]
        return parts if sum(map(len, parts)) == len(wanted) else []

    def state(self) -> "dict[str, Any]":
        """Call between steps."""
        return {"settled": self.settled, "steps": self.steps, "exact_steps": self.exact_steps,
                "buckets": [list(bucket) for bucket in self._before]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of state()."""
        buckets: "Sequence[Sequence[str]]" = state["buckets"]
        self.settled, self.steps, self.exact_steps = state["settled"], state["steps"], state["exact_steps"]
        self._before, self._current, self._current_exact = [tuple(bucket) for bucket in buckets], [], False
