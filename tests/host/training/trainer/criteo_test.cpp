// SPDX-License-Identifier: Apache-2.0
//
// Files of Criteo's format, configurations of recommenders, and the score of clicks.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "support/scratch_path.h"
#include "training/trainer/recommender_task.h"
#include "training/trainer/score.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class CriteoTest : public testing::Test {
 protected:
  CriteoTest() {
    config_.rows.assign(26, 1000);
    fs::create_directories(folder_.path());
  }
  std::string write(const std::string& text) const {
    std::ofstream(folder_.string() + "/clicks.tsv") << text;
    return folder_.string() + "/clicks.tsv";
  }
  static std::string line(const std::string& label, const std::string& number) {
    std::string text = label;
    for (int at = 0; at < 13; ++at) text += "\t" + (at == 2 ? number : std::to_string(at));
    for (int at = 0; at < 26; ++at) text += at == 5 ? "\t" : "\t68fd1e64";
    return text + "\n";
  }
  std::string refusal(const std::string& text) {
    try {
      open_samples(write(text), config_, 1);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  test::ScratchPath folder_{"criteo"};
  RecommenderConfig config_;
  std::vector<float> dense_ = std::vector<float>(13);
  std::vector<std::uint32_t> rows_ = std::vector<std::uint32_t>(26);
  RecommenderSample sample_{dense_, rows_, 0};
};

TEST_F(CriteoTest, ReadsLabelsNumbersAndWords) {
  const auto samples =
      open_samples(write(line("0", "-2") + line("1", "99") + line("0", "")), config_, 1);
  EXPECT_EQ(samples->size(), 3u);
  samples->read_in_order(1, sample_);
  EXPECT_EQ(sample_.label, 1);
  EXPECT_FLOAT_EQ(dense_[2], std::log(100.0f));
  EXPECT_FLOAT_EQ(dense_[12], std::log(13.0f));
  EXPECT_NE(rows_[0], rows_[1]);  // one word in two tables
  const std::uint32_t word = rows_[0];
  samples->read_in_order(0, sample_);
  EXPECT_EQ(sample_.label, 0);
  EXPECT_EQ(dense_[2], 0);
  EXPECT_EQ(rows_[0], word);
  EXPECT_TRUE(std::ranges::all_of(rows_, [](std::uint32_t row) { return row < 1000; }));
}

TEST_F(CriteoTest, EveryEpochTakesOtherOrders) {
  std::string text;
  for (int at = 0; at < 40; ++at) text += line("0", std::to_string(at));
  const auto samples = open_samples(write(text), config_, 1);
  const auto order = [&](std::uint64_t from) {
    std::vector<float> order;
    for (std::uint64_t at = 0; at < 39; ++at) {
      samples->read(from + at, sample_);
      order.push_back(dense_[2]);
    }
    return order;
  };
  std::vector<float> first = order(0), second = order(39);
  EXPECT_NE(first, second);
  std::ranges::sort(first);
  EXPECT_EQ(std::ranges::adjacent_find(first), first.end());  // nothing twice
}

TEST_F(CriteoTest, NamesAFileThatIsNotThereBeforeItsModel) {
  config_.dense = 5;
  try {
    open_samples("/nowhere/clicks", config_, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot read '/nowhere/clicks': No such file"));
  }
}

TEST_F(CriteoTest, NamesWhatIsWrongWithItsLine) {
  EXPECT_THAT(refusal(""), HasSubstr("has no samples"));
  EXPECT_THAT(refusal(line("0", "1") + line("2", "1")), HasSubstr("line 2: the label is neither"));
  EXPECT_THAT(refusal(line("0", "x")), HasSubstr("line 1: 'x' is not a whole number"));
  EXPECT_THAT(refusal("0\t1\t2\n"), HasSubstr("line 1: has 3 fields"));
  config_.rows.pop_back();
  EXPECT_THAT(refusal(line("0", "1")), HasSubstr("has 25 tables"));
}

TEST_F(CriteoTest, OpeningFindsTheFirstBadLineOfALongFile) {
  std::string text;
  for (int at = 1; at <= 30'000; ++at) {
    const bool bad = at == 12'345 || at == 12'346 || at == 29'999;
    text += line(bad ? "7" : "1", at == 17'000 ? "y" : "3");
  }
  EXPECT_THAT(refusal(text), HasSubstr("clicks.tsv' line 12345: the label is neither"));
}

TEST_F(CriteoTest, ConfigurationsAreRead) {
  const auto read = [&](const std::string& text) {
    std::ofstream(folder_.string() + "/model.toml") << text;
    return read_recommender_config(folder_.string() + "/model.toml");
  };
  const auto why = [&](const std::string& text) -> std::string {
    try {
      read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const RecommenderConfig one =
      read("kind = \"recommender\"\ntables = 3\nrows = 10\ntop = [4, 2]\n");
  EXPECT_EQ(one.rows, (std::vector<int>{10, 10, 10}));
  EXPECT_EQ(one.num_dots(), 6);
  EXPECT_EQ(recommender_of_json(to_json(one)).top, (std::vector<int>{4, 2}));
  EXPECT_EQ(recommender_parameters(one).back().name, "top.2.bias");
  EXPECT_EQ(read("[model]\nrows = [5, 6]\n").rows, (std::vector<int>{5, 6}));
  EXPECT_THAT(why("tables = 3\n"), HasSubstr("field 'rows': is missing"));
  EXPECT_THAT(why("tables = 3\nrows = [1, 2]\n"), HasSubstr("field 'tables': is 3, but rows"));
  EXPECT_THAT(why("rows = [1, 0]\n"), HasSubstr("whole numbers from 1"));
  EXPECT_THAT(why("rows = 4\nwidht = 2\n"), HasSubstr("did you mean"));
}

TEST(Score, TheAreaCountsPairsInOrder) {
  const std::vector<float> odds = {-1, 0, 0, 2}, labels = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(area_under_curve(odds, labels), 3.5 / 4);
  EXPECT_DOUBLE_EQ(area_under_curve(odds, std::vector<float>(4, 1)), 0.5);
  EXPECT_NEAR(mean_log_loss(std::vector<float>{0, 50}, std::vector<float>{1, 0}),
              (std::log(2.0) + 50) / 2, 1e-9);
}

}  // namespace
}  // namespace tandem::training
