# SPDX-License-Identifier: Apache-2.0
#
# The result of `cmake --install` works without the source tree: the program, and find_package(Tandem), whole or only the
# component of collectives.
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import BUILD, SOURCE, run_command


def setUpModule():
    """All of it is installed once, for both classes."""
    global whole
    directory = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(directory.cleanup)
    whole = Path(directory.name) / "prefix"
    run_command("cmake", "--install", BUILD, "--prefix", whole)


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = whole.parent
        cls.prefix = whole

    def test_the_installed_program_finds_its_demo_model(self):
        text = run_command(self.prefix / "bin" / "tandem", "generate", "--prompt", "Once upon a time", "--max-tokens", 8,
                   "--attention", "cpu", cwd=self.root)
        self.assertGreater(len(text), len("Once upon a time"))

    def test_the_installed_cards_serve(self):
        setup = next(self.prefix.rglob("setup.sh"))
        command = (f"source '{setup}' && XCL_EMULATION_MODE=sw_emu '{self.prefix}/bin/tandem' generate "
                   "--prompt 'Once upon a time' --max-tokens 8 --attention xrt:0 --json")
        self.assertIn('"device": "xrt:0"', run_command("bash", "-c", command, cwd=self.root))

    def test_a_project_that_finds_the_package_builds_and_runs(self):
        source = self.root / "consumer"
        shutil.copytree(SOURCE / "tests" / "system" / "package", source)
        run_command("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_BUILD_TYPE=Release")
        run_command("cmake", "--build", source / "build")
        model = next(self.prefix.rglob("tandem-stories-q8_0.gguf"))
        self.assertTrue(run_command(source / "build" / "consumer", model).strip())


class CollectivesPackageTest(unittest.TestCase):
    """The component `collectives`, installed alone, where nothing that serving needs can be found."""

    SERVING_NEEDS = ["spdlog", "nlohmann_json", "Boost", "OpenSSL", "CLI11", "tomlplusplus", "prometheus-cpp", "dnnl", "OpenCL"]

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.root = Path(cls.directory.name)
        cls.prefix = cls.root / "prefix"
        run_command("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "collectives")
        # pkg-config knows what collectives need and nothing else.
        cls.pkgconfig = cls.root / "pkgconfig"
        cls.pkgconfig.mkdir()
        for name in ["libxxhash", "libhwy", "hwloc"]:
            description = Path(run_command("pkg-config", "--variable=pcfiledir", name).strip()) / f"{name}.pc"
            shutil.copy(description, cls.pkgconfig)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def configure(self, source, build):
        hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in self.SERVING_NEEDS]
        return subprocess.run(
            ["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
             "-DCMAKE_BUILD_TYPE=Release", *hidden],
            capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_LIBDIR": str(self.pkgconfig)})

    def test_the_tool_is_part_of_the_component_and_runs(self):
        self.assertEqual([path.name for path in (self.prefix / "bin").iterdir()], ["tandem-collectives"])
        self.assertIn("allreduce-bench", run_command(self.prefix / "bin" / "tandem-collectives", "--help"))
        self.assertFalse((self.prefix / "share").exists())

    def test_the_component_serving_brings_the_rest(self):
        serving = self.root / "serving"
        run_command("cmake", "--install", BUILD, "--prefix", serving, "--component", "serving")
        self.assertIn("tandem", [path.name for path in (serving / "bin").iterdir()])
        self.assertNotIn("tandem-collectives", [path.name for path in (serving / "bin").iterdir()])
        fpga = self.root / "fpga"
        run_command("cmake", "--install", BUILD, "--prefix", fpga, "--component", "fpga")

        def files(*prefixes):
            return sorted({str(path.relative_to(prefix)) for prefix in prefixes for path in prefix.rglob("*")
                           if not path.is_dir()})

        training = self.root / "training"
        run_command("cmake", "--install", BUILD, "--prefix", training, "--component", "training")
        # What a component installs runs without the others.
        for name, prefix in (("emulation", fpga), ("planner", serving), ("models", serving), ("tensor", serving), ("trace-comm", serving),
                             ("train", training), ("collectives", self.prefix)):
            program = prefix / "bin" / f"tandem-{name}"
            self.assertIn(f"Usage: tandem-{name} [OPTIONS] SUBCOMMAND", run_command(program, "--help"))
            self.assertTrue(run_command(program, "--version").strip())
            unknown = subprocess.run([program, "nonsense"], capture_output=True, text=True)
            self.assertEqual(unknown.returncode, 2)
            self.assertIn(f"unknown command 'nonsense'; see `tandem-{name} --help`", unknown.stderr)
        missing = subprocess.run([serving / "bin" / "tandem", "card", "--help"], capture_output=True, text=True)
        self.assertIn("install it with `cmake --install BUILD --component fpga`", missing.stderr)
        self.assertTrue((training / "lib" / "libtandem_training.so").exists())
        self.assertTrue((training / "include/tandem/training/c_api/tandem_training.h").exists())

        self.assertEqual(files(serving, self.prefix, fpga, training), files(whole))

    def test_a_project_of_two_ranks_builds_and_reduces(self):
        build = self.root / "build"
        configured = self.configure(SOURCE / "tests" / "system" / "package_collectives", build)
        self.assertEqual(configured.returncode, 0, configured.stdout + configured.stderr)
        run_command("cmake", "--build", build)
        self.assertEqual(run_command(build / "consumer"), "0 2\n1 2\n7 3\n")

    def expect_refusal(self, find_package, *texts):
        source = Path(tempfile.mkdtemp(dir=self.root))
        (source / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject(Asker LANGUAGES CXX)\n{find_package}\n")
        configured = self.configure(source, source / "build")
        self.assertNotEqual(configured.returncode, 0)
        message = " ".join(configured.stderr.split())
        for text in texts:
            self.assertIn(text, message)

    def test_an_unknown_component_is_refused_by_name(self):
        self.expect_refusal("find_package(Tandem REQUIRED COMPONENTS collectives quantum)",
                            "no component 'quantum'", "collectives and serving")

    def test_a_component_that_is_not_installed_is_refused_by_name(self):
        self.expect_refusal("find_package(Tandem REQUIRED COMPONENTS serving)", "no component 'serving'")

    def test_without_components_all_that_is_installed_is_found(self):
        source = Path(tempfile.mkdtemp(dir=self.root))
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(Asker LANGUAGES CXX)\nfind_package(Tandem REQUIRED)\n"
            "if(NOT TARGET Tandem::collectives)\nmessage(FATAL_ERROR none)\nendif()\n")
        configured = self.configure(source, source / "build")
        self.assertEqual(configured.returncode, 0, configured.stdout + configured.stderr)


if __name__ == "__main__":
    unittest.main()
