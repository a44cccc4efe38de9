// SPDX-License-Identifier: Apache-2.0
//
// The file of costs: kept, read again, and measured anew where it is of something else.
#include "apps/serving_costs.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

class StoredCosts : public testing::Test {
 protected:
  StoredCosts() {
    source_.wanted.key = {"a machine", "a model", "options"};
    source_.wanted.drivers = {{"cpu", "driver 1"}};
    source_.file = folder_ / "deep" / "costs.json";
    source_.measure = [this] {
      ++num_measured_;
      MeasuredCosts measured;
      measured.table.devices.emplace_back().id = "cpu";
      measured.table.devices.back().merge_row_s = num_measured_;
      measured.is_whole = is_whole_;
      return measured;
    };
  }

  double merge_of_next() { return stored_costs(source_).devices.front().merge_row_s; }

  const test::ScratchPath scratch_{"costs"};
  const fs::path folder_ = scratch_.path();
  CostSource source_;
  int num_measured_ = 0;
  bool is_whole_ = true;
};

TEST_F(StoredCosts, OfADeviceThatGaveNoAnswerAreNotKept) {
  is_whole_ = false;
  EXPECT_EQ(merge_of_next(), 1);
  is_whole_ = true;
  EXPECT_EQ(merge_of_next(), 2);
  EXPECT_EQ(merge_of_next(), 2);
}

TEST_F(StoredCosts, AreMeasuredOnceAndReadAfterwards) {
  EXPECT_EQ(merge_of_next(), 1);
  EXPECT_EQ(merge_of_next(), 1);
  EXPECT_EQ(num_measured_, 1);
  EXPECT_EQ(stored_costs(source_).devices.front().driver, "driver 1");
  source_.anew = true;
  EXPECT_EQ(merge_of_next(), 2);
  source_.anew = false;
  EXPECT_EQ(merge_of_next(), 2) << "what was measured anew is kept";
}

TEST_F(StoredCosts, OfAnotherMachineOrDriverAreMeasuredAnew) {
  EXPECT_EQ(merge_of_next(), 1);
  source_.wanted.key.machine = "another";
  EXPECT_EQ(merge_of_next(), 2);
  source_.wanted.drivers["cpu"] = "driver 2";
  EXPECT_EQ(merge_of_next(), 3);
  EXPECT_EQ(merge_of_next(), 3);
}

TEST_F(StoredCosts, ThatAreTruncatedAreMeasuredAnew) {
  EXPECT_EQ(merge_of_next(), 1);
  fs::resize_file(source_.file, fs::file_size(source_.file) / 2);
  EXPECT_EQ(merge_of_next(), 2);
  EXPECT_EQ(merge_of_next(), 2);
}

TEST_F(StoredCosts, AFolderThatCannotBeWrittenIsNoFailure) {
  fs::create_directories(folder_);  // it may be there
  std::ofstream(folder_ / "deep") << "a file where the folder should be";
  EXPECT_EQ(merge_of_next(), 1);
  EXPECT_EQ(merge_of_next(), 2);
  source_.file.clear();
  EXPECT_EQ(merge_of_next(), 3);
}

TEST(CostFile, LiesInTheCacheOfTheUserAndIsOfModelAndOptions) {
  const char* cache_before = std::getenv("XDG_CACHE_HOME");
  const std::string saved = cache_before != nullptr ? cache_before : "";
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  const std::string file = cost_file({"m", "a", "b"});
  EXPECT_TRUE(file.starts_with("/somewhere/tandem/costs-")) << file;
  EXPECT_EQ(file, cost_file({"another machine", "a", "b"}));
  EXPECT_NE(file, cost_file({"m", "a", "c"}));
  EXPECT_NE(file, cost_file({"m", "c", "b"}));
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_FALSE(cost_file({}).starts_with("relative")) << "the specification says to ignore it";
  saved.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", saved.c_str(), 1);
}

}  // namespace
}  // namespace tandem::apps
