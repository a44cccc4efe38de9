# SPDX-License-Identifier: Apache-2.0
"""Puts the hook into scripts that know nothing of it.

DistributedDataParallel gets its hook in its first forward pass with gradients: a script, accelerate or Lightning may
register a hook of its own until then, and theirs stays. Processes that torch.multiprocessing starts are treated alike.
"""

import atexit
import functools
import importlib
import os
import sys
import weakref
from typing import Any, Callable, Mapping

import torch
from torch.nn.parallel import DistributedDataParallel

from tandem.torch.hook import attach

_MARK = "_tandem_injected"
_seen: "weakref.WeakSet[Any]" = weakref.WeakSet()  # modules that have a hook, whoever gave it
_idle = True  # nothing was seen, here or in a process that this one has started


def install(options: Mapping[str, Any]) -> None:
    """Every DistributedDataParallel of this process gets a hook with these options."""
    if getattr(DistributedDataParallel, _MARK, False):
        return
    setattr(DistributedDataParallel, _MARK, True)
    for name in ("register_comm_hook", "_register_builtin_comm_hook"):
        _note_own_hook(name)
    forward = DistributedDataParallel.forward

    def give_hook(ddp: Any) -> None:
        _see(ddp)
        hook = attach(ddp, **options)
        _say(f"hook on DistributedDataParallel({type(ddp.module).__name__}): "
             + ("dense, exact" if hook.options.dense_exact else f"{hook.options.sparsifier}, density {hook.options.density:g}"))

    if hasattr(torch, "compiler"):  # torch.compile() must not look into it
        give_hook = torch.compiler.disable(give_hook)

    @functools.wraps(forward)
    def forward_with_hook(self: Any, *inputs: Any, **keywords: Any) -> Any:
        # Also under no_sync(): Lightning switches to the exchange after the forward pass.
        if torch.is_grad_enabled() and self not in _seen:
            give_hook(self)
        return forward(self, *inputs, **keywords)

    DistributedDataParallel.forward = forward_with_hook
    _follow_spawn(options)
    atexit.register(_say_if_idle)


def _see(ddp: Any) -> None:
    global _idle
    _idle = False
    _seen.add(ddp)


def _say_if_idle() -> None:
    if _idle:
        _say("the script has trained no DistributedDataParallel, so nothing went through Tandem")


def _note_own_hook(name: str) -> None:
    original = getattr(DistributedDataParallel, name)

    @functools.wraps(original)
    def register(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if self not in _seen:
            _see(self)
            _say("the script registers a communication hook of its own, which stays; Tandem's is left out")
        return original(self, *arguments, **keywords)

    setattr(DistributedDataParallel, name, register)


class _Started:
    """What a process of torch.multiprocessing runs: the same patch first. Pickled."""

    def __init__(self, function: "Callable[..., Any]", options: Mapping[str, Any]) -> None:
        self.function, self.options = function, dict(options)

    def __call__(self, *arguments: Any) -> Any:
        install(self.options)
        return self.function(*arguments)


def _follow_spawn(options: Mapping[str, Any]) -> None:
    spawn = importlib.import_module("torch.multiprocessing.spawn")  # the attribute of that name is a function
    original = spawn.start_processes

    @functools.wraps(original)
    def start_processes(fn: "Callable[..., Any]", *arguments: Any, **keywords: Any) -> Any:
        global _idle
        _idle = False
        return original(_Started(fn, options), *arguments, **keywords)

    spawn.start_processes = start_processes
    torch.multiprocessing.start_processes = start_processes


def _say(text: str) -> None:
    """One line, on the first rank."""
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else int(os.environ.get("RANK", "0"))
    if rank == 0:
        print(f"tandem: {text}", file=sys.stderr, flush=True)
