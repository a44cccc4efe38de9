# SPDX-License-Identifier: Apache-2.0
"""The options of a hook: how gradients are made sparse, and how ranks find each other."""

import dataclasses
import difflib
import fnmatch
import json
from typing import Any, Iterable, Mapping, Optional, Sequence

from tandem._library import check_options
from tandem.errors import TandemError

# What dense_exact leaves without effect.
OVERRULED = ("sparsifier", "density", "scheme", "wire", "dense_below", "dense_vectors", "warmup_steps", "warmup_density",
             "rules", "algorithm")


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
                raise TandemError(f"there is no option '{name}'{did_you_mean(name, known)} The options are "
                                  f"{', '.join(known)}")
        options = cls(**dict(given, rules=_rules(given.get("rules"))))
        options._check()
        return options

    def _check(self) -> None:
        if not 0 <= _number("density", self.density) <= 1:
            raise TandemError(f"density {self.density} must be between 0 (nothing is sent) and 1 (everything)")
        if not _number("timeout_s", self.timeout_s) > 0:
            raise TandemError(f"timeout_s {self.timeout_s} must be more than 0 seconds")
        if self.algorithm is not None and not isinstance(self.algorithm, Mapping):
            raise TandemError(f'algorithm is {self.algorithm!r} and must be a dict of constants, {{"momentum": 0.9}}')

    @property
    def tries_dense_steps(self) -> bool:
        """Whether DDP's own all-reduce takes part in the trial of `auto`; else the library's dense sum does."""
        return self.sparsifier == "auto" and not self.dense_exact and not self.rules and self.non_finite != "clip"

    @property
    def warms_up_densely(self) -> bool:
        """Of the steps of the warm-up with `auto`."""
        return self.warmup_density is None or self.warmup_density >= 1

    def check_all(self) -> None:
        """Asks the library too, which knows the names of sparsifiers and schemes. Needs no other rank."""
        check_options(self.reducer())

    def unused_rules(self, names: Iterable[str]) -> "list[str]":
        """Patterns of rules that are the first to match none of the parameters."""
        waiting, unused = list(names), []
        for rule in self.rules:
            pattern = str(rule["match"]).replace("[^", "[!")  # the library's globs know both
            matched = [name for name in waiting if fnmatch.fnmatchcase(name, pattern)]
            waiting = [name for name in waiting if name not in matched]
            if not matched:
                unused.append(str(rule["match"]))
        return unused

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
        elif self.tries_dense_steps:
            chosen.update(sparsifier="exdyna")
            if self.warmup_steps is None:
                chosen.setdefault("warmup_density", 1.0)  # the library's for `auto`
        return chosen

    def as_dict(self) -> "dict[str, Any]":
        """Plain values, for a checkpoint."""
        return dict(dataclasses.asdict(self), rules=[dict(rule) for rule in self.rules])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a name that is not known."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else "."


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TandemError(f"{name} is {value!r} and must be a number") from None


def _rules(given: Any) -> "tuple[dict[str, Any], ...]":
    """A list of rules as it is, a dict from patterns as rules in its order."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        if isinstance(given.get("match"), str):  # one rule
            given = [given]
        else:
            given = [{"match": pattern, **({"sparsifier": rule} if isinstance(rule, str) else _mapping(rule))}
                     for pattern, rule in given.items()]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _no_rules(given)
    rules = tuple(dict(_mapping(rule)) for rule in given)
    for rule in rules:
        if not isinstance(rule.get("match"), str):
            raise _no_rules(rule)
    return rules


def _mapping(rule: Any) -> Mapping[str, Any]:
    if not isinstance(rule, Mapping):
        raise _no_rules(rule)
    return rule


def _no_rules(given: Any) -> TandemError:
    text = repr(given)
    example = {"match": "embed*", "sparsifier": "topk", "density": 0.001}
    return TandemError(f"rules cannot be {text[:77] + '...' if len(text) > 80 else text}: give a list such as "
                       f"[{json.dumps(example)}], or a dict from patterns of names such as "
                       '{"embed*": {"density": 0.001}, "*.head": "dense"}; the first that matches applies')
