// SPDX-License-Identifier: Apache-2.0
//
// Rewritten dataflow regions, compiled and called: as processes of the runtime, and in order
// without it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "bitstreams/compiler/dataflow/dataflow.h"
#include "hls_stream.h"
#include "unit.h"

namespace tandem::hls_runtime_test {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// shapes.cpp as a library, made once.
class Shapes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (fs::temp_directory_path() / "tandem-rewritten-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    const std::string compiler =
        std::string(TANDEM_TEST_COMPILER) + " -std=gnu++14 -w -fPIC -I" + TANDEM_TEST_HLS_DIR + " ";
    const std::string path = folder.string();
    ASSERT_EQ(
        std::system((compiler + "-E " + TANDEM_TEST_SHAPES + " -o " + path + "/k.ii").c_str()), 0);
    xclbin::DataflowNotes notes;
    notes.macros = [] { return std::map<std::string, std::string>{{"STAGES", "5"}}; };
    std::ofstream(folder / "r.ii") << xclbin::rewrite_dataflow(read_text(folder / "k.ii"), &notes);
    EXPECT_TRUE(notes.warnings.empty());
    ASSERT_EQ(
        std::system((compiler + "-O1 -shared " + path + "/r.ii -o " + path + "/k.so").c_str()), 0);
    library = dlopen((path + "/k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
  }
  // The library stays: its threads' tasks may have destructors left.
  static void TearDownTestSuite() { fs::remove_all(folder); }

  static Outcome call(const char* name, int* out, int times = 1) {
    using Kernel = void (*)(int*);
    const auto kernel = reinterpret_cast<Kernel>(dlsym(library, name));
    if (kernel == nullptr) return {End::kStopped, "no such kernel"};
    Unit unit;
    return unit.run([kernel, out] { kernel(out); }, times);
  }
  static void expect(const char* name, int wanted, int times = 1) {
    int out = 0;
    const Outcome outcome = call(name, &out, times);
    EXPECT_EQ(outcome.end, End::kDone) << name << ": " << outcome.message;
    EXPECT_EQ(out, wanted) << name;
  }

  // The kernel's other end is a kernel that sends 3, 10, 20, 30 when the first has long started.
  static int call_with_late_writer(const char* name) {
    using Kernel = void (*)(hls::stream<int>&, int*);
    const auto kernel = reinterpret_cast<Kernel>(dlsym(library, name));
    EXPECT_NE(kernel, nullptr) << name;
    if (kernel == nullptr) return 0;
    UnitGroup group;
    Unit reader("reader_1", &group), writer("writer_1", &group);
    hls::stream<int> link_stream("link");
    link(link_stream, writer, reader);
    int out = 0;
    auto reading = reader.start([&] { kernel(link_stream, &out); });
    const auto wait = [&reader] {
      while (!reader.scheduler().asleep()) std::this_thread::yield();
    };
    wait();
    EXPECT_EQ(writer.run([&] { link_stream.write(3); }).end, End::kDone);
    const Outcome rest = writer.run([&] {
      for (const int value : {10, 20, 30}) link_stream.write(value);
    });
    EXPECT_EQ(rest.end, End::kDone) << rest.message;
    const Outcome outcome = reading.get();
    EXPECT_EQ(outcome.end, End::kDone) << name << ": " << outcome.message;
    return out;
  }

  static inline fs::path folder;
  static inline void* library = nullptr;
};

TEST_F(Shapes, RunConsumersInFrontOfProducers) { expect("backwards", 4950 + 100); }
TEST_F(Shapes, StartProcessesInLoops) { expect("chain_in_a_loop", 1225 + 500); }
TEST_F(Shapes, OpenARegionPerPass) { expect("region_in_a_loop", 20 * 45 + 10 * 190 - 45 - 130); }
TEST_F(Shapes, PassScalarsAsInSequence) { expect("scalars", 780); }
TEST_F(Shapes, JoinBeforeReturning) { expect("early_return", 21); }
TEST_F(Shapes, FeedBackThroughStaticStreams) { expect("feedback", 2 * 90, 2); }
TEST_F(Shapes, OpenRegionsInMethods) { expect("method", 135); }
TEST_F(Shapes, OpenRegionsInLambdas) { expect("in_a_lambda", 10 + 15); }
TEST_F(Shapes, MixProcessesAndTasks) { expect("with_tasks", 3 * (66 + 12), 3); }
TEST_F(Shapes, TakeDepthsFromConstantsAndMacros) { expect("deep", 53 + 1); }
TEST_F(Shapes, TakeDepthsFromConstantFunctions) { expect("deep_by_a_call", 16 + 1); }
TEST_F(Shapes, NameClassesInCalls) { expect("new_tags", 6 + 2 * 4); }

TEST_F(Shapes, RunTheCallsOfInlinedFunctionsAsProcessesOfTheRegion) {
  int out = 0;
  const auto kernel = reinterpret_cast<void (*)(int*)>(dlsym(library, "inlined"));
  ASSERT_NE(kernel, nullptr);
  Unit unit("unit_1", nullptr, false, 1 << 24, true);
  EXPECT_EQ(unit.run([&] { kernel(&out); }).end, End::kDone);
  EXPECT_EQ(out, 4950 + 3 * 100);
  EXPECT_TRUE(unit.scheduler().findings().depths.empty());
}

TEST_F(Shapes, KeepTheOrderOfAnInlinedFunctionThatUsesTheResultOfACall) {
  expect("inlined_in_order", 45);
}

TEST_F(Shapes, ReadNothingThatWaitsToBeWritten) {
  EXPECT_EQ(call_with_late_writer("late_scalar"), 60);
  EXPECT_EQ(call_with_late_writer("late_chain"), 63);
  EXPECT_EQ(call_with_late_writer("late_global"), 600);
  EXPECT_EQ(call_with_late_writer("late_words"), 63);
  EXPECT_EQ(call_with_late_writer("late_rows"), 60 + 30 + 10);
}
TEST_F(Shapes, KeepTheVariablesOfLoopsAndBlocks) {
  EXPECT_EQ(call_with_late_writer("late_loop"), 63);
  EXPECT_EQ(call_with_late_writer("late_block"), 63 + 63 + 6);
}
TEST_F(Shapes, BeginOutOfTurnWhereNothingElseCanRun) {
  expect("shared_table", 10 + 4);
  expect("shared_table_and_polls", 10);
}

TEST_F(Shapes, BeginOutOfTurnWhereLinkedUnitsWaitForEachOther) {
  using Kernel = void (*)(hls::stream<int>&, hls::stream<int>&, int*);
  const auto kernel = reinterpret_cast<Kernel>(dlsym(library, "shared_over_links"));
  ASSERT_NE(kernel, nullptr);
  UnitGroup group;
  Unit near("near_1", &group), far("far_1", &group, true);
  hls::stream<int> there("there"), back("back");
  link(there, near, far);
  link(back, far, near);
  auto answering = far.start([&] {
    for (int i = 0; i < 4; ++i) back.write(there.read() + 1);
  });
  int sum = 0;
  const Outcome outcome = near.run([&] { kernel(back, there, &sum); });
  EXPECT_EQ(outcome.end, End::kDone) << outcome.message;
  EXPECT_EQ(sum, 14);
  EXPECT_EQ(answering.get().end, End::kDone);
}

}  // namespace
}  // namespace tandem::hls_runtime_test
