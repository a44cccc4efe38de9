# SPDX-License-Identifier: Apache-2.0
"""The communication hook of DistributedDataParallel.

    tandem.torch.attach(ddp, sparsifier="exdyna", density=0.01)

or, in DDP's own idiom::

    hook = tandem.torch.SparseHook(ddp, sparsifier="exdyna", density=0.01)
    ddp.register_comm_hook(hook, hook.reduce)

Residuals belong to parameters by name and outlive DDP's rebuilding of buckets. See README.md.
"""

import ctypes
import warnings
import weakref
from typing import Any, Dict, Iterable, Optional, Sequence, Tuple, Union

import torch
import torch.distributed as dist

from tandem.errors import TandemError, TransportError
from tandem.torch import backward
from tandem.torch.copies import Copies
from tandem.torch.cut import Cut
from tandem.torch.engine import Engine, Work
from tandem.torch.layout import Layout
from tandem.torch.native import NativeSteps
from tandem.torch.on_device import OnDevice, is_reduced_there
from tandem.torch.options import Options
from tandem.torch.trial import Mode, NonFinite, Trial, all_reduce

Parameters = Union[torch.nn.Module, Iterable[Tuple[str, torch.nn.Parameter]]]
STATE_FORMAT = 1


class SparseHook:
    """Reduces DDP's buckets, sparsified. Making one waits until every rank of `process_group` makes its own.

    `parameters` is the DDP module, the module in it, or its named parameters. None: `bind` comes later.
    `options` are those of Options. Pickling keeps the options and the state, not the connections: `bind` a copy again.
    """

    def __init__(self, parameters: Optional[Parameters] = None, *, process_group: Any = None, **options: Any) -> None:
        self.options = Options.of(options)
        self._process_group = process_group
        self._saved: Optional[Dict[str, Any]] = None
        self._unbind()
        if parameters is not None:
            self.bind(parameters)

    def _unbind(self) -> None:
        self._engine: Optional[Engine] = None
        self._copies: Optional[Copies] = None
        self._layout = Layout()
        self._last_index = -1
        self._names: Dict[int, str] = {}
        self._kept: "list[torch.nn.Parameter]" = []  # ids stay those of living parameters
        self._numbers: Dict[str, int] = {}
        self._trial: Optional[Trial] = None
        self._native: Optional[NativeSteps] = None  # where DDP itself may go on without this hook
        self._warmup_steps = 0
        self._mode = Mode.SPARSE  # of this step
        self._step = 0

    def bind(self, parameters: Parameters) -> "SparseHook":
        """Joins the other ranks, for these parameters. A state that was loaded before goes into the reducer."""
        if self._engine is not None:
            raise TandemError("this hook is bound already: make one hook for each DistributedDataParallel")
        if isinstance(parameters, torch.nn.parallel.DistributedDataParallel):
            self._process_group = self._process_group or parameters.process_group
        named = [(name, value) for name, value in _named(parameters) if value.requires_grad and value.numel() > 0]
        if not named:
            raise TandemError("none of the parameters requires a gradient: there is nothing to reduce")
        engine = Engine(self._process_group, self.options)
        try:
            for name, value in named:
                self._names[id(value)] = name
                self._kept.append(value)
                self._numbers[name] = engine.reducer.add_parameter(name, tuple(value.shape))
        except BaseException:
            engine.close()
            self._unbind()
            raise
        self._engine = engine
        if self.options.tries_dense_steps and len(engine.ranks) > 1:
            self._trial = Trial(self._process_group)
            self._warmup_steps = engine.reducer.statistics()["warmup_steps"]
        engine.end_with(self)
        backward.watch(self)
        self._say_unused_rules()
        if self._saved is not None:
            saved = self._saved
            try:
                self.load_state_dict(saved)
            except BaseException:  # as before bind(): the state stays
                self.close()
                self._saved = saved
                raise
            self._saved = None
        return self

    def _say_unused_rules(self) -> None:
        if self.options.dense_exact or dist.get_rank() != self._bound().ranks[0]:
            return
        for pattern in self.options.unused_rules(self._numbers):
            names = list(self._numbers)
            warnings.warn(f"tandem: the rule for '{pattern}' applies to none of the {len(names)} parameters "
                          f"({', '.join(names[:3])}{', ...' if len(names) > 3 else ''}): it matches no name, or rules before it "
                          "take them", stacklevel=3)

    @staticmethod
    def reduce(state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """What DDP calls for every bucket; `state` is the hook."""
        return state._reduce(bucket)

    def state_dict(self) -> Dict[str, Any]:
        """This rank's residuals and all else that is carried between steps. Every rank saves its own, between steps."""
        if self._engine is None:
            return self._saved or {}
        self._engine.drain()
        self._end_open_step()
        content = self._engine.reducer.state()
        return {"format": STATE_FORMAT, "rank": self._engine.ranks.index(dist.get_rank()),
                "world": len(self._engine.ranks), "options": self.options.as_dict(), "layout": self._layout.state(),
                "pays": self._trial.pays if self._trial is not None else None,
                "reducer": torch.frombuffer(bytearray(content or b"\0"), dtype=torch.uint8)[:len(content)]}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """The inverse, on the rank that saved it, in a run with as many ranks."""
        if not state:
            return
        if state.get("format") != STATE_FORMAT:
            raise TandemError(f"this is not a state of a SparseHook in format {STATE_FORMAT}: it has format "
                              f"{state.get('format')}")
        if self._engine is None:
            self._saved = state
            return
        mine = (self._engine.ranks.index(dist.get_rank()), len(self._engine.ranks))
        if (state["rank"], state["world"]) != mine:
            raise TandemError(f"the state is that of rank {state['rank']} of {state['world']}, and this is rank {mine[0]} "
                              f"of {mine[1]}: residuals belong to a rank; load its own file, or start without one")
        self._engine.drain()
        content = state["reducer"].cpu().contiguous()
        self._engine.reducer.restore(ctypes.string_at(content.data_ptr(), content.numel()))
        self._layout.restore(state["layout"])
        if self._trial is not None:
            self._trial.restore(state.get("pays"))

    def statistics(self) -> Dict[str, Any]:
        """Densities, bytes and seconds per bucket of the latest step, and under "hook" how many steps were exact; see
        README.md."""
        engine = self._bound()
        found = engine.reducer.statistics()
        present = self._layout.present()
        found["buckets"] = [bucket for bucket in found["buckets"] if tuple(bucket["parameters"]) in present]
        if self._trial is not None:
            found["trial"] = self._trial.outcome()
        found["hook"] = {"settled": self._layout.settled, "steps": self._layout.steps,
                         "exact_steps": self._layout.exact_steps}
        return found

    def close(self) -> None:
        """Leaves the group of ranks. The end of the process does it too."""
        if self._engine is not None:
            self._engine.close()
            self._unbind()

    def may_leave(self, ddp: torch.nn.parallel.DistributedDataParallel) -> None:
        """Where the trial of `auto` ends with dense steps, `ddp` makes them without this hook. Nobody else's hook stands
        round this one."""
        if self._trial is not None and self.options.non_finite in (None, "pass"):
            self._native = NativeSteps(ddp, self._layout)

    def take_error(self) -> Optional[Exception]:
        """For the wrapper round backward passes."""
        return self._engine.take_error() if self._engine is not None else None

    def __getstate__(self) -> Dict[str, Any]:
        return {"options": self.options, "saved": self.state_dict() or None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.options, self._saved, self._process_group = state["options"], state["saved"], None
        self._unbind()

    def _bound(self) -> Engine:
        if self._engine is None:
            raise TandemError("this hook is not bound to parameters: call bind(ddp) first, on every rank")
        return self._engine

    def _raise_error(self, first: bool) -> None:
        """An error that no backward pass has raised. Within a step only a lost group stops the hook: the other ranks
        wait for this step's remaining buckets."""
        error = self._bound().error
        if error is not None and (first or isinstance(error, TransportError)):
            found = self.take_error()
            if found is not None:
                raise found

    def _reduce(self, bucket: Any) -> "torch.futures.Future[torch.Tensor]":
        first = self._last_index < 0 or bucket.index() <= self._last_index
        self._raise_error(first)
        if first:
            self._end_open_step()
            self._step = self._layout.steps
        buffer = bucket.buffer()
        pieces = {self._name(value): value.numel() for value in bucket.parameters() if value.numel() > 0}
        if not pieces:
            return self._reduce_nothing(buffer, bucket.is_last())
        names = tuple(pieces)
        parts, exact = self._layout.take(names)
        self._last_index = bucket.index()
        if bucket.is_last():
            self._last_index = -1
            self._layout.end_step()
        if first:
            self._mode = self._mode_of_step(exact, buffer.device)
        if buffer.layout == torch.sparse_coo:
            return self._reduce_rows(names[0], buffer, bucket.is_last())
        if self._mode is Mode.DENSE:
            return self._reduce_densely(bucket)
        return self._reduce_values(buffer, pieces, (parts, self._exactness(exact), bucket.is_last()))

    def _reduce_nothing(self, buffer: torch.Tensor, last: bool) -> "torch.futures.Future[torch.Tensor]":
        """A bucket whose parameters have no values."""
        if last:
            self._end_open_step()
        done: "torch.futures.Future[torch.Tensor]" = torch.futures.Future()
        done.set_result(buffer)
        return done

    def _end_open_step(self) -> None:
        """Where DDP has left out the last bucket of the step before, or its backward pass has failed."""
        if self._layout.open:
            self._bound().end_step()
            self._layout.end_step()
            self._last_index = -1

    def _mode_of_step(self, exact: bool, device: Any) -> Mode:
        if self._trial is None:
            return Mode.SPARSE
        warms_up = self._step < self._warmup_steps
        mode = self._trial.begin_step(not exact and not warms_up, device)
        return Mode.DENSE if warms_up and self.options.warms_up_densely else mode

    def _exactness(self, exact: bool) -> int:
        """The reducer's: 0 for a sparse sum, 1 for an exact one, 2 for one that takes the residuals with it."""
        return 2 if self._mode is Mode.FLUSH else int(exact or self.options.dense_exact)

    def _reduce_densely(self, bucket: Any) -> Any:
        engine = self._bound()
        found = NonFinite(self.options.non_finite or "pass", self._step, self._name)
        mean = all_reduce(bucket, self._process_group, engine.fail, found)
        if bucket.is_last():
            engine.end_step()
        if self._native is not None and self._trial is not None and self._trial.pays is False:
            self._native.begin_with_next_forward()
            self._native = None
        return mean

    def _reduce_values(self, buffer: torch.Tensor, pieces: Dict[str, int], how: "tuple[Any, int, bool]") -> Any:
        engine = self._bound()
        parts, exact, last = how
        there = OnDevice(buffer) if is_reduced_there(buffer) else None
        work = self._work(buffer, there)
        values = buffer
        if buffer.is_cuda and there is None:
            assert self._copies is not None
            values, event = self._copies.out(buffer)
            work.copied = event.synchronize
        cut = Cut(values, pieces, parts, work.stream) if parts != [tuple(pieces)] else None
        kind = str(buffer.dtype).replace("torch.", "")
        for number, part in enumerate(parts):
            work.submits.append(self._submit(part, (cut, number, values), kind, (exact, last and part is parts[-1]),
                                             there.place if there is not None else None))

        def finish(_tickets: Sequence[int]) -> torch.Tensor:
            if cut is not None:
                cut.put_back()
            if values is not buffer:
                self._copies.back(values, buffer)
            return buffer

        work.finish = finish
        return engine.give(work)

    def _submit(self, part: Sequence[str], values_at: "tuple[Any, int, torch.Tensor]", kind: str, flags: Any,
                place: "Optional[tuple[str, int]]") -> Any:
        cut, number, values = values_at
        numbers = [self._numbers[name] for name in part]
        reducer = self._bound().reducer

        def submit() -> int:
            memory = cut.gather(number) if cut is not None else values
            return reducer.submit(numbers, memory.data_ptr(), kind, exact=flags[0], last=flags[1], place=place)
        return submit

    def _reduce_rows(self, name: str, gradient: torch.Tensor, last: bool) -> Any:
        """Rows of an embedding with sparse=True; they may repeat, and there may be none."""
        work = self._work(gradient)
        rows = gradient._indices()[0].to("cpu").contiguous()
        values = gradient._values().to("cpu").contiguous()
        kind = str(values.dtype).replace("torch.", "")
        reducer, number = self._bound().reducer, self._numbers[name]
        work.submits.append(lambda: reducer.submit_rows(number, (rows.data_ptr(), rows.numel()), values.data_ptr(), kind,
                                                        last=last))

        def finish(tickets: Sequence[int]) -> torch.Tensor:
            found = reducer.take_rows(tickets[0])
            try:
                indices = torch.empty(len(found), dtype=torch.int64)
                mean = torch.empty((len(found),) + tuple(gradient.shape[1:]), dtype=values.dtype)
                found.copy(indices.data_ptr(), mean.data_ptr())
            finally:
                found.destroy()
            result = torch.sparse_coo_tensor(indices[None], mean, gradient.shape)
            return result._coalesced_(True).to(gradient.device)

        work.finish = finish
        return self._bound().give(work)

    def _work(self, tensor: torch.Tensor, there: Optional[OnDevice] = None) -> Work:
        if not tensor.is_cuda:
            return Work([], lambda tickets: tensor, torch.futures.Future())
        if there is not None:
            work = Work([], lambda tickets: tensor, torch.futures.Future(devices=[tensor.device]))
            work.stream = there.stream
            return work
        if self._copies is None:
            self._copies = Copies()
            self._bound().start_copies()
        work = Work([], lambda tickets: tensor, torch.futures.Future(devices=[tensor.device]))
        work.stream = self._copies.stream(tensor.device)
        return work

    def _name(self, value: torch.Tensor) -> str:
        name = self._names.get(id(value))
        if name is None:
            raise TandemError(f"DDP reduces a parameter of shape {tuple(value.shape)} that this hook does not know: give "
                              "SparseHook the model that DDP wraps, after its parameters have been replaced")
        return name


reduce = SparseHook.reduce


def attach(ddp: torch.nn.parallel.DistributedDataParallel, hook: Optional[SparseHook] = None,
           **options: Any) -> SparseHook:
    """Gives a DDP module a new SparseHook with these options, or binds `hook`; every rank calls this, before the first
    backward pass."""
    if hook is None:
        hook = SparseHook(None, **options)
    elif options:
        raise TandemError(f"options {', '.join(options)} cannot change a hook that exists: make it with them")
    if not isinstance(ddp, torch.nn.parallel.DistributedDataParallel):
        raise TandemError(f"attach() needs a DistributedDataParallel and got a {type(ddp).__name__}: wrap the model first")
    if ddp in _hooks or getattr(ddp, "_comm_hooks", None):
        raise _second_hook(ddp)
    hook.bind(ddp)
    try:
        ddp.register_comm_hook(hook, SparseHook.reduce)
    except BaseException as error:
        hook.close()
        if isinstance(error, RuntimeError) and "once" in str(error):  # PyTorch 1.13 does not tell before
            raise _second_hook(ddp) from error
        raise
    _hooks[ddp] = hook
    hook.may_leave(ddp)
    return hook


def _second_hook(ddp: Any) -> TandemError:
    whose = "attach() gave it one" if ddp in _hooks else "another was registered"
    return TandemError(f"this DistributedDataParallel has a communication hook already ({whose}) and PyTorch takes one for "
                       "each: use that one, or attach to a new DistributedDataParallel")


_hooks: "weakref.WeakKeyDictionary[Any, SparseHook]" = weakref.WeakKeyDictionary()


def hook_of(ddp: Any) -> Optional[SparseHook]:
    """The hook that attach() gave a module."""
    return _hooks.get(ddp)


def _named(parameters: Parameters) -> "Iterable[Tuple[str, torch.nn.Parameter]]":
    if isinstance(parameters, torch.nn.parallel.DistributedDataParallel):
        parameters = parameters.module
    return parameters.named_parameters() if isinstance(parameters, torch.nn.Module) else parameters
