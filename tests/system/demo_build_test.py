# SPDX-License-Identifier: Apache-2.0
#
# What scripts/demo.sh compiles: little, so that a bare machine with two cores answers within minutes. Configures the preset
# `demo` and reads ninja's list of commands; nothing is compiled.
import re
import shutil
import subprocess
import sysconfig
import tempfile
import unittest
from pathlib import Path

from daemon import SOURCE

MOST_OBJECTS = 85
# Nothing of these is part of the main job on emulated cards.
LEFT_OUT = ("benchmarks", "tests", "host/apps/card", "host/apps/collectives", "host/apps/models", "host/apps/planner",
            "host/apps/tensor", "host/apps/trace_comm", "host/apps/train", "host/collectives", "host/simulation",
            "host/tensor/tiling", "host/training", "host/transport", "bitstreams/compiler/loop_checks",
            "drivers/emulation/CMakeFiles/tandem_opencl_layer.dir")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
ROOTS = [SOURCE / folder for folder in (".", "host", "drivers", "fpga_hls")]
MULTIARCH = sysconfig.get_config_var("MULTIARCH") or ""  # "x86_64-linux-gnu"; Debian names folders of headers after it
SYSTEM = [Path("/usr/include"), Path("/usr/include") / MULTIARCH, Path("/usr/include/xrt")]
OWNED = re.compile(r"^(.+): (/.+)$", re.MULTILINE)


def first_file(folders, name):
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def system_headers(sources):
    """The headers of packages that the sources include, directly or through the project's own headers."""
    found, known, left = set(), set(), list(sources)
    while left:
        path = left.pop()
        if path in known or not path.is_file():
            continue
        known.add(path)
        for bracket, name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            own = first_file([path.parent, *ROOTS], name) if bracket == '"' else None
            if own:
                left.append(own)
            elif header := first_file(SYSTEM, name):
                found.add(header)
    return found


def owners_of(listing):
    """The packages of each file in the answer of dpkg-query -S: "libxrt-dev:amd64, libc6-dev: /usr/include/..."."""
    return {path: {re.sub(r":\w+$", "", each) for each in packages.split(", ")} for packages, path in OWNED.findall(listing)}


def packages_with(names):
    """The packages and all that they depend on."""
    listed = subprocess.run(["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts",
                             "--no-breaks", "--no-replaces", "--no-enhances", *names], capture_output=True, text=True, check=True)
    return set(re.findall(r"^(\S+)$", listed.stdout, re.MULTILINE))


class DemoBuildTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        configured = subprocess.run(["cmake", "--preset", "demo", "-B", cls.folder.name], cwd=SOURCE, capture_output=True, text=True)
        if configured.returncode != 0:
            raise AssertionError(configured.stdout + configured.stderr)
        listed = subprocess.run(["ninja", "-C", cls.folder.name, "-t", "commands", "tandem-demo"], capture_output=True, text=True, check=True)
        cls.commands = listed.stdout
        cls.objects = re.findall(r" -o (\S+\.o) -c ", cls.commands)

    def test_the_list_does_not_grow(self):
        self.assertGreater(len(self.objects), 50)
        self.assertLessEqual(len(self.objects), MOST_OBJECTS, "\n".join(self.objects))

    def test_what_the_demo_does_not_run_is_left_out(self):
        for folder in LEFT_OUT:
            self.assertEqual([each for each in self.objects if each.startswith(folder + "/")], [])
        self.assertNotIn("nvcc", self.commands)

    def test_packages_that_it_does_not_install_make_no_difference(self):
        for library in ("scotch", "metis", "Clp", "OpenCL", "dnnl", "gloo", "mpi", "torch", "sqlite3"):
            self.assertNotRegex(self.commands, rf"lib{library}\w*\.so")

    @unittest.skipUnless(shutil.which("apt-cache") and shutil.which("dpkg-query"), "no Debian")
    def test_every_header_comes_with_a_package_that_the_demo_installs(self):
        listed = subprocess.run(["bash", "-c", "source scripts/common.sh; echo ${demo_packages[@]}"], cwd=SOURCE, capture_output=True, text=True, check=True)
        installed = packages_with(listed.stdout.split())
        sources = [Path(path) for path in re.findall(r" -o \S+\.o -c (\S+)", self.commands)]
        headers = sorted(map(str, system_headers(sources)))
        self.assertIn("/usr/include/CL/cl.h", headers)
        owners = owners_of(subprocess.run(["dpkg-query", "-S", *headers], capture_output=True, text=True).stdout)
        self.assertGreater(len(owners), 50)
        self.assertEqual([path for path, packages in owners.items() if not installed & packages], [])

    def test_packages_are_known_on_every_architecture(self):
        listing = "libxrt-dev: /a.h\nlibhwloc-dev:arm64, libhwloc-common: /b.h\nzlib1g-dev:amd64: /c.h\n"
        self.assertEqual(owners_of(listing), {"/a.h": {"libxrt-dev"}, "/b.h": {"libhwloc-dev", "libhwloc-common"}, "/c.h": {"zlib1g-dev"}})

    def test_the_kernels_of_the_processor_are_optimised(self):
        kernels = [line for line in self.commands.splitlines() if "quantized_products.cpp.o -c " in line]
        self.assertEqual(len(kernels), 1)
        self.assertRegex(kernels[0], " -O[123] ")


if __name__ == "__main__":
    unittest.main()
