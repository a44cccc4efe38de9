# SPDX-License-Identifier: Apache-2.0
#
# `tandem stencil`: the same bits for every tile, rank and transport; fields; what is refused.
import json
import os
import shutil
import subprocess
import unittest

from daemon import TANDEM, run, run_json


def measured(stencil, *arguments):
    return run_json("stencil", stencil, "--cells", 30, "--steps", 4, "--threads", 1, *arguments)


class StencilTest(unittest.TestCase):
    def refused(self, *arguments, words):
        process = run("stencil", *arguments)
        self.assertEqual(process.returncode, 2, process.stdout + process.stderr)
        self.assertIn(words, process.stderr)

    def test_tiles_boxes_ranks_and_schedules_leave_the_same_bits(self):
        for stencil, fuse in (("heat", 2), ("jacobi", 4), ("rk3", 1)):
            whole = measured(stencil, "--tile", "30x30x30", "--fuse", 0)
            self.assertIsNone(whole["fused"])
            for options in (("--tile", "7x4x30"), ("--ranks", 2, "--tile", "3x3x3"),
                            ("--ranks", 3, "--boxes", 2, "--schedule", "dynamic", "--tile", "8x8x30", "--fused-tile", "9x9x9")):
                other = measured(stencil, "--fuse", fuse, *options)
                self.assertEqual(other["checksum"], whole["checksum"], (stencil, options))
                self.assertEqual(other["fused"]["steps"], fuse)
            self.assertEqual(len({measured(s, "--fuse", 0, "--tile", "30x30x30")["checksum"] for s in ("heat", "jacobi", "rk3")}), 3)

    def test_fields(self):
        result = measured("heat", "--ranks", 2)
        self.assertEqual((result["cells"], result["ranks"], result["threads"], result["steps"]), (30, 2, 1, 4))
        self.assertEqual(result["transport"], "inproc")
        self.assertTrue(result["tuned"])
        self.assertGreater(result["triad"]["copy_gb_per_s"], 0)
        for speed in (result, result["fused"]):
            self.assertGreater(speed["gb_per_s"], 0)
            self.assertAlmostEqual(speed["of_triad"] * result["triad"]["gb_per_s"], speed["gb_per_s"], 6)
            self.assertAlmostEqual(16e-9 * 30**3 / (speed["ms_per_step"] / 1e3), speed["gb_per_s"], 6)
        text = run("stencil", "heat", "--cells", 30, "--tile", "8x8x99", "--steps", 4, "--threads", 1).stdout
        self.assertIn("tile 8x8x30:", text)

    def test_processes_of_mpi_leave_the_same_bits(self):
        if shutil.which("mpirun") is None or "has no MPI" in run("stencil", "heat", "--cells", 8, "--transport", "mpi").stderr:
            self.skipTest("needs MPI")
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        whole = measured("jacobi", "--tile", "30x30x30")
        command = ["mpirun", "-n", "3", "--oversubscribe", str(TANDEM), "stencil", "jacobi", "--cells", "30", "--steps", "4",
                   "--threads", "1", "--json", "--tile", "8x8x30"]
        process = subprocess.run([*command, "--ranks", "3"], capture_output=True, text=True, env=environment)
        self.assertEqual(process.returncode, 0, process.stderr)
        result = json.loads(process.stdout)
        self.assertEqual((result["transport"], result["checksum"]), ("mpi", whole["checksum"]))
        unasked = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(unasked.returncode, 0, unasked.stderr)
        self.assertEqual((json.loads(unasked.stdout)["ranks"], json.loads(unasked.stdout)["checksum"]), (3, whole["checksum"]))
        wrong = subprocess.run([*command, "--ranks", "2"], capture_output=True, text=True, env=environment)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("--ranks 2, but the MPI job has 3; give --ranks 3, or start it with mpirun -n 2", wrong.stderr)

    def test_a_gpu_is_asked_for_by_name(self):
        self.refused("heat", "--device", "xrt:0", words="'xrt:0' runs no stencils; give cpu, or a GPU such as cuda:0")
        for options in (("--ranks", 2), ("--tile", "8x8x8"), ("--fused-tile", "8x8x8"), ("--transport", "mpi")):
            self.refused("heat", "--device", "cuda:0", *options, words="a tile is a whole box there; leave out")
        process = run("stencil", "rk3", "--device", "cuda:0", "--cells", 30, "--steps", 4, "--json")
        if process.returncode != 0:
            self.assertEqual(process.returncode, 2, process.stdout + process.stderr)
            self.assertRegex(process.stderr, "no CUDA backend; install|no NVIDIA driver is installed|there is no device cuda:0|driver")
            return
        result = json.loads(process.stdout)
        self.assertEqual((result["device"], result["tile"], result["fused"]), ("cuda:0", "30x30x30", None))
        self.assertEqual(result["checksum"], measured("rk3", "--fuse", 0)["checksum"])

    def test_cpu_0_is_the_cpu(self):
        self.assertEqual(measured("heat", "--device", "cpu:0", "--tile", "8x8x30")["device"], "cpu")

    def test_what_is_refused(self):
        self.refused("ice", words="ice")
        for tile in ("8x8", "8x8x8x8", "0x8x8", "8x-1x8", "axbxc", "8x8x", ""):
            self.refused("heat", "--tile", tile, words="is not a tile; give planes, rows and columns")
        self.refused("heat", "--fused-tile", "1", words="--fused-tile")
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if memory < 30e9:  # ghost cells of the boxes take 30 GB
            self.refused("jacobi", "--cells", 512, "--boxes", 4096, "--fuse", 16, words="GB are left here")
        self.refused("heat", "--cells", 2, "--ranks", 2, "--boxes", 16, words="an edge of 2 cells cannot be cut into 4 parts, as 32 boxes need")
        self.refused("rk3", "--cells", 11, words="12 ghost cells reach around a domain of 11 cells")
        self.refused("heat", "--cells", 4096, words="GB are left here")
        if memory < 500e9:  # a box takes 550 GB
            self.refused("heat", "--cells", 4096, "--device", "cuda:0", words="GB are left here")
        self.refused("heat", "--schedule", "guided", words="--schedule")


if __name__ == "__main__":
    unittest.main()
