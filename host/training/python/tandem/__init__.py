# SPDX-License-Identifier: Apache-2.0
"""Tandem for Python: gradients of data-parallel training, sparsified on their way between ranks.

``tandem.torch`` is for PyTorch. This module needs no PyTorch: it has the errors, and ``library_path()``.
"""

from tandem._library import Group, Reducer, library_path
from tandem.errors import NonFiniteError, TandemError, TransportError

__version__ = "0.1.0"
__all__ = ["Group", "NonFiniteError", "Reducer", "TandemError", "TransportError", "library_path"]
