# SPDX-License-Identifier: Apache-2.0
"""Gradients of a GPU that are reduced where they lie, by a library that was built with CUDA.

The library waits for a stream of the bucket's own, which waits for the kernels that were queued before the hook was
called. When a ticket is done, so is all work on the values.
"""

import functools

import torch

from tandem import _library


def name_of(device: torch.device) -> str:
    """As the library calls it: "cuda:0"."""
    return f"cuda:{device.index or 0}"


@functools.lru_cache(maxsize=None)
def _reduces_on(name: str) -> bool:
    return _library.reduces_on(name)


def is_reduced_there(tensor: torch.Tensor) -> bool:
    """Whether the library takes this tensor as it is."""
    return tensor.is_cuda and tensor.is_contiguous() and _reduces_on(name_of(tensor.device))


class OnDevice:
    """A tensor that the library works on."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.stream = torch.cuda.Stream(device=tensor.device)
        self.stream.wait_stream(torch.cuda.current_stream(tensor.device))
        tensor.record_stream(self.stream)
        self.place = (name_of(tensor.device), self.stream.cuda_stream)
