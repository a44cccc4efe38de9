# SPDX-License-Identifier: Apache-2.0
#
# The component `fpga`, installed alone: another CMake project builds xclbins and tests its application on emulated cards.
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import BUILD, SOURCE, run_command



class FpgaPackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.root = Path(cls.directory.name)
        cls.prefix = cls.root / "prefix"
        run_command("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "fpga")
        # What setup.sh of another tree has set must not help.
        cls.environment = {name: value for name, value in os.environ.items()
                           if not name.startswith(("XILINX_", "XCL_", "TANDEM_", "LD_LIBRARY_PATH", "OCL_ICD"))}

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def project(self, name):
        source = self.root / name
        shutil.copytree(SOURCE / "tests" / "system" / "fpga_project", source)
        return source

    def configure(self, source, prefix=None):
        return subprocess.run(["cmake", "-S", source, "-B", source / "build", "-G", "Ninja",
                               f"-DCMAKE_PREFIX_PATH={prefix or self.prefix}"],
                              capture_output=True, text=True, env=self.environment)

    def build(self, source):
        return subprocess.run(["cmake", "--build", source / "build"], capture_output=True, text=True,
                              env=self.environment)

    def configured(self, name):
        source = self.project(name)
        process = self.configure(source)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return source

    def test_a_project_builds_tests_and_rebuilds_what_changed(self):
        source = self.configured("project")
        built = self.build(source)
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        report = run_command("ctest", "--test-dir", source / "build", "--output-on-failure", env=self.environment)
        self.assertIn("100% tests passed", report)
        self.assertIn("out of 7", report)
        self.assertIn("no work to do", self.build(source).stdout)
        # Kernels are built from what is installed, and from nothing of the build.
        depfiles = list((source / "build").glob("*.dir/*.xo.d"))
        self.assertEqual(len(depfiles), 3)
        for depfile in depfiles:
            text = depfile.read_text()
            if depfile.name.startswith("vscale"):  # a C++ kernel
                self.assertIn(str(self.prefix), text)
            self.assertNotIn(str(BUILD), text)
            self.assertNotIn(str(SOURCE), text)
        # A header of a kernel: its objects and xclbins anew, and a test that notices.
        header = source / "kernels" / "factor.h"
        header.write_text(header.read_text().replace("FACTOR 3", "FACTOR 4"))
        rebuilt = self.build(source).stdout
        self.assertIn("kernel vscale of scale", rebuilt)
        self.assertNotIn("kernel vshift", rebuilt)
        failed = subprocess.run(["ctest", "--test-dir", source / "build"], capture_output=True, text=True,
                                env=self.environment)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("EveryValueIsScaled", failed.stdout)
        self.assertIn("2 tests failed out of 7", failed.stdout)

    def test_a_kernel_that_does_not_compile_is_named_with_its_line(self):
        source = self.configured("broken")
        kernel = source / "kernels" / "vscale.cpp"
        kernel.write_text(kernel.read_text().replace("product.to_int()", "product.to_nothing()"))
        built = self.build(source)
        self.assertNotEqual(built.returncode, 0)
        line = kernel.read_text()[:kernel.read_text().index("to_nothing")].count("\n") + 1
        self.assertIn(f"{kernel}:{line}:", built.stdout + built.stderr)
        self.assertFalse((source / "build" / "scale.xclbin").exists())

    def refusal(self, name, old, new, prefix=None):
        source = self.project(name)
        text = (source / "CMakeLists.txt").read_text()
        (source / "CMakeLists.txt").write_text(text.replace(old, new))
        process = self.configure(source, prefix)
        self.assertNotEqual(process.returncode, 0)
        return " ".join(process.stderr.split())

    def test_wrong_words_are_refused_by_name(self):
        self.assertIn("no such source", self.refusal("source", "kernels/vshift.cl", "kernels/missing.cl"))
        self.assertIn("takes kernel=source, not 'vscale'", self.refusal("pair", "vscale=kernels/vscale.cpp ", "vscale "))
        self.assertIn("unknown words: BANKS", self.refusal("words", "PLATFORM u55c", "PLATFORM u55c BANKS 4"))
        self.assertIn("'scales' is not a target of tandem_add_xclbin", self.refusal("target", "XCLBINS scale ", "XCLBINS scales "))

    def test_an_installation_without_the_component_says_so(self):
        bare = self.root / "bare"
        shutil.copytree(self.prefix, bare, symlinks=True)
        shutil.rmtree(bare / "share" / "tandem" / "xrt")
        message = self.refusal("bare_project", "", "", bare)
        self.assertIn("component fpga is not installed", message)


if __name__ == "__main__":
    unittest.main()
