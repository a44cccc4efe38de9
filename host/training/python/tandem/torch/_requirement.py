# SPDX-License-Identifier: Apache-2.0
"""What tandem.torch needs of PyTorch, said in one sentence where it is missing."""

import re
import sys

OLDEST = (1, 13)


def complaint() -> "str | None":
    """What is wrong with the PyTorch of this Python; None if nothing is."""
    try:
        import torch
    except ImportError as error:
        return (f"tandem.torch needs PyTorch 1.13 or newer, which {sys.executable} cannot import ({error}): install it, "
                "for example with 'apt install python3-torch' or 'pip install torch'")
    numbers = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST:
        return f"tandem.torch needs PyTorch 1.13 or newer and found {torch.__version__}: install a newer one"
    if not torch.distributed.is_available():
        return f"tandem.torch needs torch.distributed, which this PyTorch {torch.__version__} was built without"
    return None


def require() -> None:
    """Raises ImportError with the complaint; ends `python -m tandem.torch` with it."""
    text = complaint()
    if text is not None and sys.argv[:1] == ["-m"]:  # Python looks for the module to run
        raise SystemExit(text)
    if text is not None:
        raise ImportError(text)
