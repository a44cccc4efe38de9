# SPDX-License-Identifier: Apache-2.0
"""Gradients of a GPU, copied through page-locked host memory on a stream of their own.

The stream waits for the gradient's kernels, copies out, and records an event; the copying thread waits for the event and
queues the call; the waiting thread copies back and completes the future while the stream is current (Work.stream), so
that DDP's streams wait for the copy and the host does not.
"""

import threading
from typing import Any

import torch


class Copies:
    """Host memory and one stream per device. A buffer is used again when the stream has copied it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: "dict[tuple[torch.device, int, torch.dtype], list[torch.Tensor]]" = {}
        self._streams: "dict[torch.device, Any]" = {}

    def stream(self, device: torch.device) -> Any:
        """The stream of `device`."""
        with self._lock:
            if device not in self._streams:
                self._streams[device] = torch.cuda.Stream(device=device)
            return self._streams[device]

    def out(self, tensor: torch.Tensor) -> "tuple[torch.Tensor, Any]":
        """The tensor's values in host memory, and the event after which they are there."""
        stream = self.stream(tensor.device)
        stream.wait_stream(torch.cuda.current_stream(tensor.device))
        host = self._take((tensor.device, tensor.numel(), tensor.dtype))
        with torch.cuda.stream(stream):
            host.copy_(tensor, non_blocking=True)
            event = torch.cuda.Event()
            event.record(stream)
        tensor.record_stream(stream)
        return host, event

    def back(self, host: torch.Tensor, tensor: torch.Tensor) -> None:
        """Copies back. The caller's stream must be stream(): what it enqueues next comes after the copy."""
        tensor.copy_(host, non_blocking=True)
        # Copies of one stream run in their order: a new copy into this memory comes after this one.
        with self._lock:
            self._free.setdefault((tensor.device, host.numel(), host.dtype), []).append(host)

    def _take(self, key: "tuple[torch.device, int, torch.dtype]") -> torch.Tensor:
        with self._lock:
            free = self._free.get(key, [])
            return free.pop() if free else torch.empty(key[1], dtype=key[2], pin_memory=True)
