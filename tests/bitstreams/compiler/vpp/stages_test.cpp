// SPDX-License-Identifier: Apache-2.0
//
// v++ as a whole, up to a kernel object: its messages, and the files that remain.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/depfile.h"
#include "bitstreams/xclbin/inspect.h"
#include "vpp/vpp_stages.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using xclbin::read_text;
using xclbin::write_text;

using Vpp = VppStages;

TEST_F(Vpp, CompilesAKernelWithClangWithoutAMessage) {
  if (std::system("clang++ --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs clang++";
  write_text("add.cpp", kAdd);
  environment_.compiler = "clang++";
  const Outcome compiled = compile("add", "add.cpp");
  ASSERT_EQ(compiled.status, 0) << compiled.messages;
  EXPECT_THAT(compiled.messages, IsEmpty());
}

TEST_F(Vpp, MacrosIncludesAndFlagsReachTheSource) {
  fs::create_directories("inc");
  write_text("inc/size.h", "#define ARGUMENTS int* out, int n\n");
  write_text("k.cpp",
             "#include \"size.h\"\n#ifdef __SYNTHESIS__\n#error\n#endif\n#ifndef __VITIS_HLS__\n"
             "#error\n#endif\n#define KERNEL(name) extern \"C\" void name(ARGUMENTS)\n"
             "static_assert(SIZE == 4 && FLAG == 2 && __cplusplus == 201703L, \"\");\n"
             "KERNEL(k) { out[0] = n; }\n");
  const Outcome compiled =
      compile("k", "k.cpp",
              {"-Iinc", "-DSIZE=4", "--advanced.prop", "kernel.k.kernel_flags=-std=c++17 -DFLAG=2",
               "--depfile", "k.d"});
  ASSERT_EQ(compiled.status, 0) << compiled.messages;
  ASSERT_EQ(link({"k.xo"}).status, 0);
  EXPECT_EQ(xclbin::inspect(std::string("a.xclbin")).kernels[0].arguments[0].name, "out");
  std::vector<std::string> names;
  for (const std::string& path : xclbin::parse_depfile(read_text("k.d"))) {
    EXPECT_TRUE(fs::exists(path)) << path;
    names.push_back(fs::path(path).filename().string());
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"k.cpp", "size.h", "kernel_glue.h"}));
}

TEST_F(Vpp, MacrosOfAKernelMayHaveAnyName) {
  std::string macros;
  std::vector<std::string> words = {
      "Type", "Element",  "name", "index", "begin", "end",  "value",  "call",       "entry",
      "Glue", "Argument", "Base", "size",  "text",  "make", "offset", "visibility", "KernelEntry"};
  for (char letter = 'A'; letter <= 'Z'; ++letter) words.emplace_back(1, letter);
  std::vector<std::string> flags = {"-I."};
  for (const std::string& word : words) {
    macros += "#define " + word + " 4 +\n";
    flags.push_back("-D" + word + "=(((");
  }
  write_text("macros.h", macros);
  const std::string kernel = "extern \"C\" void k(const int* a, int& b, int c) { b = a[0] + c; }\n";
  write_text("k.cpp", macros + kernel);
  const Outcome before = compile("k", "k.cpp");
  EXPECT_EQ(before.status, 0) << before.messages;
  write_text("k.cpp", "#include \"macros.h\"\n" + kernel);
  EXPECT_EQ(compile("k", "k.cpp").status, 0);
  write_text("k.cpp", kernel);
  const Outcome given = compile("k", "k.cpp", flags);
  EXPECT_EQ(given.status, 0) << given.messages;
  write_text("k.cpp", "#include <ap_int.h>\n#define T float\n" + kernel);
  EXPECT_EQ(compile("k", "k.cpp", {"-DSIZE=4", "-DF(x)=x"}).status, 0);
  write_text("k.cpp", "#define SIZE 5\n" + kernel);
  EXPECT_THAT(
      compile("k", "k.cpp", {"-DSIZE=4"}).messages,
      AllOf(HasSubstr("k.cpp:1:"), HasSubstr("<command-line>:"), Not(HasSubstr("wrapper"))));
}

