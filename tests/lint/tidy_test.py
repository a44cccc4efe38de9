# SPDX-License-Identifier: Apache-2.0
"""tidy.py finds what .clang-tidy names, in a source that is compiled alone and in one of a unity file."""

import json
import pathlib
import shutil
import tempfile
import unittest

import tidy

HERE = pathlib.Path(__file__).resolve().parent
MOVED = ("#include <string>\n#include <utility>\nstd::string f(std::string a) "
         "{ std::string b = std::move(a); return b + a; }\n")


@unittest.skipUnless(shutil.which("clang-tidy"), "clang-tidy is not installed")
class TidyTest(unittest.TestCase):
    def check(self, text, unity, options=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            shutil.copy(HERE.parents[1] / ".clang-tidy", root)
            source = root / "host/a.cpp"
            source.parent.mkdir()
            source.write_text(text)
            compiled = source
            if unity:
                compiled = root / "build/Unity/unity_0_cxx.cxx"
                compiled.parent.mkdir(parents=True)
                compiled.write_text(f'#include "{source}"\n')
            (root / "compile_commands.json").write_text(json.dumps(
                [{"directory": str(root), "file": str(compiled), "command": f"c++ -std=c++20 -O3 {options} -c {compiled}"}]))
            commands = tidy.compile_commands(str(root), str(root))
            return tidy.tidy("clang-tidy", str(root), "host/a.cpp", commands["host/a.cpp"])

    def test_a_use_after_a_move_is_found(self):
        for unity in (False, True):
            self.assertIn("bugprone-use-after-move", self.check(MOVED, unity))

    def test_a_clean_source_passes(self):
        self.assertEqual(self.check("int f() { return 1; }\n", False), "")

    def test_a_precompiled_header_of_another_compiler_is_left_out(self):
        self.assertEqual(self.check("int f() { return 1; }\n", False, "-include /none/cmake_pch.hxx"), "")

    def test_sources_of_libtorch_are_left_out(self):
        self.assertIsNone(tidy.PRODUCT.match("host/training/trainer/torch/block.cpp"))
        for path in ("host/training/trainer/trainer.cpp", "drivers/registry.cpp", "bitstreams/tools/xbutil.cpp"):
            self.assertIsNotNone(tidy.PRODUCT.match(path), path)


if __name__ == "__main__":
    unittest.main()
