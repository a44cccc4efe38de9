# SPDX-License-Identifier: Apache-2.0
"""tidy.py finds what .clang-tidy names, in sources compiled alone and together, looks at each content once, and leaves
what the time does not suffice for; tidy_choice.py chooses what changed lately."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import tidy
import tidy_choice

HERE = pathlib.Path(__file__).resolve().parent
MOVED = ("#include <string>\n#include <utility>\nstd::string f(std::string a) "
         "{ std::string b = std::move(a); return b + a; }\n")
CLEAN = "int g() { return 1; }\n"


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        shutil.copy(HERE.parents[1] / ".clang-tidy", self.root)
        self.memory = self.root / "tidy-clean.json"

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commands(self, names, unity=False, options=""):
        compiled = [self.root / name for name in names]
        if unity:
            together = self.root / "build/Unity/unity_0_cxx.cxx"
            together.parent.mkdir(parents=True, exist_ok=True)
            together.write_text("".join(f'#include "{file}"\n' for file in compiled))
            compiled = [together]
        (self.root / "compile_commands.json").write_text(json.dumps(
            [{"directory": str(self.root), "file": str(file), "command": f"c++ -std=c++20 -O3 -Ihost {options} -c {file}"}
             for file in compiled]))
        return tidy.compile_commands(str(self.root), str(self.root))


@unittest.skipUnless(shutil.which("clang-tidy"), "clang-tidy is not installed")
class TidyTest(Tree):
    def check(self, files, unity=False, options="", seconds=None, wanted=None):
        for name, text in files.items():
            self.write(name, text)
        commands = self.commands(files, unity, options)
        sources = tidy_choice.Sources(self.root, commands)
        runs = tidy.Tidy("clang-tidy", str(self.root), commands, seconds)
        return tidy.check(runs, sources, wanted or sources.paths, self.memory)

    def test_a_use_after_a_move_is_found_and_its_file_named(self):
        for unity in (False, True):
            findings, seen, left = self.check({"host/a.cpp": MOVED, "host/b.cpp": CLEAN}, unity)
            self.assertEqual((len(findings), seen, left), (1, 2, 0))
            self.assertIn("bugprone-use-after-move", findings[0])
            self.assertIn("host/a.cpp", findings[0])
            # What was clean is not looked at again; what was not, is.
            self.assertEqual(self.check({"host/a.cpp": MOVED, "host/b.cpp": CLEAN}, unity)[1], 1)
            self.memory.unlink()

    def test_a_clean_source_passes_once_for_each_content_of_what_it_reads(self):
        files = {"host/a.cpp": '#include "part/a.h"\nint f() { return kOne; }\n'}
        self.write("host/part/a.h", "#pragma once\nconstexpr int kOne = 1;\n")
        self.assertEqual(self.check(files), ([], 1, 0))
        self.assertEqual(self.check(files), ([], 0, 0))
        self.write("host/part/a.h", "#pragma once\nconstexpr int kOne = 2;\n")
        self.assertEqual(self.check(files), ([], 1, 0))
        self.assertEqual(self.check(files, options="-DMORE"), ([], 1, 0))
        self.write(".clang-tidy", (self.root / ".clang-tidy").read_text() + "# more\n")
        self.assertEqual(self.check(files, options="-DMORE"), ([], 1, 0))

    def test_sources_that_do_not_compile_together_are_looked_at_alone(self):
        files = {"host/a.cpp": "static int same() { return 1; }\nint f() { return same(); }\n",
                 "host/b.cpp": "static int same() { return 2; }\nint g() { return same(); }\n"}
        self.assertEqual(self.check(files, unity=True), ([], 2, 0))

    def test_a_source_that_does_not_compile_is_a_finding(self):
        self.assertIn("no such thing", self.check({"host/a.cpp": "#error no such thing\n"})[0][0])

    def test_what_the_time_does_not_suffice_for_is_left_and_not_remembered(self):
        files = {"host/a.cpp": CLEAN}
        self.assertEqual(self.check(files, seconds=0), ([], 0, 1))
        self.assertEqual(self.check(files), ([], 1, 0))

    def test_a_precompiled_header_of_another_compiler_is_left_out(self):
        self.assertEqual(self.check({"host/a.cpp": CLEAN}, options="-include /none/cmake_pch.hxx"), ([], 1, 0))


class KilledTest(Tree):
    def test_a_source_whose_clang_tidy_is_killed_is_a_finding_and_not_remembered(self):
        self.write("host/a.cpp", CLEAN)
        self.write("killed", "#!/bin/sh\nkill -9 $$\n")
        (self.root / "killed").chmod(0o755)
        commands = self.commands(["host/a.cpp"])
        sources = tidy_choice.Sources(self.root, commands)
        findings, seen, _ = tidy.check(tidy.Tidy(self.root / "killed", str(self.root), commands), sources, sources.paths, self.memory)
        self.assertEqual((seen, json.loads(self.memory.read_text())), (1, {}))
        self.assertEqual(findings, [f"{self.root}/host/a.cpp: clang-tidy ended with code -9\n"])


class BatchTest(unittest.TestCase):
    def test_only_sources_of_one_unity_target_with_equal_arguments_are_together(self):
        commands = {"a": ("d", ["-DX"], "t"), "b": ("d", ["-DX"], "t"), "c": ("d", ["-DX"], "u"), "d": ("d", ["-DY"], "t"),
                    "e": ("d", ["-DX"], None), "f": ("d", ["-DX"], None)}
        self.assertEqual(tidy.batches(list("acbdef"), commands), [["a", "b"], ["c"], ["d"], ["e"], ["f"]])
        many = {str(n): ("d", [], "t") for n in range(tidy.TOGETHER + 1)}
        self.assertEqual([len(batch) for batch in tidy.batches(list(many), many)], [tidy.TOGETHER, 1])


class ChoiceTest(Tree):
    def git(self, *words, when=0):
        date = f"{1_700_000_000 + when} +0000"
        names = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                 for what, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", date))}
        subprocess.run(["git", "-C", self.root, *words], check=True, capture_output=True, env={**os.environ, **names})

    def commit(self, name, when):
        self.write(name, f"{name} {when}\n")
        self.git("add", name, when=when)
        self.git("commit", "-q", "-m", name, when=when)

    def test_what_the_last_day_and_the_working_tree_changed_is_chosen_the_latest_first(self):
        self.assertIsNone(tidy_choice.recent_changes(self.root / "none"))
        self.git("init", "-q")
        day = tidy_choice.WINDOW_S
        for name, when in (("old", 0), ("early", 60), ("middle", day), ("last", day + 30)):
            self.commit(name, when)
        self.write("middle", "changed\n")
        self.write("new", "\n")
        self.assertEqual([name for name in tidy_choice.recent_changes(self.root) if not name.startswith(".")],
                         ["middle", "new", "last", "early"])

    def test_a_header_is_seen_through_its_source_or_through_one_that_reads_it(self):
        self.write("host/x/a.h", '#pragma once\n#include "x/deep.h"\n')
        for name in ("host/x/deep.h", "host/x/alone.h", "host/x/b.h"):
            self.write(name, "#pragma once\n")
        for name, text in (("a", '#include "x/a.h"\n'), ("b", '#include "b.h"\n'), ("c", '#include "x/a.h"\n')):
            self.write(f"host/x/{name}.cpp", text)
        sources = tidy_choice.Sources(self.root, self.commands([f"host/x/{name}.cpp" for name in "abc"]))
        self.assertEqual(sources.that_show(["host/x/b.h"]), ["host/x/b.cpp"])
        self.assertEqual(sources.that_show(["host/x/deep.h"]), ["host/x/a.cpp"])
        self.assertEqual(sources.that_show(["host/x/c.cpp", "host/x/deep.h"]), ["host/x/c.cpp"])
        self.assertEqual(sources.that_show(["host/x/alone.h", "host/x/gone.h", "README.md"]), [])

    def test_sources_of_libtorch_are_left_out(self):
        self.assertIsNone(tidy_choice.PRODUCT.match("host/training/trainer/torch/block.cpp"))
        for path in ("host/training/trainer/trainer.cpp", "drivers/registry.cpp", "bitstreams/tools/xbutil.cpp"):
            self.assertIsNotNone(tidy_choice.PRODUCT.match(path), path)


if __name__ == "__main__":
    unittest.main()
