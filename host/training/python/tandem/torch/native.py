# SPDX-License-Identifier: Apache-2.0
"""DDP's own steps, without a communication hook.

With any hook, gradients are divided by the number of ranks in a pass of their own; without one, DDP divides while it
copies them into a bucket. PyTorch cannot take a hook off again, but it belongs to the reducer that a module holds, and
unpickling a module makes a new reducer. This does the same, in a module that goes on.
"""

import sys
import weakref
from typing import Any

import torch

from tandem.torch.layout import Layout

_PARTS = ("_build_params_for_reducer", "_build_debug_param_to_name_mapping", "_ddp_init_helper")
# What a new reducer would not know.
_STATES = ("static_graph", "mixed_precision", "_use_python_reducer", "_delay_all_reduce_params",
           "_require_manual_backward_finalization")


class NativeSteps:
    """Of one module, whose hook's buckets `layout` follows. Every rank begins with the same step."""

    def __init__(self, ddp: Any, layout: Layout) -> None:
        self._ddp, self._layout = weakref.ref(ddp), layout

    def begin_with_next_forward(self) -> None:
        """Within a backward pass. Modules for which that is not possible keep the hook."""
        ddp = self._ddp()
        if ddp is None or not _can_begin(ddp):
            return
        handle: Any = None

        def begin(module: Any, _inputs: Any) -> None:
            if torch.is_grad_enabled() and not self._layout.open:  # open: a forward pass within a backward pass
                handle.remove()
                _renew_reducer(module)

        if hasattr(torch, "compiler"):  # torch.compile() must not look into it
            begin = torch.compiler.disable(begin)
        handle = ddp.register_forward_pre_hook(begin)


def _can_begin(ddp: Any) -> bool:
    return all(hasattr(ddp, part) for part in _PARTS) and not any(getattr(ddp, state, None) for state in _STATES)


def _renew_reducer(ddp: Any) -> None:
    if sys.getrefcount(ddp.reducer) > 2:  # somebody keeps the old one, which would go on reducing too
        return
    parameters, is_sparse = ddp._build_params_for_reducer()
    names = ddp._build_debug_param_to_name_mapping(parameters)
    ddp._ddp_init_helper(parameters, is_sparse, names, False)
