# SPDX-License-Identifier: Apache-2.0
#
# python -m tandem.torch round a script that stays as it is, under torchrun, mpirun and torch.multiprocessing.
import json
import re
import shutil
import subprocess
import unittest

from ranks import DEBIAN, HERE, TORCHRUN, Ranks, environment, free_port, require

SCRIPT = str(HERE / "plain_script.py")


def launch(*command, code=0, **more):
    found = subprocess.run(command, capture_output=True, text=True, timeout=1200, env=environment(**more), cwd=HERE)
    if found.returncode != code:
        raise AssertionError(f"{command} ended with {found.returncode}:\n{found.stdout}{found.stderr}")
    return found.stdout + found.stderr


def torchrun(*arguments, **more):
    return launch(DEBIAN, *TORCHRUN, "--master_port", str(free_port()), "-m", "tandem.torch", *arguments, **more)


def two_ranks(*arguments, **more):
    """As torchrun does it, without torchrun's own process and with one import of PyTorch for all."""
    ranks = Ranks(2, [DEBIAN, "-m", "tandem.torch", *arguments], cwd=HERE, forked=True, **more)
    try:
        codes, outputs = ranks.wait()
    finally:
        ranks.close()
    if codes != [0, 0]:
        raise AssertionError(f"{arguments} ended with {codes}:\n" + "\n".join(outputs))
    return "\n".join(outputs)


# Runs the launcher for each [arguments, variables] of its input; importing PyTorch is nearly all the time of one run.
MANY = """
import contextlib, io, json, os, sys
from tandem.torch import __main__ as launcher
found = []
for arguments, variables in json.load(sys.stdin):
    sys.argv[1:] = arguments
    os.environ.update(variables)
    said, code = io.StringIO(), 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            launcher.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            print("" if isinstance(end.code, int) else end.code)
    for name in variables:
        del os.environ[name]
    found.append([code, said.getvalue()])
print(json.dumps(found))
"""


class LauncherTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require(DEBIAN)

    def distances(self, output, world=2):
        found = dict(re.findall(r"rank (\d) of \d: ([\d.]+) from one process", output))
        self.assertEqual(len(found), world, output)
        return [float(value) for value in found.values()]

    def test_exact_gradients_pass_a_scripts_own_check_under_torchrun(self):
        output = torchrun("--dense-exact", SCRIPT, "--steps", "10")
        self.assertLess(max(self.distances(output)), 1e-6)
        self.assertEqual(output.count("ranks meet at"), 1)
        self.assertIn("rank 0 of 2 by torchrun", output)
        self.assertIn("hook on DistributedDataParallel(Sequential): dense, exact", output)
        self.assertIn(f"__main__ is {SCRIPT}", output)

    def test_options_come_from_flags_and_from_the_environment(self):
        output = two_ranks("--sparsifier", "topk", SCRIPT, TANDEM_DENSITY="0.25", TANDEM_DENSE_BELOW="0",
                           TANDEM_SPARSIFIER="dgc")
        self.assertIn("topk, density 0.25", output)
        self.assertGreater(min(self.distances(output)), 1e-5)

    def test_mpirun_tells_the_ranks(self):
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed")
        for transport in ("gloo", "mpi"):
            output = launch("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "-mca",
                            "btl_vader_single_copy_mechanism", "none", DEBIAN, "-m", "tandem.torch", "--dense-exact",
                            "--transport", transport, SCRIPT)
            self.assertIn("by mpirun (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE)", output)
            self.assertLess(max(self.distances(output)), 1e-6)

    def test_spawned_processes_have_the_hook_too(self):
        output = launch(DEBIAN, "-m", "tandem.torch", "--dense-exact", SCRIPT, "--spawn", "2", MASTER_ADDR="127.0.0.1",
                        MASTER_PORT=free_port())
        self.assertIn("no launcher has set a rank", output)
        self.assertIn("hook on DistributedDataParallel", output)
        self.assertLess(max(self.distances(output)), 1e-6)

    def test_a_scripts_own_hook_stays(self):
        output = two_ranks("--density", "0.01", SCRIPT, "--own-hook")
        self.assertIn("a communication hook of its own, which stays", output)
        self.assertNotIn("tandem: hook on", output)
        self.assertLess(max(self.distances(output)), 1e-6)

    def test_a_script_without_a_ddp_module_is_told_so(self):
        output = two_ranks("--dense-exact", SCRIPT, "--steps", "0")
        self.assertEqual(output.count("the script has trained no DistributedDataParallel"), 1)

    def test_modules_that_exchange_from_the_second_pass_on_have_the_hook(self):
        output = two_ranks("--dense-exact", SCRIPT, "--steps", "3", "--switch-late")
        self.assertIn("hook on DistributedDataParallel", output)
        self.assertNotIn("has trained no", output)
        self.assertLess(max(self.distances(output)), 1e-6)

    def test_a_module_runs_as_scripts_do_and_what_has_no_effect_is_named_once(self):
        output = two_ranks("--sparsifier", "micro", "--density", "0.01", "--dense-exact", "-m", "plain_script", "--steps", "4",
                           TANDEM_DENSTY="0.1", TANDEM_FOO="1", TANDEM_XCLBIN="a")
        self.assertLess(max(self.distances(output)), 1e-6)
        self.assertEqual(output.count("dense-exact wins: everything is sent, and sparsifier, density have no effect"), 1)
        self.assertEqual(output.count("TANDEM_DENSTY is not an option and has no effect; did you mean TANDEM_DENSITY?"), 1)
        self.assertEqual(output.count("TANDEM_FOO is not an option and has no effect\n"), 1)
        self.assertNotIn("TANDEM_XCLBIN", output)

    def fails(self, *arguments, code=1):
        output = launch(DEBIAN, "-m", "tandem.torch", *arguments, code=code)
        self.assertNotIn("Traceback", output)
        return output

    def test_help_and_mistakes_are_told_before_the_script_runs(self):
        mistakes = [
            (["nowhere.py"], {}, 1, "nowhere.py is not a file"),
            (["--density", "3", SCRIPT], {}, 1, "density 3"),
            (["--sparsifier", "mircro", SCRIPT], {}, 1, "did you mean 'micro'"),
            (["--scheme", "alltogether", SCRIPT], {}, 1, "the option scheme"),
            (["--rules", '{"a": {"densty": 1}}', SCRIPT], {}, 1, "did you mean 'density'"),
            (["--rank", "0", SCRIPT], {}, 1, "belong together"),
            *(([SCRIPT], {variable: text}, 1, f"{variable}={text} of the environment cannot be read")
              for variable, text in (("TANDEM_DENSITY", "x"), ("TANDEM_RULES", "{"), ("TANDEM_DENSE_EXACT", "perhaps"))),
            (["--sparsifer", "micro", SCRIPT, "--epochs", "3"], {}, 2, "no option --sparsifer; did you mean '--sparsifier'?"),
            (["--sparsifer=micro"], {}, 2, "no option --sparsifer; did you mean '--sparsifier'?"),
            (["--density", "x", SCRIPT], {}, 2, "--density: invalid float value: 'x'"),
            (["--rules", "{", SCRIPT], {}, 2, "'{' is not JSON"),
            (["--density", "0.1"], {}, 2, "required: SCRIPT"),
            *((["--help"], {}, 0, words) for words in ("exdyna, micro", "TANDEM_DENSITY", "torchrun", "--dense-exact", "--listen",
                                                       "(0.01)", "--algorithm")),
        ]
        process = subprocess.run([DEBIAN, "-c", MANY], input=json.dumps([mistake[:2] for mistake in mistakes]), text=True,
                                 capture_output=True, timeout=1200, env=environment(), cwd=HERE)
        self.assertEqual(process.returncode, 0, process.stderr)
        for (arguments, variables, code, words), found in zip(mistakes, json.loads(process.stdout), strict=True):
            with self.subTest(arguments=arguments, variables=variables):
                self.assertIn(words, found[1])
                self.assertEqual(found[0], code)

    def test_a_script_that_finds_no_rank_says_how_to_start_ranks(self):
        self.assertIn("start the ranks with torchrun, mpirun or srun", self.fails(SCRIPT))


if __name__ == "__main__":
    unittest.main()
