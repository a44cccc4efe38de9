# SPDX-License-Identifier: Apache-2.0
"""Sparse gradients for FSDP.

FSDP2 (`fully_shard`): SparseAllReduce makes the exchange between hosts sparse, where each host shards the model within
itself (the faster way); SparseReduceScatter replaces the reduce-scatter of a model that is sharded over all ranks: a
sparse all-reduce of which every rank keeps its shard. FSDP1: `flat_hook`. Residuals belong to positions of a module's
flat gradient, which FSDP never rearranges. These hooks are synchronous, since FSDP's are.
"""

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
        self._engine = Engine(process_group, self.options)
        self._numbers: Dict[str, "tuple[int, int]"] = {}
        self.rank, self.world = self._engine.ranks.index(torch.distributed.get_rank()), len(self._engine.ranks)
        backward.watch(self)

    def mean(self, name: str, values: torch.Tensor, last: bool = False) -> None:
        """Replaces the values by their mean over ranks."""
        number = self._number_of(name, values.numel())
        there = OnDevice(values) if is_reduced_there(values) else None
        in_place = there is not None or (values.device.type == "cpu" and values.is_contiguous())
        memory = values if in_place else values.to("cpu").contiguous()
        kind = str(values.dtype).replace("torch.", "")
        self._engine.run(lambda: self._engine.reducer.submit([number], memory.data_ptr(), kind, last=last,
                                                             exact=self.options.dense_exact,
                                                             place=there.place if there is not None else None))
        if memory is not values:
            values.copy_(memory.view_as(values))

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

    def __init__(self, reducer: FlatReducer, name: str, last: bool = False) -> None:
        self._reducer, self._name, self._last = reducer, name, last

    def __call__(self, reduce_output: torch.Tensor) -> None:
        self._reducer.mean(self._name, reduce_output, self._last)


class SparseReduceScatter:
    """For FSDPModule.set_custom_reduce_scatter."""

    def __init__(self, reducer: FlatReducer, name: str, last: bool = False) -> None:
        self._reducer, self._name, self._last = reducer, name, last

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Ordinary memory."""
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any, op: Any,
                 async_op: bool = False) -> None:
        self._reducer.mean(self._name, input_tensor, self._last)
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
        last = module is modules[0][1]  # the root's gradients come last
        if between is not None:
            module.set_all_reduce_hook(SparseAllReduce(reducer, name, last))
        else:
            module.set_custom_reduce_scatter(SparseReduceScatter(reducer, name, last))
    return reducer


class FlatState(FlatReducer):
    """For FSDP1: ``model.register_comm_hook(tandem.torch.FlatState(model, density=0.01), tandem.torch.flat_hook)``.

    FSDP1 does not say whose gradient it gives. Its units come in the same order in every backward pass.
    """

    def __init__(self, model: Any, process_group: Any = None, **options: Any) -> None:
        super().__init__(process_group, **options)
        self.units = max(1, sum(1 for module in model.modules() if getattr(module, "_handle", None) is not None
                                or getattr(module, "_handles", None)))
        self._calls = 0

    def next_unit(self) -> int:
        """Which unit the next gradient belongs to, counted in the order of the backward pass."""
        self._calls += 1
        return (self._calls - 1) % self.units


def flat_hook(state: FlatState, gradient: torch.Tensor, output: Optional[torch.Tensor] = None) -> None:
    """FSDP1's communication hook: the mean, and this rank's shard of it where the model is sharded."""
    unit = state.next_unit()
    state.mean(f"flat.{unit}", gradient, unit == state.units - 1)
    if output is not None:
        output.copy_(gradient.view(state.world, -1)[state.rank].view_as(output))
