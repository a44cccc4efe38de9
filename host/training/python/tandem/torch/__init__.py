# SPDX-License-Identifier: Apache-2.0
"""Sparse gradients for PyTorch's data parallelism: a communication hook and a launcher for unmodified scripts.

Three lines in a script::

    import tandem.torch
    model = torch.nn.parallel.DistributedDataParallel(model)
    tandem.torch.attach(model, sparsifier="exdyna", density=0.01)

None in a script: ``torchrun ... -m tandem.torch --sparsifier exdyna --density 0.01 SCRIPT``.
"""

from tandem.errors import NonFiniteError, TandemError, TransportError
from tandem.torch._requirement import require

require()

from tandem.torch.fsdp import (FlatReducer, FlatState, SparseAllReduce, SparseReduceScatter,  # noqa: E402
                               attach_fsdp, flat_hook)
from tandem.torch.hook import SparseHook, attach, reduce  # noqa: E402
from tandem.torch.options import Options  # noqa: E402

__all__ = ["FlatReducer", "FlatState", "NonFiniteError", "Options", "SparseAllReduce", "SparseHook",
           "SparseReduceScatter", "TandemError", "TransportError", "attach", "attach_fsdp", "flat_hook", "reduce"]