TEST_F(Vpp, DepthsOfStreamsMayBeMacros) {
  const std::string head =
      "#include <hls_stream.h>\n#define DEPTH (2 * ROWS)\n"
      "static void put(hls::stream<int>& s) { s.write(1); }\n"
      "static void take(hls::stream<int>& s, int* out) { *out = s.read(); }\n"
      "extern \"C\" void k(int* out) {\n#pragma HLS dataflow\n hls::stream<int> s;\n";
  const std::string tail = "\n put(s);\n take(s, out);\n}\n";
  write_text("k.cpp", head + "#pragma HLS stream variable=s depth=DEPTH" + tail);
  const Outcome known = compile("k", "k.cpp", {"-DROWS=16", "--save-temps", "--temp_dir", "kept"});
  ASSERT_EQ(known.status, 0) << known.messages;
  EXPECT_THAT(known.messages, Not(HasSubstr("depth")));
  bool set = false;
  for (const auto& file : fs::recursive_directory_iterator("kept")) {
    if (file.path().extension() != ".ii") continue;
    set |= read_text(file.path().string()).find("stream_depth(s, ((2*(16))))") != std::string::npos;
  }
  EXPECT_TRUE(set);
  write_text("k.cpp", head + "#pragma HLS stream variable=s depth=NONE" + tail);
  const Outcome unknown = compile("k", "k.cpp");
  EXPECT_EQ(unknown.status, 0);
  EXPECT_THAT(unknown.messages, HasSubstr("k.cpp:8: depth=NONE of stream 's'"));
}

TEST_F(Vpp, AnotherSetOfHlsHeadersCanBeUsed) {
  write_text("mine/ap_int.h", "#pragma once\n#define MINE 1\n");
  write_text("k.cpp", "#include <ap_int.h>\nextern \"C\" void k(int* out) { out[0] = MINE; }\n");
  EXPECT_EQ(compile("k", "k.cpp", {"--hls_include", "mine"}).status, 0);
  EXPECT_NE(compile("k", "k.cpp").status, 0);
  environment_.hls_includes = "mine";
  EXPECT_EQ(compile("k", "k.cpp").status, 0);
}

TEST_F(Vpp, CompilersMessagesHaveTheUsersFileAndLine) {
  fs::create_directories("src");
  write_text("src/k.h", "#pragma once\nint wrong() { return nothing; }\n");
  write_text("src/k.cpp",
             "#include \"k.h\"\n// comment\nextern \"C\" void k(int* out, int n) {\n#pragma HLS "
             "dataflow\n  out[0] = oops;\n}\n");
  write_text("k.xo", "of an earlier call");
  const Outcome outcome = compile("k", "src/k.cpp");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.messages, AllOf(HasSubstr("src/k.cpp:5:"), HasSubstr("oops"),
                                      HasSubstr("src/k.h:2:"), Not(HasSubstr("wrapper"))));
  EXPECT_FALSE(fs::exists("k.xo"));
  write_text("broken.cpp", "#include \"absent.h\"\n");
  EXPECT_THAT(compile("k", "broken.cpp").messages, HasSubstr("broken.cpp:1:"));
  const std::vector<std::string> onto_input = {"-c", "-t", "sw_emu", "-f",         "u280",
                                               "-k", "k",  "-o",     "broken.cpp", "broken.cpp"};
  EXPECT_EQ(run(onto_input).status, 1);
  EXPECT_TRUE(fs::exists("broken.cpp")) << "an input stays";
  EXPECT_THAT(read_text("v++_k.log"), HasSubstr("absent.h")) << "the log has it too";
}

TEST_F(Vpp, MistypedPragmasAreWarnedOfAtTheirPlace) {
  write_text("part.h", "#pragma once\n#pragma HLS allocatoin instances=mul limit=1\n");
  write_text("add.cpp",
             "#include \"part.h\"\n#include <ap_int.h>\n#include <hls_stream.h>\n"
             "extern \"C\" void add(int* a) {\n#pragma HLS interface m_axxi \\\n port=a\n"
             "#pragma HLS dataflw\n  a[0] = 1;\n}\n");
  write_text("other.cpp", "#include \"part.h\"\n");
  const Outcome outcome = compile("add", "add.cpp", {"other.cpp"});
  EXPECT_EQ(outcome.status, 0) << outcome.messages;
  EXPECT_EQ(
      outcome.messages,
      "WARNING: [v++] " + fs::absolute("part.h").string() +
          ":2: #pragma HLS allocatoin is unknown and has no effect (did you "
          "mean 'allocation'?)\n"
          "WARNING: [v++] add.cpp:5: #pragma HLS interface has no option 'm_axxi' (did you mean "
          "'m_axi'?)\n"
          "WARNING: [v++] add.cpp:7: #pragma HLS dataflw is unknown and has no effect (did you "
          "mean 'dataflow'?)\n");
}

