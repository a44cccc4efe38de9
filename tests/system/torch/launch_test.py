# SPDX-License-Identifier: Apache-2.0
#
# Parts of the package that need no ranks: who says which rank this is, how buckets settle, what a missing PyTorch says.
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from ranks import DEBIAN, SOURCE, environment, require

PACKAGE_SOURCE = SOURCE / "host" / "training" / "python"
sys.path.insert(0, str(PACKAGE_SOURCE))

from tandem import launch  # noqa: E402
from tandem.errors import TandemError  # noqa: E402

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1",
            "MASTER_PORT": "1234"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "2",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "3", "PMIX_NAMESPACE": "4711"}
SLURM = {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_TASKS_PER_NODE": "2(x4)",
         "SLURM_JOB_NODELIST": "gpu[007-009,12],login1", "SLURM_JOB_ID": "99", "SLURM_STEP_ID": "0"}
LWS = {"LWS_WORKER_INDEX": "1", "LWS_GROUP_SIZE": "2", "LWS_LEADER_ADDRESS": "leader.set.svc"}


class ResolverTest(unittest.TestCase):
    def test_each_launcher_is_understood(self):
        for variables, expected in (
                (TORCHRUN, (1, 4, 1, 2, "10.0.0.1", 1234, "torchrun")), (SLURM, (5, 8, 1, 2, "gpu007", None, "Slurm")),
                (OPEN_MPI, (2, 3, 2, 3, "127.0.0.1", None, "OMPI_COMM_WORLD_RANK")),
                ({"PMI_RANK": "0", "PMI_SIZE": "1"}, (0, 1, 0, 1, "127.0.0.1", None, "PMI_RANK")),
                (LWS, (1, 2, 0, 1, "leader.set.svc", 29500, "LeaderWorkerSet"))):
            found = launch.resolve(variables)
            rank, world, local_rank, local_world, address, port, source = expected
            self.assertEqual((found.rank, found.world, found.local_rank, found.local_world, found.address),
                             (rank, world, local_rank, local_world, address))
            self.assertIn(source, found.source)
            self.assertIn(source, found.describe())
            if port is not None:
                self.assertEqual(found.port, port)
            self.assertTrue(1024 < found.port < 65536 or port)

    def test_the_first_in_the_order_wins(self):
        for number in range(4):
            layers = [TORCHRUN, OPEN_MPI, SLURM, LWS][number:]
            merged = {name: value for layer in layers for name, value in layer.items()}
            merged.setdefault("MASTER_ADDR", "10.0.0.1")
            expected = ["torchrun", "OMPI", "Slurm", "LeaderWorkerSet"][number]
            self.assertIn(expected, launch.resolve(merged).source)
        found = launch.resolve(TORCHRUN, {"rank": 0, "world": 2, "port": 77})
        self.assertEqual((found.source, found.rank, found.world, found.port, found.address),
                         ("flags", 0, 2, 77, "10.0.0.1"))

    def test_missing_variables_are_set_and_present_ones_stay(self):
        variables = dict(OPEN_MPI, MASTER_PORT="1111")
        names = launch.export(launch.resolve(variables), variables)
        self.assertNotIn("MASTER_PORT", names)
        self.assertEqual([variables[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")],
                         ["2", "3", "2", "127.0.0.1", "1111"])
        variables = dict(TORCHRUN)
        self.assertEqual(launch.export(launch.resolve(variables), variables), [])
        launch.export(launch.resolve(variables, {"rank": 3, "world": 5}), variables)
        self.assertEqual((variables["RANK"], variables["WORLD_SIZE"]), ("3", "5"))

    def test_jobs_on_one_host_meet_at_different_ports(self):
        ports = {launch.resolve(dict(OPEN_MPI, PMIX_NAMESPACE=str(job))).port for job in range(20)}
        self.assertGreater(len(ports), 15)

    def test_no_launcher_is_none(self):
        self.assertIsNone(launch.resolve({"PATH": "/bin"}))

    def test_what_is_impossible_is_said(self):
        for variables, flags, text in (
                ({"RANK": "4", "WORLD_SIZE": "4"}, {}, "rank 4 of 4"), ({"RANK": "a", "WORLD_SIZE": "4"}, {}, "RANK=a"),
                (dict(OPEN_MPI, OMPI_COMM_WORLD_LOCAL_SIZE="1"), {}, "MASTER_ADDR"),
                (dict(TORCHRUN, MASTER_PORT="x"), {}, "MASTER_PORT=x"), ({}, {"rank": 1}, "belong together")):
            with self.assertRaisesRegex(TandemError, text):
                launch.resolve(variables, flags)

    def test_slurm_lists_of_hosts_are_read(self):
        for nodes, first in (("a1", "a1"), ("a1,b2", "a1"), ("n[3-4]", "n3"), ("n[010,012]-x", "n010-x"), ("", None)):
            self.assertEqual(launch.first_slurm_host(nodes), first)


def run_python(test, text):
    """What a program prints that imports the package with PyTorch."""
    require(DEBIAN)
    found = subprocess.run([DEBIAN, "-c", text], capture_output=True, text=True, timeout=1200, env=environment())
    test.assertEqual(found.returncode, 0, found.stderr)
    return found.stdout


class OptionsTest(unittest.TestCase):
    def test_rules_come_as_a_list_or_as_a_dict(self):
        output = run_python(self, """
from tandem.torch import Options
def rules(given):
    return list(Options.of({"rules": given}).rules)
two = [{"match": "embed*", "density": 0.001}, {"match": "*.head", "sparsifier": "dense"}]
assert rules(two) == two
assert rules({"embed*": {"density": 0.001}, "*.head": "dense"}) == two
assert rules(two[0]) == two[:1]
assert rules(None) == rules({}) == []
for wrong in ("embed*", 3, ["embed*"], {"embed*": 0.001}, [{"density": 0.001}], {"embed*": None}):
    try:
        rules(wrong)
    except Exception as error:
        print(type(error).__name__, "patterns of names" in str(error))
""")
        self.assertEqual(output.split("\n"), ["TandemError True"] * 6 + [""])

    def test_rules_that_apply_to_nothing_are_found(self):
        output = run_python(self, """
from tandem.torch import Options
options = Options.of({"rules": {"a.*": "dense", "*.weight": "topk", "a.w*": "dgc", "enbed*": "dense", "[^a]*": "topk"}})
print(options.unused_rules(["a.weight", "a.bias", "b.weight", "c"]))
""")
        self.assertEqual(output, "['a.w*', 'enbed*']\n")

    def test_values_that_are_no_numbers_are_refused_by_name(self):
        output = run_python(self, """
from tandem.torch import Options
for given in ({"density": "high"}, {"timeout_s": None}, {"algorithm": "dgc"}, {"density": float("nan")}):
    try:
        Options.of(given)
    except Exception as error:
        print(type(error).__name__, str(error)[:12])
for given in ({"sparsifier": "mircro"}, {"rules": {"a": {"densty": 1}}}, {"algorithm": {"momentum": {1, 2}}}):
    try:
        Options.of(given).check_all()
    except Exception as error:
        print(type(error).__name__, "did you mean" in str(error) or "no plain values" in str(error))
""")
        self.assertEqual(output.split("\n"), ["TandemError density is '", "TandemError timeout_s is", "TandemError algorithm is",
                                              "TandemError density nan ", "TandemError True", "TandemError True",
                                              "TandemError True", ""])


class LayoutTest(unittest.TestCase):
    def test_buckets_settle_and_are_cut_into_those_of_a_checkpoint(self):
        output = run_python(self, """
from tandem.torch.layout import Layout
layout = Layout()
def step(*buckets):
    taken = [layout.take(bucket) for bucket in buckets]
    layout.end_step()
    return taken
one, two = [("a", "b", "c")], [("c",), ("b", "a")]
assert [exact for _, exact in step(*one)] == [True]
assert [exact for _, exact in step(*two)] == [True, True]
assert [exact for _, exact in step(*two)] == [True, True]
assert [exact for _, exact in step(*two)] == [False, False]
state = layout.state()
layout = Layout()
layout.restore(state)
assert step(*one) == [([("c",), ("b", "a")], False)]
assert step(("c",), ("a", "b")) == [([("c",)], False), ([("b", "a")], False)]
assert step(*two) == [([("c",)], False), ([("b", "a")], False)]
assert step(("a",), ("b", "c"))[0] == ([("a",)], True)
print(layout.state()["exact_steps"])
layout = Layout()
half = two[:1]
for buckets in (half, half, two, half, two):
    print([exact for _, exact in step(*buckets)], end=" ")
""")
        self.assertEqual(output, "4\n[True] [True] [False, True] [False] [False, False] ")


class MissingTorchTest(unittest.TestCase):
    def run_without(self, fake, *command):
        """With a module `torch` that is `fake`."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "torch.py").write_text(fake)
            return subprocess.run([sys.executable, "-B", *command], capture_output=True, text=True, timeout=1200, cwd=folder,
                                  env=dict(environment(), PYTHONPATH=f"{folder}:{PACKAGE_SOURCE}"))

    def test_the_package_itself_needs_no_torch(self):
        found = self.run_without("raise ImportError('no')", "-c", "import tandem; print(tandem.library_path().name)")
        self.assertEqual(found.stdout, "libtandem_training.so\n", found.stderr)

    def test_a_missing_or_old_torch_is_one_sentence(self):
        for fake, text in (("raise ImportError('not here')", "cannot import (not here)"),
                           ("__version__ = '1.12.1'", "found 1.12.1")):
            found = self.run_without(fake, "-c", "import tandem.torch")
            self.assertIn("ImportError: tandem.torch needs PyTorch 1.13 or newer", found.stderr)
            self.assertIn(text, found.stderr)
            found = self.run_without(fake, "-m", "tandem.torch", "script.py")
            self.assertEqual(found.returncode, 1)
            self.assertIn(text, found.stderr)
            self.assertEqual(found.stderr.count("\n"), 1, found.stderr)

    def test_a_missing_library_says_what_to_build(self):
        found = self.run_without("", "-c", "from tandem import _library; _library.load()")
        self.assertIn("--target tandem_python", found.stderr)


if __name__ == "__main__":
    unittest.main()
