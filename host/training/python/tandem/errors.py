# SPDX-License-Identifier: Apache-2.0
"""The errors of this package. Their texts say what is wrong, with the numbers, and what to do."""


class TandemError(RuntimeError):
    """A wrong argument, option or state. Every rank gets the same one."""


class TransportError(TandemError):
    """A rank is lost or late. The group of ranks is broken: start the run anew, from a checkpoint."""


class NonFiniteError(TandemError):
    """A gradient has NaN or infinity and the option ``non_finite`` is "stop". Names step, rank and parameter."""
