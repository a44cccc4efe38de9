# SPDX-License-Identifier: Apache-2.0
"""Trains until rank 1 is killed, stops, or leaves early; prints how the others end."""

import os
import signal
import sys
import time

import torch.distributed as dist

from training import OPTIONS, Run, start


def main():
    fault, timeout = sys.argv[1], float(sys.argv[2])
    start()
    run = Run(dict(OPTIONS, timeout_s=timeout), bucket_cap_mb=0.02)
    begun = time.monotonic()
    try:
        for step in range(200):
            if step == 6 and dist.get_rank() == 1:
                if fault == "leave":
                    sys.exit(0)
                os.kill(os.getpid(), signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
            begun = time.monotonic()
            run.optimizer.zero_grad()
            run.loss(step).backward()
            run.optimizer.step()
    except Exception as error:
        print(f"ended {type(error).__name__} {time.monotonic() - begun:.1f} s: {error}", flush=True)
        try:
            run.loss(0).backward()
        except Exception as error:
            print(f"again {type(error).__name__}", flush=True)
        os._exit(3)


if __name__ == "__main__":
    main()
