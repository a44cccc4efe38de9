// SPDX-License-Identifier: Apache-2.0
//
// Runs with tried depths: streams grow one by one from depth 1, fixed ones stay, and the folder
// tells what was found.
#include "fpga_hls/runtime/depth_trial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "hls_stream.h"
#include "unit.h"

namespace tandem::hls_runtime_test {
namespace {

using hls_runtime::DepthTrial;

class TrialFolder {
 public:
  explicit TrialFolder(const std::string& plan) {
    std::string name = (std::filesystem::temp_directory_path() / "depth_trial.XXXXXX").string();
    path_ = mkdtemp(name.data());
    std::ofstream(path_ + "/plan") << plan;
  }
  ~TrialFolder() { std::filesystem::remove_all(path_); }
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
  const std::string& path() const { return path_; }
  // How often `found` has a line that begins so.
  int count(const std::string& begin) const {
    std::ifstream in(path_ + "/found");
    int count = 0;
    for (std::string line; std::getline(in, line);) count += line.rfind(begin, 0) == 0 ? 1 : 0;
    return count;
  }

 private:
  std::string path_;
};

constexpr int kCrossed = 100;
int made_at = 0;

// `first` must hold all its values before `second` has one; `stated` has a depth beyond its need.
void crossed_streams() {
  made_at = __LINE__ + 1;
  hls::stream<int> first("first"), second("second"), stated("stated");
  stated.set_depth(64);
  Region region;
  region.start("give", [&] {
    for (int i = 0; i < kCrossed; ++i) first.write(i);
    for (int i = 0; i < kCrossed; ++i) second.write(i), stated.write(i);
  });
  region.start("take", [&] {
    for (int i = 0; i < kCrossed; ++i) (void)second.read(), (void)stated.read();
    for (int i = 0; i < kCrossed; ++i) (void)first.read();
  });
  region.join();
}

std::string line_of(const char* what, int depth, const char* stream) {
  return std::string(what) + "\t" + std::to_string(depth) + "\t" + std::to_string(made_at) + "\t" +
         stream + "\t" + __FILE__;
}

TEST(DepthTrial, StreamsGrowFromOneByWhatTheyNeed) {
  const TrialFolder folder("");
  DepthTrial trial(folder.path());
  Unit unit("unit_1", nullptr, false, 1 << 24, false, &trial);
  for (int run = 0; run < 2; ++run) EXPECT_EQ(unit.run(crossed_streams).end, End::kDone);
  EXPECT_EQ(folder.count(line_of("stream", 0, "first")), 1);
  EXPECT_EQ(folder.count(line_of("stream", 0, "second")), 1);
  EXPECT_EQ(folder.count(line_of("stream", 64, "stated")), 1);
  EXPECT_EQ(folder.count(line_of("needs", kCrossed, "first")), 1);
  EXPECT_EQ(folder.count("needs"), 1);
}

// The statement of a pragma runs at every call of its function.
TEST(DepthTrial, AStreamThatIsToldItsDepthAgainIsStillTried) {
  const TrialFolder folder("");
  DepthTrial trial(folder.path());
  Unit unit("unit_1", nullptr, false, 1 << 24, false, &trial);
  const auto kernel = [] {
    hls::stream<int> values("values");
    for (const int count : {1, 40}) {
      values.set_depth(64);
      for (int i = 0; i < count; ++i) values.write(i);
      for (int i = 0; i < count; ++i) (void)values.read();
    }
  };
  EXPECT_EQ(unit.run(kernel).end, End::kDone);
  EXPECT_EQ(folder.count("needs\t40\t"), 1);
}

TEST(DepthTrial, AFixedStreamDoesNotGrow) {
  Unit().run(crossed_streams);  // for its line
  const auto plan = [](int depth) {
    return std::to_string(depth) + "\t" + std::to_string(made_at) + "\tfirst\t" + __FILE__ + "\n";
  };
  const TrialFolder enough(plan(kCrossed)), too_little(plan(kCrossed - 1));
  DepthTrial good(enough.path()), bad(too_little.path());
  Unit unit("unit_1", nullptr, false, 1 << 24, false, &good);
  EXPECT_EQ(unit.run(crossed_streams).end, End::kDone);
  EXPECT_EQ(enough.count("needs"), 0);
  Unit stuck("unit_2", nullptr, false, 1 << 24, false, &bad);
  EXPECT_EQ(stuck.run(crossed_streams).end, End::kDeadlock);
}

// One process that writes all before it reads needs the depth too, far beyond what it is stated.
TEST(DepthTrial, AProcessThatReadsItsOwnValuesNeedsRoomForThem) {
  const TrialFolder folder("");
  DepthTrial trial(folder.path());
  Unit unit("unit_1", nullptr, false, 1 << 24, false, &trial);
  const auto kernel = [] {
    hls::stream<char> values("values");
    for (int i = 0; i < 70000; ++i) values.write('x');
    for (int i = 0; i < 70000; ++i) (void)values.read();
  };
  EXPECT_EQ(unit.run(kernel).end, End::kDone);
  EXPECT_EQ(folder.count("needs\t70000\t"), 1);
}

TEST(DepthTrial, StreamsOfFreeRunningUnitsKeepTheirDepths) {
  const TrialFolder folder("");
  DepthTrial trial(folder.path());
  Unit unit("free_1", nullptr, true, 1 << 24, false, &trial);
  const auto kernel = [] {
    hls::stream<int> values("values");
    values.set_depth(2);
    values.write(1);
    EXPECT_EQ(values.tandem_channel().depth, 2u);
    (void)values.read();
  };
  EXPECT_EQ(unit.run(kernel).end, End::kDone);
  EXPECT_EQ(folder.count("stream"), 0);
}

TEST(DepthTrial, APlanThatDoesNotReadIsToldWithItsLine) {
  const auto message = [](const std::string& plan) -> std::string {
    const TrialFolder folder(plan);
    try {
      const DepthTrial trial(folder.path());
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message("4\t10\ts\tk.cpp\n"), "");
  for (const char* bad :
       {"0\t10\ts\tk.cpp\n", "4\t10 s k.cpp\n", "4\t10\ts\n", "x\t10\ts\tk.cpp\n"}) {
    EXPECT_NE(message("4\t10\ts\tk.cpp\n" + std::string(bad)).find("plan:2: expected DEPTH"),
              std::string::npos)
        << bad;
  }
  EXPECT_THROW(DepthTrial("/nowhere"), std::runtime_error);
}

}  // namespace
}  // namespace tandem::hls_runtime_test
