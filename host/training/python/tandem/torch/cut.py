# SPDX-License-Identifier: Apache-2.0
"""A bucket of DDP's, cut into other buckets."""

import contextlib
from typing import Any, Dict, Sequence

import torch


class Cut:
    """A bucket's values as several buckets: those of a checkpoint, while DDP has not built its own anew."""

    def __init__(self, values: torch.Tensor, sizes: Dict[str, int], parts: Sequence[Sequence[str]],
                 stream: Any = None) -> None:
        offsets, offset = {}, 0
        for name, size in sizes.items():
            offsets[name], offset = values[offset:offset + size], offset + size
        self._views = [[offsets[name] for name in part] for part in parts]
        self._gathered: "Dict[int, torch.Tensor]" = {}
        self._stream = stream if values.is_cuda else None

    def gather(self, number: int) -> torch.Tensor:
        with torch.cuda.stream(self._stream) if self._stream is not None else contextlib.nullcontext():
            self._gathered[number] = torch.cat(self._views[number])
        return self._gathered[number]

    def put_back(self) -> None:
        for number, gathered in self._gathered.items():
            offset = 0
            for view in self._views[number]:
                view.copy_(gathered[offset:offset + view.numel()])
                offset += view.numel()
