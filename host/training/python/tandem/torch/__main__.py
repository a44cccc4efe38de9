# SPDX-License-Identifier: Apache-2.0
"""python -m tandem.torch [options] SCRIPT ARGS...: runs a training script with sparse gradients.

The script stays as it is. Works under torchrun, mpirun and srun, which start one such process for each rank.
"""

import os
import runpy
import sys
import types
from typing import Sequence

from tandem import launch
from tandem.errors import TandemError
from tandem.torch import flags
from tandem.torch.inject import install

_NO_RANKS = ("no launcher has set a rank: start the ranks with torchrun, mpirun or srun, or give --rank, --world-size, "
             "--master-addr and --master-port")


def run(script: str, arguments: Sequence[str], module: bool) -> None:
    """As Python would run it: __main__ is the script's."""
    sys.argv = [script, *arguments]
    if module:
        sys.path[0] = os.getcwd()
        runpy.run_module(script, run_name="__main__", alter_sys=True)
        return
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = main  # stays, for what runs at exit
    exec(code, main.__dict__)


def main() -> None:
    given = flags.parse(sys.argv[1:])
    try:
        if not given.module and not os.path.isfile(given.script):
            raise TandemError(f"the script {given.script} is not a file; for a module use -m")
        options = flags.hook_options(given, os.environ)
        found = launch.resolve(os.environ, {name: getattr(given, name) for name in flags.RUN})
    except TandemError as error:
        raise SystemExit(f"tandem: {error}") from None
    said = flags.remarks(options, os.environ)
    if found is None:
        said.append("no launcher has set a rank: one process")
    else:
        launch.export(found, os.environ)
        said.append(found.describe())
    if found is None or found.rank == 0:
        for text in said:
            print(f"tandem: {text}", file=sys.stderr, flush=True)
    install(options)
    try:
        run(given.script, given.arguments, given.module)
    except (KeyError, ValueError) as error:
        if found is None and _asks_for_ranks(error):
            raise SystemExit(f"tandem: {given.script} asks which rank it is, and {_NO_RANKS}") from None
        raise


def _asks_for_ranks(error: Exception) -> bool:
    """Whether init_process_group(), or the script itself, has looked for what a launcher sets."""
    text = str(error)
    return "env://" in text and "not set" in text or text.strip("'") in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")


if __name__ == "__main__":
    main()
