# SPDX-License-Identifier: Apache-2.0
"""python -m tandem.torch [options] SCRIPT ARGS...: runs a training script with sparse gradients.

The script stays as it is. Works under torchrun, mpirun and srun, which start one such process for each rank.
"""

import argparse
import json
import os
import runpy
import sys
import types
from typing import Any, Mapping, Sequence

from tandem import launch
from tandem.errors import TandemError
from tandem.torch.inject import install
from tandem.torch.options import Options

_RUN = ("rank", "world", "local_rank", "local_world", "address", "port")


def parser() -> argparse.ArgumentParser:
    """The launcher's options."""
    made = argparse.ArgumentParser(prog="python -m tandem.torch", allow_abbrev=False, description=__doc__.split("\n")[0],
                                   epilog="Each option of the hook can also be set as TANDEM_<OPTION>, for example "
                                          "TANDEM_DENSITY=0.001; flags win.")
    hook = made.add_argument_group("hook")
    hook.add_argument("--sparsifier", help="exdyna, micro, deft, dgc, topk, ...; auto: exdyna where a trial shows that it pays, else dense (auto)")
    hook.add_argument("--density", type=float, help="fraction of the gradients that is sent (0.01)")
    hook.add_argument("--dense-exact", action="store_const", const=True, help="send everything: DDP's own results")
    hook.add_argument("--scheme", help="how the ranks exchange values (auto)")
    hook.add_argument("--wire", choices=("f32", "f16", "bf16"), help="type of the values on the network (f32)")
    hook.add_argument("--dense-below", type=int, help="smaller parameters are sent whole")
    hook.add_argument("--warmup-steps", type=int, help="steps until the density is reached")
    hook.add_argument("--warmup-density", type=float, help="density at the first of these steps")
    hook.add_argument("--non-finite", choices=("stop", "skip", "clip", "pass"), help="at NaN or infinity in a gradient (stop)")
    hook.add_argument("--rules", type=json.loads, help='JSON: [{"match": "*.bias", "sparsifier": "dense"}]')
    hook.add_argument("--seed", type=int, help="of sparsifiers that draw")
    hook.add_argument("--threads", type=int, help="that select, on each rank (1)")
    hook.add_argument("--timeout-s", type=float, help="until a silent rank counts as lost (60)")
    hook.add_argument("--interface", help="network interface on which ranks listen")
    hook.add_argument("--listen", help="address on which this rank listens")
    hook.add_argument("--store-directory", help="folder in which ranks meet, instead of PyTorch's store")
    ranks = made.add_argument_group("ranks, where no launcher tells them")
    ranks.add_argument("--rank", type=int)
    ranks.add_argument("--world-size", dest="world", type=int)
    ranks.add_argument("--local-rank", type=int)
    ranks.add_argument("--local-world-size", dest="local_world", type=int)
    ranks.add_argument("--master-addr", dest="address")
    ranks.add_argument("--master-port", dest="port", type=int)
    made.add_argument("-m", "--module", action="store_true", help="SCRIPT is the name of a module")
    made.add_argument("script", metavar="SCRIPT")
    made.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER)
    return made


_HOOK = ("sparsifier", "density", "dense_exact", "scheme", "wire", "dense_below", "warmup_steps", "warmup_density",
         "non_finite", "rules", "seed", "threads", "timeout_s", "interface", "store_directory")


def hook_options(given: argparse.Namespace, environment: Mapping[str, str]) -> "dict[str, Any]":
    """From flags and, where a flag is missing, TANDEM_*."""
    chosen = {name: getattr(given, name) for name in _HOOK if getattr(given, name) is not None}
    if given.listen is not None:
        chosen["address"] = given.listen
    for name in _HOOK:
        text = environment.get("TANDEM_" + name.upper())
        if text and name not in chosen:
            chosen[name] = _value_of(name, text)
    Options.of(chosen)  # says now what is wrong
    return chosen


def _value_of(name: str, text: str) -> Any:
    kinds = {"density": float, "warmup_density": float, "timeout_s": float, "dense_below": int, "warmup_steps": int,
             "seed": int, "threads": int, "rules": json.loads,
             "dense_exact": lambda value: value.lower() not in ("0", "false", "no")}
    try:
        return kinds.get(name, str)(text)  # type: ignore[operator]
    except ValueError:
        raise TandemError(f"TANDEM_{name.upper()}={text} of the environment cannot be read: see --help") from None


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
    given = parser().parse_args()
    try:
        if not given.module and not os.path.isfile(given.script):
            raise TandemError(f"the script {given.script} is not a file; for a module use -m")
        options = hook_options(given, os.environ)
        found = launch.resolve(os.environ, {name: getattr(given, name) for name in _RUN})
        if found is not None:
            launch.export(found, os.environ)
            if found.rank == 0:
                print(found.describe(), file=sys.stderr, flush=True)
        else:
            print("tandem: no launcher has set a rank: one process; start ranks with torchrun, mpirun or srun",
                  file=sys.stderr, flush=True)
    except TandemError as error:
        raise SystemExit(f"tandem: {error}") from None
    install(options)
    run(given.script, given.arguments, given.module)


if __name__ == "__main__":
    main()