TEST_F(Vpp, SaveTempsKeepsWhatLiesBetween) {
  write_text("add.cpp", kAdd);
  ASSERT_EQ(compile("add", "add.cpp", {"--save-temps", "--temp_dir", "temps"}).status, 0);
  ASSERT_EQ(link({"add.xo"}, {"-s", "--temp_dir=temps"}).status, 0);
  ASSERT_EQ(compile("add", "add.cpp", {"-s", "--temp_dir=temps", "-o", "other/add.xo"}).status, 0);
  std::vector<std::string> kept;
  for (const auto& entry : fs::recursive_directory_iterator("temps")) {
    const std::string name = entry.path().filename().string();
    if (name == "add0.ii" || name == "kernels.so") kept.push_back(name);
  }
  EXPECT_THAT(kept, testing::UnorderedElementsAre("add0.ii", "add0.ii", "kernels.so"))
      << "outputs of one name keep their own";
}

TEST_F(Vpp, ErrorsOfTheCompileStageAreOneSentence) {
  write_text("add.cpp", kAdd);
  EXPECT_THAT(compile("adder", "add.cpp").messages,
              AllOf(HasSubstr("'adder'"), HasSubstr("add, helper, sub")));
  EXPECT_THAT(compile("add", "nowhere.cpp").messages, HasSubstr("no such source: nowhere.cpp"));
  EXPECT_THAT(run({"-c", "-t", "sw_emu", "add.cpp"}).messages, HasSubstr("add -k"));
  EXPECT_THAT(compile("add", "add.cpp", {"-k", "sub"}).messages, HasSubstr("one kernel"));
  EXPECT_THAT(compile("add", "add.cpp", {"-t", "hw"}).messages, HasSubstr("vendor's tools"));
  EXPECT_THAT(compile("add", "add.cpp", {"-f", "z9"}).messages, HasSubstr("z9"));
  EXPECT_THAT(compile("add", "add.cpp", {"-o", "add.cpp/x.xo"}).messages, HasSubstr("add.cpp"));
  EXPECT_THAT(compile("add", "add.cpp", {"--what"}).messages, HasSubstr("WARNING"));
  environment_.compiler = "no-such-compiler";
  EXPECT_THAT(compile("add", "add.cpp").messages, HasSubstr("no-such-compiler"));
}

TEST_F(Vpp, KernelsHaveACheckedCopyUnlessItIsSwitchedOff) {
  write_text("add.cpp", kAdd);
  ASSERT_EQ(compile("add", "add.cpp").status, 0);
  EXPECT_THAT(read_text("add.xo"), Not(HasSubstr("tandem_checked_add")));
  for (const char* checks : {"", "on"}) {
    environment_.checks = checks;
    ASSERT_EQ(compile("add", "add.cpp").status, 0);
    EXPECT_THAT(read_text("add.xo"), HasSubstr("tandem_checked_add"));
  }
  environment_.checks = "maybe";
  EXPECT_THAT(compile("add", "add.cpp").messages,
              HasSubstr("TANDEM_KERNEL_CHECKS is 'maybe'; set it to on or off"));
}

// If the build has g++'s plugin, and v++'s compiler loads it.
TEST_F(Vpp, LoopsOfACheckedCopyLookAtWholeRanges) {
  const bool has_plugin =
      xclbin::accepts_flag("c++", "-fplugin=" + environment_.tree + "/lib/tandem_loop_checks.so");
  write_text("add.cpp", kAdd);
  environment_.checks = "on";
  environment_.times = "off";
  ASSERT_EQ(compile("add", "add.cpp", {"--save-temps", "--temp_dir", "temps"}).status, 0);
  std::string assembly;
  for (const auto& entry : fs::recursive_directory_iterator("temps")) {
    if (entry.path().filename() == "add0.checked.s") assembly = read_text(entry.path().string());
  }
  ASSERT_THAT(assembly, HasSubstr("__asan_store4_noabort@PLT")) << "the version with checks";
  for (const char* text : {"tandem_range_ok@PLT", "tandem_take4@PLT", "tandem_checked_follows"}) {
    EXPECT_EQ(assembly.find(text) != std::string::npos, has_plugin) << text;
  }
}

