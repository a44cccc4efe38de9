# SPDX-License-Identifier: Apache-2.0
"""The communicator of a hook and its threads.

A thread of its own waits for the calls in their order and completes futures. It never uses PyTorch's process groups, so
it cannot cross with what DDP sends there. With tensors of a GPU a second thread waits for their copies and then queues
the calls, in the order in which they were given; once it exists, all calls go through it. No thread keeps anything of its
owner between calls, so an owner that nobody holds is collected, and its engine ends.
"""

import atexit
import contextlib
import os
import queue
import threading
import weakref
from typing import Any, Callable, Optional, Sequence

import torch

from tandem._library import Reducer
from tandem.errors import TandemError, TransportError
from tandem.torch.options import Options
from tandem.torch.rendezvous import make_group, ranks_of

_engines: "weakref.WeakSet[Engine]" = weakref.WeakSet()
Submit = Callable[[], int]


class Work:
    """Calls that make up one future. `finish` gives the tensor after the last one."""

    def __init__(self, submits: Sequence[Submit], finish: "Callable[[Sequence[int]], torch.Tensor]",
                 future: "torch.futures.Future[torch.Tensor]") -> None:
        self.submits, self.finish, self.future = submits, finish, future
        self.copied: Optional[Callable[[], None]] = None  # waits until the values are in host memory
        self.stream: Any = None  # current while `finish` runs and the future is completed
        self.tickets: "list[int]" = []
        self.error: Optional[Exception] = None

    def submit(self) -> None:
        """Queues the calls. An error is kept for the future."""
        try:
            if self.copied is not None:
                self.copied()
            for submit in self.submits:
                self.tickets.append(submit())
        except Exception as error:
            self.error = error


class Engine:
    """Opening one waits until every rank of `process_group` opens its own. `synchronous`: the caller waits for each call."""

    def __init__(self, process_group: Any, options: Options, synchronous: bool = False) -> None:
        self.ranks = ranks_of(process_group)
        self._group = make_group(process_group, options)
        try:
            hidden_until = "wait" if synchronous else "last"
            self.reducer = Reducer(self._group, dict(options.reducer(), hidden_until=hidden_until))
        except BaseException:
            self._group.destroy()
            raise
        self._lock = threading.Lock()
        self._in_flight = 0
        self._idle = threading.Condition(self._lock)
        self.error: Optional[Exception] = None  # the first one that has not been raised
        self._waiting: "queue.SimpleQueue[Optional[Work]]" = queue.SimpleQueue()
        self._copying: "Optional[queue.SimpleQueue[Optional[Work]]]" = None
        self._threads: "list[threading.Thread]" = []
        self._closed = False
        self._process = os.getpid()
        self._start("tandem-wait", self._wait_for_all)
        _engines.add(self)

    def end_with(self, owner: Any) -> None:
        """Closes this engine once nobody holds `owner` any more."""
        weakref.finalize(owner, self.begin_close).atexit = False  # _close_all() waits for the threads

    def start_copies(self) -> None:
        """From now on calls are queued by a second thread, after their copies."""
        if self._copying is None:
            self._copying = queue.SimpleQueue()
            self._start("tandem-copy", self._submit_all)

    def give(self, work: Work) -> "torch.futures.Future[torch.Tensor]":
        """Queues the work; its future."""
        with self._lock:
            self._in_flight += 1
        if self._copying is not None:
            self._copying.put(work)
        else:
            work.submit()
            self._waiting.put(work)
        return work.future

    def run(self, submit: Submit) -> None:
        """One call, now: waits for it and raises its error with its type."""
        self.drain()
        self.reducer.wait(submit())

    def drain(self) -> None:
        """Waits until nothing is in flight."""
        with self._idle:
            self._idle.wait_for(lambda: self._in_flight == 0)

    def abort(self, reason: str) -> None:
        """Ends all waits, here and soon on the other ranks."""
        self._group.abort(reason)

    def end_step(self) -> None:
        """Ends a step whose last call was not known when it was given."""
        self.drain()
        self.reducer.end_step()

    def close(self) -> None:
        """Ends the threads and leaves the group. With calls in flight, the other ranks are told that this one ended."""
        self.begin_close()
        if os.getpid() != self._process:  # a forked child has none of the threads
            return
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def begin_close(self) -> None:
        """close() without waiting, for whatever thread collects garbage: the last thread leaves the group."""
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        if self._in_flight > 0:
            self.abort(f"rank {torch.distributed.get_rank() if torch.distributed.is_initialized() else '?'} ended "
                       "while gradients were in flight")
        (self._waiting if self._copying is None else self._copying).put(None)

    def take_error(self) -> Optional[Exception]:
        """The error to raise; that of a broken group is given every time."""
        with self._idle:
            if self.error is not None and not isinstance(self.error, TransportError):
                # The step's other calls may fail for the same reason: that is no error of the next step.
                self._idle.wait_for(lambda: self._in_flight == 0)
            error = self.error
            if not isinstance(error, TransportError):
                self.error = None
            return error if error is None else _without_frames(error)

    def _start(self, name: str, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _submit_all(self) -> None:
        assert self._copying is not None
        while self._pass_on(self._copying.get()):
            pass
        self._waiting.put(None)

    def _pass_on(self, work: Optional[Work]) -> bool:
        if work is not None:
            work.submit()
            self._waiting.put(work)
        return work is not None

    def _wait_for_all(self) -> None:
        while self._complete(self._waiting.get()):
            pass
        self.reducer.destroy()
        self._group.destroy()

    def _complete(self, work: Optional[Work]) -> bool:
        if work is None:
            return False
        result, error = None, work.error
        for ticket in work.tickets:  # all of them: a later call must not outlive its values
            try:
                self.reducer.wait(ticket)
            except Exception as failure:
                error = error or failure
        with torch.cuda.stream(work.stream) if work.stream is not None else contextlib.nullcontext():
            try:
                result = work.finish(work.tickets) if error is None else None
            except Exception as failure:
                error = failure
            self._note(error)
            if error is not None:
                work.future.set_exception(TandemError(f"{type(error).__name__}: {error}"))
            else:
                work.future.set_result(result)
        return True

    def fail(self, error: Exception) -> None:
        """An error of a step that the library has not seen."""
        with self._idle:
            self.error = self.error or _without_frames(error)

    def _note(self, error: Optional[Exception]) -> None:
        with self._idle:
            self._in_flight -= 1
            if error is not None and (self.error is None or isinstance(error, TransportError)):
                self.error = _without_frames(error)
            self._idle.notify_all()


def _without_frames(error: Exception) -> Exception:
    """A copy: the frames of a traceback would keep gradients and hooks alive."""
    try:
        return type(error)(*error.args)
    except Exception:  # a type with arguments of its own
        return TandemError(f"{type(error).__name__}: {error}")


@atexit.register
def _close_all() -> None:
    for engine in list(_engines):
        engine.close()
