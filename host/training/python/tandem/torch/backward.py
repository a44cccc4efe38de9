# SPDX-License-Identifier: Apache-2.0
"""Re-raises a hook's error with its type.

PyTorch turns the exception of a hook's future into a RuntimeError that says "Unable to cast ... to Tensor". The wrapper
round torch.autograd.backward (Tensor.backward calls it) raises the error behind it instead.
"""

import functools
import weakref
from typing import Any, Protocol

import torch


class Failing(Protocol):
    """Something whose error may have ended a backward pass."""

    def take_error(self) -> "Exception | None":
        """The error to raise; a group's end stays, another one is given once."""


_watched: "weakref.WeakSet[Any]" = weakref.WeakSet()


def watch(failing: Failing) -> None:
    """From now on backward passes raise the errors of `failing`."""
    _watched.add(failing)
    original = torch.autograd.backward
    if getattr(original, "tandem_wrapper", False):
        return

    @functools.wraps(original)
    def backward(*arguments: Any, **options: Any) -> Any:
        try:
            return original(*arguments, **options)
        except RuntimeError as error:
            for watched in list(_watched):
                found = watched.take_error()
                if found is not None and found is not error:
                    raise found from error
            raise

    backward.tandem_wrapper = True  # type: ignore[attr-defined]
    torch.autograd.backward = backward