// As one that was built for another version of g++.
TEST_F(Vpp, APluginThatTheCompilerRefusesIsLeftOutWithAWarning) {
  fs::create_directories("tree/lib");
  fs::create_directory_symlink(fs::path(environment_.tree) / "vitis", "tree/vitis");
  environment_.tree = fs::absolute("tree").string();
  environment_.checks = "on";
  environment_.times = "off";
  write_text("add.cpp", kAdd);
  write_text("tree/lib/tandem_loop_checks.so", "no plugin");
  const Outcome compiled = compile("add", "add.cpp");
  EXPECT_EQ(compiled.status, 0) << compiled.messages;
  const std::string told = "all loops keep their checks, so checked runs take longer: ";
  const size_t first = compiled.messages.find(told);
  ASSERT_NE(first, std::string::npos) << compiled.messages;
  EXPECT_EQ(compiled.messages.find(told, first + 1), std::string::npos) << "told once";
  EXPECT_THAT(compiled.messages, HasSubstr("does not load the plugin " + environment_.tree +
                                           "/lib/tandem_loop_checks.so; build Tandem with"));
  EXPECT_THAT(read_text("add.xo"), HasSubstr("tandem_checked_add"));
}

// The kernel is compiled all the same.
TEST_F(Vpp, APluginThatCrashesTheCompilerIsLeftOutWithAWarning) {
  if (!xclbin::accepts_flag("c++", "-fno-gnu-unique")) GTEST_SKIP() << "c++ is not g++";
  fs::create_directories("tree/lib");
  fs::create_directory_symlink(fs::path(environment_.tree) / "vitis", "tree/vitis");
  environment_.tree = fs::absolute("tree").string();
  environment_.checks = "on";
  environment_.times = "off";
  write_text("add.cpp", kAdd);
  write_text("plugin.cpp",
             "#include <cstdlib>\n#include <fstream>\n#include <iterator>\n#include <string>\n"
             "int plugin_is_GPL_compatible;\n"
             "extern \"C\" int plugin_init(void*, void*) {\n"
             "  std::ifstream in(\"/proc/self/cmdline\", std::ios::binary);\n"
             "  const std::string words{std::istreambuf_iterator<char>(in), {}};\n"
             "  if (words.find(\".checked.ii\") != std::string::npos) std::abort();\n"
             "  return 0;\n}\n");
  xclbin::run_tool(
      {"c++", "-shared", "-fPIC", "plugin.cpp", "-o", "tree/lib/tandem_loop_checks.so"},
      "the plugin does not compile");
  const Outcome compiled = compile("add", "add.cpp");
  EXPECT_EQ(compiled.status, 0) << compiled.messages;
  EXPECT_THAT(compiled.messages,
              HasSubstr("kernel 'add': its checked copy is made without the plugin, so its loops "
                        "keep their checks and fewer variables without a value are found: "));
  EXPECT_THAT(compiled.messages, HasSubstr(" fails with " + environment_.tree + "/lib/"));
  EXPECT_THAT(read_text("add.xo"), HasSubstr("tandem_checked_add"));
}

TEST_F(Vpp, SaysWhichStoresItCannotCheck) {
  write_text("bits.cpp",
             "struct Bits { int low : 4; int high : 4; };\n"
             "extern \"C\" void bits(Bits* values, int n) {\n"
             "  for (int i = 0; i < n; ++i) values[i].low += 1;\n}\n");
  environment_.checks = "on";
  environment_.times = "off";
  const Outcome compiled = compile("bits", "bits.cpp");
  EXPECT_EQ(compiled.status, 0) << compiled.messages;
  EXPECT_THAT(compiled.messages,
              HasSubstr("kernel 'bits': its stores of statements such as `a[i] += x` are not "
                        "checked"));
  EXPECT_THAT(read_text("bits.xo"), HasSubstr("tandem_checked_bits"));
}

TEST_F(Vpp, TheDependenciesOfAnUnnamedOutputHaveItsName) {
  write_text("add.cpp", kAdd);
  ASSERT_EQ(run({"-c", "-t", "sw_emu", "-k", "add", "add.cpp", "--depfile", "d"}).status, 0);
  EXPECT_THAT(read_text("d"), testing::StartsWith("add.xo: "));
  EXPECT_THAT(read_text("d"), HasSubstr("/glue/kernel_glue.h"));
}

TEST_F(Vpp, TheVersionIsOnTheFirstLineAsMakefilesReadIt) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_program({"--version"}, environment_), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              AllOf(testing::StartsWith("****** v++ v2022.1 (64-bit)\n"), HasSubstr("Tandem")));
}

TEST_F(Vpp, AKernelMayBeCalledLikeAFunctionOfTheStandardLibrary) {
  write_text("fill.cpp",
             "#include <ap_int.h>\n#include <algorithm>\nusing namespace std;\n"
             "extern \"C\" void fill(int* o, int v, int n) { for (int i = 0; i < n; ++i) o[i] = v; "
             "}\n");
  const Outcome compiled = compile("fill", "fill.cpp");
  ASSERT_EQ(compiled.status, 0) << compiled.messages;
  ASSERT_EQ(link({"fill.xo"}).status, 0);
  const xclbin::XclbinInfo info = xclbin::inspect(std::string("a.xclbin"));
  ASSERT_EQ(info.kernels[0].arguments.size(), 3u);
  EXPECT_EQ(info.kernels[0].arguments[1].name, "v");
}

