# SPDX-License-Identifier: Apache-2.0
"""The lint itself: good samples pass, and each rule catches the sample that breaks it."""

import pathlib
import shutil
import tempfile
import unittest

import rules_budgets
import rules_format
import rules_includes
import rules_pages
import rules_style
from cpp_text import functions
from source_tree import SourceTree

HEAD = "// SPDX-License-Identifier: Apache-2.0\n//\n// A sample.\n"


def findings(rule, files):
    """What a rule says about a tree of these files (path -> text)."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return rule.check(SourceTree(root))


def errors(rule, files):
    return [f for f in findings(rule, files) if not f.is_warning]


class FormatTest(unittest.TestCase):
    def setUp(self):
        if shutil.which("clang-format") is None:
            self.skipTest("clang-format is not installed")

    def test_reports_the_first_line_out_of_format(self):
        found = errors(rules_format, {".clang-format": "BasedOnStyle: Google\n",
                                      "a.cpp": "int a;\nint   b;\nint   c;\n", "b.cpp": "int b;\n"})
        self.assertEqual([(f.path, f.line) for f in found], [("a.cpp", 2)])


class IncludesTest(unittest.TestCase):
    TREE = {path: HEAD for path in (
        "host/common/error.h", "host/tensor/dtype.h", "host/model/graph.h", "host/engine/engine.h",
        "host/tensor/sparse/generate/synthetic.h", "host/tensor/sparse/generate/random_subset.h",
        "host/server/http.h", "host/transport/transport.h", "host/collectives/group.h",
        "host/collectives/frames/communicator.h", "host/collectives/scheme/scheme.h", "drivers/device/device.h", "drivers/xrt/card.h", "drivers/cpu/backend.h",
        "drivers/emulation/card/memory.h", "fpga_hls/attention_decode/abi.h",
        "fpga_hls/attention_decode/stages.h", "fpga_hls/include/hls_stream.h", "gpu_kernels/gemm/gemm.h",
        "bitstreams/xclbin/inspect.h", "bitstreams/tools/report.h", "bitstreams/compiler/vpp/stages.h",
        "bitstreams/compiler/glue/kernel_entry.h")}

    def broken(self, path, name, bracket='""'):
        line = f"#include {bracket[0]}{name}{bracket[1]}\n"
        return [f.path for f in errors(rules_includes, {**self.TREE, path: HEAD + line})]

    def test_allows_what_points_down(self):
        for path, name in (("host/engine/a.cpp", "model/graph.h"), ("host/engine/a.cpp", "engine/engine.h"),
                           ("host/engine/a.cpp", "device/device.h"), ("host/apps/a.cpp", "server/http.h"),
                           ("host/server/a.cpp", "common/error.h"),
                           ("host/collectives/scheme/a.cpp", "collectives/frames/communicator.h"),
                           ("host/collectives/a.cpp", "collectives/scheme/scheme.h"),
                           ("host/collectives/frames/a.cpp", "transport/transport.h"),
                           ("drivers/xrt/a.cpp", "attention_decode/abi.h"),
                           ("drivers/cuda/a.cpp", "gemm/gemm.h"), ("drivers/registry.cpp", "cpu/backend.h"),
                           ("fpga_hls/attention_decode/a.cpp", "stages.h"),
                           ("tests/host/a.cpp", "engine/engine.h")):
            self.assertEqual(self.broken(path, name), [], f"{path} -> {name}")

    def test_refuses_what_points_up_or_sideways(self):
        for path, name in (("host/common/a.cpp", "tensor/dtype.h"), ("host/model/a.cpp", "engine/engine.h"),
                           ("host/engine/a.cpp", "server/http.h"), ("host/engine/a.cpp", "xrt/card.h"),
                           ("host/server/a.cpp", "engine/engine.h"), ("host/server/a.cpp", "model/graph.h"),
                           ("host/server/a.cpp", "device/device.h"),
                           ("host/collectives/frames/a.cpp", "collectives/scheme/scheme.h"),
                           ("host/collectives/scheme/a.cpp", "collectives/group.h"),
                           ("host/transport/a.cpp", "collectives/group.h"),
                           ("host/tensor/a.cpp", "device/device.h"), ("drivers/cpu/a.cpp", "model/graph.h"),
                           ("drivers/xrt/a.cpp", "emulation/card/memory.h"),
                           ("drivers/xrt/a.cpp", "attention_decode/stages.h"),
                           ("drivers/cpu/a.cpp", "gemm/gemm.h"), ("gpu_kernels/gemm/a.cu", "common/error.h"),
                           ("fpga_hls/attention_decode/a.cpp", "tensor/dtype.h"),
                           ("drivers/device/a.cpp", "../xrt/card.h")):
            self.assertEqual(self.broken(path, name), [path], f"{path} -> {name}")

    def test_the_rooms_of_bitstreams_point_one_way(self):
        for path, name in (("bitstreams/compiler/vpp/a.cpp", "bitstreams/tools/report.h"),
                           ("bitstreams/tools/a.cpp", "bitstreams/xclbin/inspect.h"),
                           ("bitstreams/xclbin/a.cpp", "common/error.h"),
                           ("bitstreams/compiler/glue/a.h", "include/hls_stream.h"),
                           ("drivers/emulation/card/a.cpp", "bitstreams/compiler/glue/kernel_entry.h")):
            self.assertEqual(self.broken(path, name), [], f"{path} -> {name}")
        for path, name in (("bitstreams/xclbin/a.cpp", "bitstreams/tools/report.h"),
                           ("bitstreams/tools/a.cpp", "bitstreams/compiler/vpp/stages.h"),
                           ("bitstreams/xclbin/a.cpp", "model/graph.h"),
                           ("bitstreams/recipes/a.cpp", "bitstreams/xclbin/inspect.h"),
                           ("bitstreams/compiler/glue/a.h", "common/error.h"),
                           ("host/engine/a.cpp", "bitstreams/xclbin/inspect.h")):
            self.assertEqual(self.broken(path, name), [path], f"{path} -> {name}")

    def test_keeps_generated_gradients_to_measurements(self):
        generators = "tensor/sparse/generate/"
        for path in ("host/apps/collectives/a.cpp", "host/collectives/simulation/a.cpp", "benchmarks/host/a.cpp"):
            self.assertEqual(self.broken(path, generators + "synthetic.h"), [], path)
        self.assertEqual(self.broken("host/collectives/sparsifier/a.cpp", generators + "random_subset.h"), [])
        for path in ("host/collectives/selection/a.cpp", "host/tensor/sparse/a.cpp"):
            self.assertEqual(self.broken(path, generators + "synthetic.h"), [path])

    def test_keeps_vendor_headers_in_their_driver(self):
        for name in ("CL/cl.h", "cuda_runtime.h", "xrt/xrt_device.h"):
            self.assertEqual(self.broken("host/engine/a.cpp", name, "<>"), ["host/engine/a.cpp"])
        self.assertEqual(self.broken("drivers/opencl/a.cpp", "CL/cl.h", "<>"), [])
        self.assertEqual(self.broken("fpga_hls/vector_add/host_opencl.cpp", "CL/cl.h", "<>"), [])
        self.assertEqual(self.broken("fpga_hls/vector_add/kernel.cpp", "CL/cl.h", "<>"),
                         ["fpga_hls/vector_add/kernel.cpp"])

    def test_ignores_includes_in_comments(self):
        self.assertEqual(self.broken("host/common/a.cpp", 'x"\n// #include "tensor/dtype.h'), [])


class FunctionsTest(unittest.TestCase):
    def names(self, text):
        return [(f.name, f.num_parameters) for f in functions(text)]

    def test_finds_definitions_and_counts_parameters(self):
        self.assertEqual(self.names("""
            namespace a { namespace {
            template <typename T, int N>
            std::map<T, int> f(std::map<int, T> x, int (*g)(int, int), T y = {1, 2}) { return {}; }
            struct S : Base<int> {
              S(int a, int b) : a_(a), b_{b}, c_{} { if (a) { b(); } }
              bool operator()(int x) const noexcept { return [&](int y) { return y; }(x); }
              int declared(int a, int b, int c);
              std::vector<int> v = {1, 2, 3};
            };
            extern "C" {
            void kernel() {}
            }
            TEST(Suite, Case) { EXPECT_EQ(1, 1); }
            auto Class::method(int a) -> std::vector<int> { return {a}; }
            }}"""), [("f", 3), ("S", 2), ("operator()", 1), ("kernel", 0), ("TEST", 2),
                     ("Class::method", 1)])

    def test_is_not_misled_by_text_and_preprocessor(self):
        self.assertEqual(self.names("""
            #define BRACE {
            const char* a = "}{"; char b = '{'; // {
            const char* raw = R"(  { { )";
            #if X
            void f(int a) {
            #else
            void f() {
            #endif
            }
            int million = 1'000'000;
            void g() {}"""), [("f", 1), ("g", 0)])

    def test_counts_lines_from_header_to_brace(self):
        (function,) = functions("\n\nint f(int a,\n      int b) {\n\n  return 0;\n}\n")
        self.assertEqual((function.first_line, function.num_lines), (3, 5))


class BudgetsTest(unittest.TestCase):
    def test_long_files_warn_and_then_fail(self):
        for lines, expected in ((390, []), (450, [True]), (701, [False])):
            found = findings(rules_budgets, {"a.cpp": HEAD + "\n" * lines})
            self.assertEqual([f.is_warning for f in found], expected)

    def test_long_opening_comments_warn_and_then_fail_and_contracts_may_be_longer(self):
        for lines, expected in ((9, []), (10, [True]), (19, [True]), (20, [False])):
            text = HEAD + "// A line.\n" * lines + "int a;\n"
            self.assertEqual([f.is_warning for f in findings(rules_budgets, {"a.h": text})], expected, lines)
        contract = HEAD + "// A line.\n" * 19 + "int a;\n"
        self.assertEqual(findings(rules_budgets, {"host/transport/transport.h": contract}), [])

    def test_long_functions_fail_and_kernels_may_be_longer(self):
        body = "void f() {\n" + "  g();\n" * 90 + "}\n"
        self.assertEqual(len(errors(rules_budgets, {"host/a.cpp": body})), 1)
        self.assertEqual(errors(rules_budgets, {"drivers/opencl/kernels/a.cl": body}), [])
        self.assertEqual(len(errors(rules_budgets, {"a.py": "def f():\n" + "    g()\n" * 90})), 1)

    def test_many_parameters_fail(self):
        parameters = ", ".join(f"int a{i}" for i in range(9))
        self.assertEqual(len(errors(rules_budgets, {"a.cpp": f"void f({parameters}) {{}}"})), 1)
        of_mpi = {"host/apps/trace_comm/pmpi/send_calls.cpp": f"void f({parameters}) {{}}"}
        self.assertEqual(errors(rules_budgets, of_mpi), [])


class StyleTest(unittest.TestCase):
    def messages(self, path, text):
        return [f.message for f in errors(rules_style, {path: text})]

    def test_accepts_a_proper_file(self):
        self.assertEqual(self.messages("host/a/b.h", HEAD + "#pragma once\n"), [])

    def test_refuses_each_breach(self):
        for path, text, word in (
                ("host/a.cpp", "int a;\n", "SPDX"),
                ("host/a.cpp", HEAD.splitlines()[0] + "\nint a;\n", "what this file is for"),
                ("host/a.py", "import os\n", "SPDX"),
                ("host/string_utils.cpp", HEAD, "'utils'"),
                ("host/misc/a.cpp", HEAD, "'misc'"),
                ("host/engine_v2.cpp", HEAD, "'v2'"),
                ("host/a.h", HEAD + "#pragma once\nusing namespace std;\n", "using namespace"),
                ("host/a.h", HEAD, "#pragma once"),
                ("host/a.cpp", HEAD + "// TODO: more\n", "TODO"),
                ("host/a.cpp", HEAD + 'const char* p = "/work/main/x";\n', "one machine"),
                ("host/engine/a.cpp", HEAD + 'auto x = std::getenv("A");\n', "environment")):
            found = self.messages(path, text)
            self.assertEqual(len(found), 1, f"{path}: {found}")
            self.assertIn(word, found[0])

    def test_programs_may_read_the_environment(self):
        self.assertEqual(self.messages("host/apps/a.cpp", HEAD + 'auto x = getenv("A");\n'), [])
        self.assertEqual(self.messages("host/a.cpp", HEAD + "// no getenv() here\n"), [])


class PagesTest(unittest.TestCase):
    TREE = {"a/b.h": HEAD, "a/page.md": "# A Page\n\n## What `x` does, and why\n"}

    def broken(self, text, path="README.md"):
        return [(f.line, f.message) for f in errors(rules_pages, {**self.TREE, path: text})]

    def test_accepts_links_to_files_folders_headings_and_other_sites(self):
        for link in ("a/b.h", "a", "a/", "a/page.md", "a/page.md#what-x-does-and-why", "https://x.org/y", "#here"):
            self.assertEqual(self.broken(f"see [it]({link})\n"), [], link)
        self.assertEqual(self.broken("[up](../README.md) [beside](b.h)\n", "a/other.md"),
                         [(1, "link to '../README.md': there is no such file")])

    def test_refuses_links_that_lead_nowhere(self):
        self.assertEqual(self.broken("one\n[a](a/b.h) [c](a/c.h)\n"),
                         [(2, "link to 'a/c.h': there is no such file")])
        self.assertEqual(self.broken("[a](a/page.md#why)\n"),
                         [(1, "link to 'a/page.md#why': a/page.md has no heading 'why'")])

    def test_leaves_code_alone(self):
        self.assertEqual(self.broken("`[a](b)`\n```\nx[0](1)\n```\n"), [])

    def test_holds_the_first_page_to_its_length(self):
        self.assertEqual(self.broken("a\n" * 130), [])
        self.assertEqual(self.broken("a\n" * 131), [(1, "page has 131 lines, budget 130")])
        self.assertEqual(self.broken("a\n" * 131, "a/long.md"), [])


if __name__ == "__main__":
    unittest.main()
