# SPDX-License-Identifier: Apache-2.0
"""Sparse gradients for FSDP.

FSDP2 (`fully_shard`): SparseAllReduce makes the exchange between hosts sparse, where each host shards the model within
itself (the faster way); SparseReduceScatter replaces the reduce-scatter of a model that is sharded over all ranks: a
sparse all-reduce of which every rank keeps its shard. FSDP1: `flat_hook`. Residuals belong to positions of a module's
flat gradient, which FSDP never rearranges. These hooks are synchronous, since FSDP's are. A step ends with its backward
pass: which module comes last depends on what is frozen and used.
"""

import contextlib
import functools
import weakref
from typing import Any, Dict, Optional, Sequence

import torch

from tandem.errors import TandemError
from tandem.torch import backward
from tandem.torch.engine import Engine
from tandem.torch.on_device import OnDevice, is_reduced_there
from tandem.torch.options import Options


class FlatReducer:
    """Means of flat gradients, each known by a name that stays. Made on every rank of `process_group` at once."""

    def __init__(self, process_group: Any = None, **options: Any) -> None:
        self.options = Options.of(options)
        self._engine = Engine(process_group, self.options, synchronous=True)
        self._numbers: Dict[str, "tuple[int, int]"] = {}
        self._step_open = False
        self.rank, self.world = self._engine.ranks.index(torch.distributed.get_rank()), len(self._engine.ranks)
        self._engine.end_with(self)
        backward.watch(self)

    def mean(self, name: str, values: torch.Tensor) -> None:
        """Replaces the values by their mean over ranks. end_step() ends the step."""
        number = self._number_of(name, values.numel())
        there = OnDevice(values) if is_reduced_there(values) else None
        in_place = there is not None or (values.device.type == "cpu" and values.is_contiguous())
        memory = values if in_place else values.to("cpu").contiguous()
        kind = str(values.dtype).replace("torch.", "")
        self._step_open = True
        self._engine.run(lambda: self._engine.reducer.submit([number], memory.data_ptr(), kind, last=False,
                                                             exact=self.options.dense_exact,
                                                             place=there.place if there is not None else None))
        if memory is not values:
            values.copy_(memory.view_as(values))

    def mean_in_backward(self, name: str, values: torch.Tensor) -> None:
        """mean(); the end of the backward pass that calls this ends the step."""
        self.mean(name, values)
        # FSDP's own callback, which may reduce more modules, was queued before this one.
        with contextlib.suppress(RuntimeError):  # outside of a backward pass: the caller ends the step
            torch.autograd.Variable._execution_engine.queue_callback(self.end_step)

    def end_step(self) -> None:
        """Ends the step, if anything was reduced in it. Sends nothing."""
        if self._step_open:
            self._step_open = False
            self._engine.end_step()

    def take_error(self) -> Optional[Exception]:
        """For the wrapper round backward passes; calls here raise at once, so there is none."""
        return self._engine.take_error()

    def statistics(self) -> Dict[str, Any]:
        """As SparseHook.statistics()."""
        return self._engine.reducer.statistics()

    def state(self) -> bytes:
        """This rank's residuals. Call between steps."""
        return self._engine.reducer.state()

    def restore(self, state: bytes) -> None:
        """The inverse of state()."""
        self._engine.reducer.restore(state)

    def close(self) -> None:
        """Leaves the group of ranks."""
        self._engine.close()

    def _number_of(self, name: str, size: int) -> int:
        known = self._numbers.get(name)
        if known is None:
            known = self._numbers[name] = (self._engine.reducer.add_parameter(name, (1, size)), size)  # a vector would be dense
        if known[1] != size:
            raise TandemError(f"the flat gradient of {name} has {size} elements and had {known[1]}: the model was "
                              "sharded anew; make a new hook")
        return known[0]


class SparseAllReduce:
    """For FSDPModule.set_all_reduce_hook: means of shards between hosts, over ranks that hold the same shard."""

    def __init__(self, reducer: FlatReducer, name: str) -> None:
        self._reducer, self._name = reducer, name

    def __call__(self, reduce_output: torch.Tensor) -> None:
        self._reducer.mean_in_backward(self._name, reduce_output)


