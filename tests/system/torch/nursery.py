# SPDX-License-Identifier: Apache-2.0
"""A Python that has imported PyTorch once and forks the processes of the tests: each import costs most of a second.

Orders come by line: {"words": ["script.py", ...] or ["-m", "module", ...], "cwd", "environment", "output"}. Answers by line:
{"started": pid}, and later {"ended": pid, "status": as subprocess has it}. A process is as one that `python WORDS` has started.
"""

import json
import os
import runpy
import select
import sys

import torch.distributed
import torch.nn.parallel  # noqa: F401


def tell(**what):
    os.write(1, (json.dumps(what) + "\n").encode())


def reap():
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        tell(ended=pid, status=os.waitstatus_to_exitcode(status))


def become(order):
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    return order["words"]


def next_words():
    """In the parent: serves until its input ends. In a child: what it is to run."""
    rest = b""
    while True:
        if select.select([0], [], [], 0.02)[0]:
            found = os.read(0, 1 << 16)
            if not found:
                os._exit(0)
            *lines, rest = (rest + found).split(b"\n")
            for line in lines:
                pid = os.fork()
                if pid == 0:
                    return become(json.loads(line))
                tell(started=pid)
        reap()


words = next_words()
if words[0] == "-m":
    sys.path[0] = os.getcwd()
    sys.argv = words[1:]
    runpy.run_module(words[1], run_name="__main__", alter_sys=True)
else:
    sys.path[0] = os.path.dirname(words[0])
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")
