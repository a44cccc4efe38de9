# SPDX-License-Identifier: Apache-2.0
"""torch.optim.AdamW as the peer of bench_host_optimizer: a step for every line it reads.

    optimizer_peer.py VALUES THREADS

The first line out names the version and the form: fused where this PyTorch has it for the CPU, else foreach; or says why
there is none. Every further line has the seconds of a step on one parameter of VALUES values, and of a step with the copy of
the weights in bf16 that its users make behind it: PyTorch's optimizer writes none.
"""

import json
import sys
import time


def optimizer_of(torch, parameter):
    """The fastest form that this version has on the CPU, and its name."""
    for form in ("fused", "foreach"):
        try:
            optimizer = torch.optim.AdamW([parameter], lr=1e-3, **{form: True})
            optimizer.step()
            return optimizer, form
        except (TypeError, RuntimeError):
            continue
    return torch.optim.AdamW([parameter], lr=1e-3), "loop"


def main():
    values, threads = int(sys.argv[1]), int(sys.argv[2])
    try:
        import torch
    except ImportError as error:
        print(json.dumps({"absent": str(error)}), flush=True)
        return
    torch.set_num_threads(threads)
    parameter = torch.nn.Parameter(torch.rand(values))
    parameter.grad = torch.rand(values) * 1e-3
    optimizer, form = optimizer_of(torch, parameter)
    print(json.dumps({"torch": torch.__version__, "form": form}), flush=True)
    narrow = torch.zeros(values, dtype=torch.bfloat16)
    for _ in sys.stdin:
        begin = time.perf_counter()
        optimizer.step()
        alone = time.perf_counter() - begin
        begin = time.perf_counter()
        optimizer.step()
        with torch.no_grad():
            narrow.copy_(parameter)
        print(alone, time.perf_counter() - begin, flush=True)


main()
