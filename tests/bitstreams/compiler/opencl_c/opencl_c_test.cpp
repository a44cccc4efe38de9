// SPDX-License-Identifier: Apache-2.0
//
// OpenCL C to kernel objects: the rewriting of a source, the signatures from clang's output, and
// errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bitstreams/compiler/opencl_c/compile.h"
#include "bitstreams/compiler/opencl_c/signature.h"
#include "bitstreams/compiler/opencl_c/source_rewriter.h"
#include "common/error.h"

namespace tandem::opencl_c {
namespace {

namespace fs = std::filesystem;

std::string rewritten(const std::string& text) { return rewrite_source(text, "k.cl").text; }

TEST(SourceRewriterTest, VendorAttributesBecomeBlanksOfTheSameLength) {
  EXPECT_EQ(rewritten("__attribute__((xcl_pipeline_loop(1))) for(;;);"),
            std::string(37, ' ') + " for(;;);");
  EXPECT_EQ(rewritten("int a[4] __attribute__((xcl_array_partition(cyclic, 4,\n 1)));"),
            "int a[4] " + std::string(45, ' ') + "\n" + std::string(5, ' ') + ";");
  EXPECT_EQ(rewritten("x: __attribute__((opencl_unroll_hint)) for(;;);"),
            "x: " + std::string(35, ' ') + " for(;;);");
}

TEST(SourceRewriterTest, OtherAttributesStay) {
  const std::string kernel = "kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k() {}";
  EXPECT_EQ(rewritten(kernel), kernel);
  EXPECT_EQ(rewritten("int a __attribute__((xcl_x(1), aligned(64)));"),
            "int a __attribute__((" + std::string(9, ' ') + " aligned(64)));");
  EXPECT_EQ(rewritten("int a __attribute__((aligned(64), xcl_x));"),
            "int a __attribute__((aligned(64)," + std::string(6, ' ') + "));");
}

TEST(SourceRewriterTest, StringsCharactersAndLineMarkersAreNotLookedInto) {
  for (const std::string text : {"\"__attribute__((xcl_a))\\\" pipe\"",
                                 "'\"' ; '\\'' ; \"pipe int p;\"", "# 1 \"pipe int p;\"\nint x;"}) {
    EXPECT_EQ(rewritten(text), text);
  }
}

TEST(SourceRewriterTest, PipesBecomeNumbersOnTheirLine) {
  const RewrittenSource source = rewrite_source(
      "pipe int first __attribute__((xcl_reqd_pipe_depth(32)));\n"
      "__pipe float4\n second;\nint x;\n",
      "k.cl");
  ASSERT_EQ(source.pipes.size(), 2u);
  EXPECT_EQ(source.pipes[0].name, "first");
  EXPECT_EQ(source.pipes[0].depth, 32u);
  EXPECT_EQ(source.pipes[1].name, "second");
  EXPECT_EQ(source.pipes[1].depth, 0u);
  EXPECT_EQ(std::count(source.text.begin(), source.text.end(), '\n'), 4);
  EXPECT_NE(source.text.find("enum { second = 1 };\n\nint x;"), std::string::npos);
}

TEST(SourceRewriterTest, HintsAboutTimeHaveTheLineOfTheirLoopOrTheirVariable) {
  const RewrittenSource source = rewrite_source(
      "# 7 \"k.cl\"\n"
      "local int a[4] [2] __attribute__((xcl_array_partition(cyclic, 4, 2), aligned(64)));\n"
      "__attribute__((xcl_pipeline_loop(2)))\n"
      "// label\nread : for (;;)\n"
      "  __attribute__((opencl_unroll_hint)) while (x) ;\n"
      "# 40 \"other.h\"\n"
      "int b[8] __attribute__((xcl_array_partition(complete, 1)));\n",
      "k.cl");
  ASSERT_EQ(source.hints.size(), 4u);
  EXPECT_EQ(source.hints[0].variable, "a");
  EXPECT_EQ(source.hints[0].kind, "cyclic");
  EXPECT_EQ(source.hints[0].values, (std::vector<std::uint32_t>{4, 2}));
  EXPECT_EQ(source.hints[1].name, "xcl_pipeline_loop");
  EXPECT_EQ(source.hints[1].values, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(source.hints[1].file, "k.cl");
  EXPECT_EQ(source.hints[1].line, 10);
  EXPECT_EQ(source.hints[2].line, 11);
  EXPECT_TRUE(source.hints[2].values.empty());
  EXPECT_EQ(source.hints[3].variable, "b");
  EXPECT_EQ(source.hints[3].file, "other.h");
}

TEST(SourceRewriterTest, AMaximumGroupBelongsToItsKernel) {
  const RewrittenSource source = rewrite_source(
      "kernel __attribute__((xcl_max_work_group_size(8, 4, 2))) void a(int x);\n"
      "__attribute__((xcl_max_work_group_size(64))) kernel void b();",
      "k.cl");
  EXPECT_EQ(source.maximum_groups.at("a"), (std::array<std::uint32_t, 3>{8, 4, 2}));
  EXPECT_EQ(source.maximum_groups.at("b"), (std::array<std::uint32_t, 3>{64, 0, 0}));
}

TEST(SourceRewriterTest, BadInputIsNamed) {
  EXPECT_THROW(rewrite_source("__attribute__((xcl_a", "k.cl"), Error);
  EXPECT_THROW(rewrite_source("pipe p;", "k.cl"), Error);
  EXPECT_THROW(rewrite_source("pipe int a, b;", "k.cl"), Error);
  EXPECT_THROW(define_conversions({"convert_float_rtp"}, "k.cl"), Error);
  for (const std::string text :
       {"", "__attribute__", "__attribute__(", "\"", "'", "pipe", "#", "\\"}) {
    try {
      rewrite_source(text, "k.cl");
    } catch (const Error&) {
    }
  }
}

TEST(SignatureTest, TextThatIsNoModuleIsReadWithoutHarm) {
  for (const std::string text : {"", "define", "define @", "define void @k() !kernel_arg_type !",
                                 "!0 = ", "!0 = !{!\"", "@tandem_cl_pipe_bytes_0 = i32 "}) {
    EXPECT_NO_THROW(describe_module(text, "k.cl")) << text;
  }
  EXPECT_THROW(
      describe_module("define void @k() !kernel_arg_type !0 {\n}\n!0 = !{!\"int\"}\n", "k.cl"),
      Error);
}

class CompileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v clang > /dev/null || command -v clang-14 > /dev/null") != 0)
      GTEST_SKIP() << "no clang";
    std::string pattern = (fs::temp_directory_path() / "tandem-opencl-c-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  CompileResult compile(const std::string& text, std::vector<std::string> kernels = {},
                        std::vector<std::string> flags = {}) {
    CompileOptions options;
    options.source = folder_ / "k.cl";
    std::ofstream(options.source) << text;
    options.kernels = std::move(kernels);
    options.flags = std::move(flags);
    options.object = folder_ / "k.o";
    options.scratch = folder_;
    options.glue_folder = TANDEM_GLUE_FOLDER;
    options.hls_folder = TANDEM_HLS_FOLDER;
    options.clang = clang_;
    return compile_opencl_c(options);
  }

  std::string message(const std::string& text, std::vector<std::string> kernels = {}) {
    try {
      compile(text, std::move(kernels));
    } catch (const Error& error) {
      EXPECT_FALSE(fs::exists(folder_ / "k.o"));
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
  std::string clang_;
};

TEST_F(CompileTest, ASingleItemKernelHasItsOwnArgumentsOnly) {
  const CompileResult result = compile(
      "kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k(global float4* a, constant "
      "int* b,"
      " local int* c, N n) {}",
      {}, {"-DN=uint"});
  ASSERT_EQ(result.kernels.size(), 1u);
  const Kernel& kernel = result.kernels[0];
  ASSERT_EQ(kernel.arguments.size(), 4u);
  EXPECT_EQ(kernel.arguments[0].type, "float4*");
  EXPECT_EQ(kernel.arguments[1].kind, 1u);
  EXPECT_EQ(kernel.arguments[2].kind, 3u);
  EXPECT_EQ(kernel.arguments[3].name, "n");
  EXPECT_EQ(kernel.required_group, (std::array<std::uint32_t, 3>{1, 1, 1}));
}

TEST_F(CompileTest, AKernelOfManyItemsIsToldItsPlace) {
  const CompileResult result = compile("kernel void k(global int* a) { a[get_global_id(0)] = 1; }");
  const auto& arguments = result.kernels[0].arguments;
  ASSERT_EQ(arguments.size(), 14u);
  EXPECT_FALSE(arguments[0].hidden);
  EXPECT_EQ(arguments[1].name, "work_dim");
  EXPECT_EQ(arguments[2].name, "group_id");
  EXPECT_EQ(arguments[13].name, "local_size");
  EXPECT_TRUE(arguments[13].hidden);
}

TEST_F(CompileTest, KernelsAreChosenByNameAndKnowTheirPipes) {
  const std::string text =
      "pipe int p __attribute__((xcl_reqd_pipe_depth(8)));\n"
      "void put(int v) { write_pipe_block(p, &v); }\n"
      "kernel void a(int n) { put(n); }\n"
      "kernel void b(global int* o) { read_pipe_block(p, o); }\n";
  const CompileResult result = compile(text, {"b"});
  ASSERT_EQ(result.kernels.size(), 1u);
  EXPECT_EQ(result.kernels[0].arguments.back().pipe, "p");
  EXPECT_FALSE(result.kernels[0].arguments.back().writes);
  EXPECT_TRUE(compile(text, {"a"}).kernels[0].arguments.back().writes);
}

TEST_F(CompileTest, ErrorsHaveTheUsersFileAndLine) {
  const std::string text =
      message("int x(int);\n\nkernel void k(global int* a) {\n  a[0] = y;\n}\n");
  EXPECT_NE(text.find((folder_ / "k.cl").string() + ":4:10: error:"), std::string::npos) << text;
}

TEST_F(CompileTest, WhatIsMissingIsNamed) {
  EXPECT_NE(message("void f() {}").find("defines no kernel"), std::string::npos);
  EXPECT_NE(message("kernel void a() {}", {"b"}).find("no kernel 'b'; it has a"),
            std::string::npos);
  EXPECT_NE(message("#include \"missing.h\"\n").find("k.cl:1:10: fatal error"), std::string::npos);
}

TEST_F(CompileTest, AClangThatIsNotThereIsNamed) {
  clang_ = "/nowhere/clang";
  EXPECT_NE(message("kernel void a() {}").find("TANDEM_CLANG names '/nowhere/clang'"),
            std::string::npos);
  clang_.clear();
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  EXPECT_NE(message("kernel void a() {}").find("install the package clang"), std::string::npos);
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace tandem::opencl_c
