# SPDX-License-Identifier: Apache-2.0
"""Trains until rank 1 is killed, stops, leaves early or never comes; prints how the others end."""

import os
import signal
import sys
import time

import torch.distributed as dist

from training import OPTIONS, Run, start


def fail(fault, run):
    if fault == "leave":
        sys.exit(0)
    if fault == "kill_inside":  # the first layer's gradient is the last one: other buckets are on their way
        run.module[0].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
    else:
        os.kill(os.getpid(), signal.SIGKILL if fault == "kill" else signal.SIGSTOP)


def train(fault, timeout):
    run = Run(dict(OPTIONS, timeout_s=timeout), bucket_cap_mb=0.02)
    print("trains", flush=True)
    steps = 10**6 if fault == "interrupt" else 200
    for step in range(steps):
        if step == 6 and dist.get_rank() == 1 and fault != "interrupt":
            fail(fault, run)
        run.begun = time.monotonic()
        try:
            run.optimizer.zero_grad()
            run.loss(step).backward()
            run.optimizer.step()
        except Exception as error:
            print(f"ended {type(error).__name__} {time.monotonic() - run.begun:.1f} s: {error}", flush=True)
            try:
                run.loss(0).backward()
            except Exception as error:
                print(f"again {type(error).__name__}", flush=True)
            os._exit(3)


def main():
    fault, timeout = sys.argv[1], float(sys.argv[2])
    start()
    if fault == "absent" and dist.get_rank() == 1:
        Run(None, bucket_cap_mb=0.02)  # a module without a hook
        time.sleep(3600)
    print("starts", flush=True)
    train(fault, timeout)


if __name__ == "__main__":
    main()
