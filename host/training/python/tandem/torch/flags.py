# SPDX-License-Identifier: Apache-2.0
"""The launcher's command line, and the same options from TANDEM_* of the environment. Flags win."""

import argparse
import difflib
import json
from typing import Any, Callable, Mapping, NoReturn, Sequence

from tandem.errors import TandemError
from tandem.torch.options import OVERRULED, Options, did_you_mean

RUN = ("rank", "world", "local_rank", "local_world", "address", "port")
# Variables of Tandem that are no options of the launcher.
_OTHERS = ("TANDEM_TRAINING_LIBRARY", "TANDEM_TORCH_PYTHON", "TANDEM_BINARY_DIR", "TANDEM_TEST_REQUIRE", "TANDEM_XCLBIN")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from None


def _truth(text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in known:
        raise argparse.ArgumentTypeError(f"{text!r} is neither yes nor no")
    return known[text.lower()]


# Option of the hook: how its text is read, metavar, help. Each is a flag and a variable.
_HOOK: "dict[str, tuple[Callable[[str], Any], str, str]]" = {
    "sparsifier": (str, "NAME", "which entries are sent (auto); see below"),
    "density": (float, "D", "share of the gradients that is sent, 0 to 1 (0.01)"),
    "dense_exact": (_truth, "", "send everything: DDP's own results; overrules --sparsifier, --density and the like"),
    "scheme": (str, "NAME", "how the ranks exchange values (auto)"),
    "wire": (str, "TYPE", "type of the values on the network: f32, f16, bf16 (f32)"),
    "dense_below": (int, "N", "parameters with fewer values are sent whole (16384)"),
    "dense_vectors": (_truth, "YES", "whether parameters of one dimension are sent whole (yes)"),
    "warmup_steps": (int, "N", "steps until the density is reached (0; 1 / density below a density of 1 %)"),
    "warmup_density": (float, "D", "density at the first of these steps; 1: dense"),
    "non_finite": (str, "WHAT", "at NaN or infinity in a gradient: stop, skip, clip, pass (stop)"),
    "rules": (_json, "JSON", """'{"embed*": {"density": 0.001}, "*.head": "dense"}': other options for the
                              parameters whose name matches; the first match applies"""),
    "algorithm": (_json, "JSON", """constants of the sparsifier, '{"momentum": 0.9}'"""),
    "seed": (int, "N", "of sparsifiers that draw (1)"),
    "threads": (int, "N", "that select, on each rank (1)"),
    "timeout_s": (float, "S", "until a silent rank counts as lost (60)"),
    "timeline": (str, "FILE", "a trace of every exchange, with .RANK behind the name"),
    "log_every": (int, "N", "steps between two log lines"),
    "transport": (str, "NAME", "gloo or mpi (gloo)"),
    "interface": (str, "NAME", "network interface on which ranks listen"),
    "listen": (str, "ADDRESS", "address on which this rank listens"),
    "store_directory": (str, "DIR", "folder in which ranks meet, instead of PyTorch's store"),
}
_EPILOG = """\
sparsifiers:
  exdyna, micro    own part of the gradient each, a threshold that follows the density; cost falls with the ranks
  deft             own layers each, exact top entries; cost falls with the ranks
  topk, cltk       the largest entries, exactly: of all ranks; of one rank in turn
  dgc, sidco, gaussiank, redsync, ok_topk, hard_threshold   estimated or given thresholds, each rank its own entries
  chunk_topk       the largest of every 4096, packed into 14 bits
  randomk          drawn places, a control; dense, rows: everything, exactly

Each option of the hook is also read from TANDEM_<OPTION>, such as TANDEM_DENSITY=0.001 or TANDEM_LISTEN; flags win.
The first that speaks tells the ranks: the flags above, torchrun, mpirun (OMPI_*, PMI_*), srun (SLURM_*), LWS_*.

  torchrun --nproc_per_node 2 -m tandem.torch --sparsifier micro --density 0.01 train.py --epochs 3
  mpirun -np 2 python -m tandem.torch --dense-exact -m my.module
"""


class _Parser(argparse.ArgumentParser):
    """Says which option a mistyped one may mean."""

    given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        if "required" in message:  # SCRIPT may be missing because a flag was not understood
            self.refuse_unknown([text for text in self.given if text.startswith("--")])
        super().error(message)

    def refuse_unknown(self, flags: Sequence[str]) -> None:
        known = [text for text in self._option_string_actions if text.startswith("--")]
        for flag in flags:
            name = flag.split("=")[0]
            if name not in known:
                super().error(f"there is no option {name}{did_you_mean(name, known)} Options of the script come after SCRIPT")


def parser() -> _Parser:
    """The launcher's options."""
    made = _Parser(prog="python -m tandem.torch", allow_abbrev=False, epilog=_EPILOG,
                   formatter_class=argparse.RawDescriptionHelpFormatter,
                   description="Runs a training script with sparse gradients: every DistributedDataParallel gets Tandem's hook.")
    hook = made.add_argument_group("hook")
    for name, (kind, metavar, text) in _HOOK.items():
        flag = "--" + name.replace("_", "-")
        if name == "dense_exact":
            hook.add_argument(flag, action="store_const", const=True, help=text)
        else:
            hook.add_argument(flag, type=kind, metavar=metavar, help=" ".join(text.split()).replace("%", "%%"))
    ranks = made.add_argument_group("ranks, where no launcher tells them")
    for flag, target, kind in (("--rank", "rank", int), ("--world-size", "world", int), ("--local-rank", "local_rank", int),
                               ("--local-world-size", "local_world", int), ("--master-addr", "address", str),
                               ("--master-port", "port", int)):
        ranks.add_argument(flag, dest=target, type=kind, metavar="N" if kind is int else "HOST")
    made.add_argument("-m", "--module", action="store_true", help="SCRIPT is the name of a module")
    made.add_argument("script", metavar="SCRIPT")
    made.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="of the script")
    return made


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Ends the program with a sentence where they are wrong."""
    made = parser()
    made.given = arguments
    given, unknown = made.parse_known_args(arguments)
    made.refuse_unknown(unknown)
    if unknown:
        made.error(f"unrecognized arguments: {' '.join(unknown)}")
    return given


def hook_options(given: argparse.Namespace, environment: Mapping[str, str]) -> "dict[str, Any]":
    """From flags and, where a flag is missing, TANDEM_*. Says now what is wrong with them."""
    chosen = {name: getattr(given, name) for name in _HOOK if getattr(given, name) is not None}
    for name, (kind, _, _) in _HOOK.items():
        text = environment.get(_variable(name))
        if text and name not in chosen:
            chosen[name] = _read(name, text, kind)
    if "listen" in chosen:
        chosen["address"] = chosen.pop("listen")
    Options.of(chosen).check_all()
    return chosen


def remarks(options: Mapping[str, Any], environment: Mapping[str, str]) -> "list[str]":
    """What a user should know: options that have no effect, and variables that nobody reads."""
    said = []
    if options.get("dense_exact"):
        idle = [name.replace("_", "-") for name in OVERRULED if name in options]
        if idle:
            said.append(f"dense-exact wins: everything is sent, and {', '.join(idle)} "
                        f"{'has' if len(idle) == 1 else 'have'} no effect")
    known = [_variable(name) for name in _HOOK]
    for name in environment:
        if name.startswith("TANDEM_") and name not in known and name not in _OTHERS:
            near = difflib.get_close_matches(name, known, 1, 0.75)
            said.append(f"the environment's {name} is not an option and has no effect"
                        + (f"; did you mean {near[0]}?" if near else ""))
    return said


def _variable(name: str) -> str:
    return "TANDEM_" + name.upper()


def _read(name: str, text: str, kind: "Callable[[str], Any]") -> Any:
    try:
        return kind(text)
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise TandemError(f"{_variable(name)}={text} of the environment cannot be read ({error}): see --help") from None