class SparseReduceScatter:
    """For FSDPModule.set_custom_reduce_scatter."""

    def __init__(self, reducer: FlatReducer, name: str) -> None:
        self._reducer, self._name = reducer, name

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Ordinary memory."""
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any, op: Any,
                 async_op: bool = False) -> None:
        self._reducer.mean_in_backward(self._name, input_tensor)
        shard = input_tensor.view(group.size(), -1)[group.rank()]
        output_tensor.copy_(shard.view_as(output_tensor))
        if op == torch.distributed.ReduceOp.SUM:
            output_tensor.mul_(group.size())
        elif op != torch.distributed.ReduceOp.AVG:
            raise TandemError(f"FSDP asks for the reduction {op}: only sums and means can be sparse; leave out "
                              "set_gradient_divide_factor")


def attach_fsdp(model: Any, *, between: Any = None, within: Any = None, **options: Any) -> FlatReducer:
    """Gives all FSDP modules of `model` sparse hooks; every rank calls this, before the first backward pass.

    `between`: the process group of the ranks that hold the same shard, one on each host; shards are made within a host.
    `within`: the process group over which the model is sharded. Give one of the two.
    """
    if (between is None) == (within is None):
        raise TandemError("attach_fsdp() needs one of between= (ranks with the same shard) and within= (ranks of one model)")
    modules = [(name or "root", module) for name, module in model.named_modules()
               if hasattr(module, "set_all_reduce_hook")]
    if not modules:
        raise TandemError(f"{type(model).__name__} has no FSDP2 module: call torch.distributed.fsdp.fully_shard on it first "
                          "(PyTorch 2.6 or newer)")
    reducer = FlatReducer(between if between is not None else within, **options)
    for name, module in modules:
        if between is not None:
            module.set_all_reduce_hook(SparseAllReduce(reducer, name))
        else:
            module.set_custom_reduce_scatter(SparseReduceScatter(reducer, name))
    return reducer


class FlatState(FlatReducer):
    """For FSDP1: ``model.register_comm_hook(tandem.torch.FlatState(model, density=0.01), tandem.torch.flat_hook)``.

    FSDP1 does not say whose gradient it gives. A hook on each unit's flat parameter does: it runs just before.
    """

    def __init__(self, model: Any, process_group: Any = None, **options: Any) -> None:
        super().__init__(process_group, **options)
        self._unit: Optional[str] = None
        self._known: "set[int]" = set()
        self._kept: "list[torch.Tensor]" = []  # ids stay those of living parameters
        model.register_forward_pre_hook(self._follow)

    def take_unit(self) -> str:
        """The unit whose gradient FSDP gives now."""
        unit, self._unit = self._unit, None
        if unit is None:
            raise TandemError("FSDP reduces a gradient of a unit that this FlatState does not know: make it with the root "
                              "module, on which register_comm_hook() is called")
        return unit

    def _follow(self, model: Any, _inputs: Any) -> None:
        """Before each forward pass, since parameters may have been frozen or thawed since the last one."""
        for name, module in model.named_modules():
            handles = getattr(module, "_handles", None) or [getattr(module, "_handle", None)]  # PyTorch 1.13: a list
            for number, handle in enumerate(handles):
                parameter = getattr(handle, "flat_param", None)
                if parameter is None or not parameter.requires_grad or id(parameter) in self._known:
                    continue
                unit = name.replace("_fsdp_wrapped_module.", "").replace("_fsdp_wrapped_module", "") or "root"
                # A strong reference from a tensor to the state would keep both for ever.
                parameter.register_hook(functools.partial(_arrives, weakref.ref(self),
                                                          unit if number == 0 else f"{unit}.{number}"))
                self._known.add(id(parameter))
                self._kept.append(parameter)

    def arrives(self, unit: str) -> None:
        """The gradient that FSDP gives next is this unit's."""
        self._unit = unit


def _arrives(state: "weakref.ref[FlatState]", unit: str, _gradient: torch.Tensor) -> None:
    living = state()
    if living is not None:
        living.arrives(unit)


def flat_hook(state: FlatState, gradient: torch.Tensor, output: Optional[torch.Tensor] = None) -> None:
    """FSDP1's communication hook: the mean, and this rank's shard of it where the model is sharded."""
    state.mean_in_backward(state.take_unit(), gradient)
    if output is not None:
        output.copy_(gradient.view(state.world, -1)[state.rank].view_as(output))