TEST_F(Vpp, FlagsOfCppKernelsMayBeGivenToOpenClKernelsToo) {
  if (std::system("clang --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no clang here";
  write_text("k.cl", "__kernel void k(__global int* a) { a[0] = SIZE; }\n");
  environment_.kernel_flags = "-std=c++17 -DSIZE=4";
  const Outcome compiled = compile("k", "k.cl");
  EXPECT_EQ(compiled.status, 0) << compiled.messages;
}

// The first clang has no MemorySanitizer, the second none of the sanitizers.
TEST_F(Vpp, SaysWhichChecksOfOpenClKernelsClangCannotCompile) {
  if (std::system("clang --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no clang here";
  write_text("k.cl", "__kernel void k(__global int* a) { a[0] = 4; }\n");
  environment_.checks = "on";
  environment_.times = "off";
  const std::string told = "kernels of k.cl get checks of their addresses only, not of work-items";
  EXPECT_THAT(compile("k", "k.cl").messages, Not(HasSubstr(told)));
  for (const char* missing : {"-fsanitize=memory", "-fsanitize=*"}) {
    write_text("clang", std::string("#!/bin/sh\nfor word; do case $word in ") + missing +
                            ") exit 1 ;; esac; done\nexec clang \"$@\"\n");
    fs::permissions("clang", fs::perms::owner_all);
    environment_.clang = fs::absolute("clang").string();
    const Outcome compiled = compile("k", "k.cl");
    EXPECT_EQ(compiled.status, 0) << compiled.messages;
    const bool has_copy = read_text("k.xo").find("tandem_checked_k") != std::string::npos;
    EXPECT_EQ(has_copy, std::string(missing) == "-fsanitize=memory");
    EXPECT_THAT(compiled.messages,
                HasSubstr(has_copy ? told : "kernels of k.cl get no checks of their memory"));
  }
}

TEST_F(Vpp, AFailingStageLeavesNoOutput) {
  write_text("add.cpp", kAdd);
  ASSERT_EQ(compile("add", "add.cpp").status, 0);
  // 32 banks and 256 ranges of them are more rows than a card reads.
  std::string lines = "[connectivity]\nnk=add:126\n";
  for (int unit = 0; unit < 126; ++unit) {
    const std::string name = "sp=add_" + std::to_string(unit + 1);
    const std::string first = std::to_string(unit / 16);
    lines += name + ".in:HBM[" + first + ":" + std::to_string(unit % 16 + 16) + "]\n";
    lines += name + ".out:HBM[" + std::to_string(unit / 16 + 8) + ":" +
             std::to_string(unit % 16 + 16) + "]\n";
  }
  write_text("rows.cfg", lines);
  const Outcome linked = link({"add.xo"}, {"--config", "rows.cfg"});
  EXPECT_EQ(linked.status, 1);
  EXPECT_THAT(linked.messages, HasSubstr("memory rows"));
  EXPECT_FALSE(fs::exists("a.xclbin"));
  ASSERT_EQ(link({"add.xo"}).status, 0);
  EXPECT_THAT(run({"-p", "a.xclbin", "-t", "sw_emu", "-o", "p.xclbin", "--package.out_dir", "out",
                   "--package.sd_file", "absent.txt"})
                  .messages,
              HasSubstr("absent.txt"));
  EXPECT_FALSE(fs::exists("p.xclbin"));
  EXPECT_FALSE(fs::exists("out"));
  fs::remove("add.xo");
  EXPECT_EQ(compile("add", "add.cpp", {"--depfile", "add.cpp/d"}).status, 1);
  EXPECT_FALSE(fs::exists("add.xo"));
  EXPECT_EQ(link({"gone.xo"}, {"-o", "b.xclbin"}).status, 1);
}

TEST_F(Vpp, WorksWithClangToo) {
  if (std::system("clang++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no clang++ here";
  write_text("add.cpp", kAdd);
  environment_.compiler = "clang++";
  const Outcome compiled = compile("add", "add.cpp");
  const Outcome linked = link({"add.xo"});
  const Outcome wrong = compile("broken", "gone.cpp");
  EXPECT_EQ(compiled.status, 0) << compiled.messages;
  EXPECT_EQ(linked.status, 0) << linked.messages;
  EXPECT_EQ(wrong.status, 1);
}

}  // namespace
}  // namespace tandem::vpp
