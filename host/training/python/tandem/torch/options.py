# SPDX-License-Identifier: Apache-2.0
"""The options of a hook: how gradients are made sparse, and how ranks find each other."""

import dataclasses
import difflib
from typing import Any, Mapping, Optional, Sequence

from tandem.errors import TandemError


@dataclasses.dataclass(frozen=True)
class Options:
    """README.md explains each one. None leaves the choice to the library."""

    sparsifier: str = "auto"
    density: float = 0.01
    scheme: Optional[str] = None
    wire: Optional[str] = None
    dense_below: Optional[int] = None
    dense_vectors: Optional[bool] = None
    warmup_steps: Optional[int] = None
    warmup_density: Optional[float] = None
    non_finite: Optional[str] = None
    seed: Optional[int] = None
    threads: Optional[int] = None
    timeout_s: float = 60.0
    rules: Sequence[Mapping[str, Any]] = ()
    algorithm: Optional[Mapping[str, Any]] = None
    timeline: Optional[str] = None
    log_every: Optional[int] = None
    dense_exact: bool = False
    transport: str = "gloo"
    interface: Optional[str] = None
    address: Optional[str] = None
    store_directory: Optional[str] = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Options":
        """From keyword arguments; names that do not exist are errors."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise TandemError(f"there is no option '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")
                                  + f" The options are {', '.join(known)}")
        options = cls(**given)
        options._check()
        return options

    def _check(self) -> None:
        if not 0 <= float(self.density) <= 1:
            raise TandemError(f"density {self.density} must be between 0 (nothing is sent) and 1 (everything)")
        if not float(self.timeout_s) > 0:
            raise TandemError(f"timeout_s {self.timeout_s} must be more than 0 seconds")

    def reducer(self) -> "dict[str, Any]":
        """The library's options of a reducer."""
        names = ("sparsifier", "density", "scheme", "wire", "dense_below", "dense_vectors", "warmup_steps",
                 "warmup_density", "non_finite", "seed", "threads", "timeout_s", "timeline", "log_every")
        chosen = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.rules:
            chosen["rules"] = [dict(rule) for rule in self.rules]
        chosen.update(self.algorithm or {})
        if self.dense_exact:
            chosen.update(sparsifier="dense", rules=[], wire="f32")
        return chosen

    def as_dict(self) -> "dict[str, Any]":
        """Plain values, for a checkpoint."""
        return dict(dataclasses.asdict(self), rules=[dict(rule) for rule in self.rules])
