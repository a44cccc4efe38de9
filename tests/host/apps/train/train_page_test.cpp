// SPDX-License-Identifier: Apache-2.0
//
// What the page of a training keeps of a long run.
#include "apps/train/train_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tandem::apps {
namespace {

class TrainPageLinesTest : public testing::Test {
 protected:
  void step(std::uint64_t number) {
    training::StepFigures figures;
    figures.step = number;
    figures.peers.resize(3);
    log_->step(figures);
  }
  nlohmann::json shown() const { return nlohmann::json::parse(page_.json()); }

  TrainPage page_{{"127.0.0.1:0", "", "a model", 100'000}};
  std::unique_ptr<training::TrainingLog> log_ = page_.make_log(0);
};

TEST_F(TrainPageLinesTest, PointsAndEvaluationsStayFewAtEqualDistances) {
  for (std::uint64_t number = 1; number <= 5000; ++number) {
    step(number);
    log_->evaluation({number, 1.5, 10, {}});
  }
  const auto page = shown();
  std::vector<std::uint64_t> evaluated;
  for (const auto& one : page.at("evaluations")) evaluated.push_back(one.at("step"));
  for (const auto& steps :
       {page.at("points").at("step").get<std::vector<std::uint64_t>>(), evaluated}) {
    ASSERT_GT(steps.size(), 200u);
    ASSERT_LE(steps.size(), 402u);
    EXPECT_EQ(steps.front(), 1u);
    EXPECT_EQ(steps.back(), 5000u);
    for (std::size_t at = 2; at + 1 < steps.size(); ++at) {
      ASSERT_EQ(steps[at] - steps[at - 1], steps[1] - steps[0]) << "of " << steps[at];
    }
  }
}

TEST_F(TrainPageLinesTest, LinesThatARunTakesBackAreGone) {
  for (std::uint64_t number = 1; number <= 9; ++number) step(number);
  log_->evaluation({4, 1.5, 10, {}});
  log_->evaluation({8, 1.25, 10, {}});
  log_ = page_.make_log(6);
  auto page = shown();
  EXPECT_EQ(page.at("points").at("step"), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(page.at("evaluations").size(), 1u);
  EXPECT_EQ(page.at("evaluations")[0].at("loss"), 1.5);
  EXPECT_EQ(page.at("step"), 0) << "until the next line";
  EXPECT_EQ(page.at("ranks"), 1);
}

TEST_F(TrainPageLinesTest, TheLastLineIsShownBetweenPoints) {
  for (std::uint64_t number = 1; number <= 402; ++number) step(number);
  const auto page = shown();
  EXPECT_EQ(page.at("step"), 402);
  EXPECT_EQ(page.at("points").at("step").back(), 402);
  EXPECT_EQ(page.at("peers").size(), 3u);
  EXPECT_EQ(page.at("state"), "training");
}

}  // namespace
}  // namespace tandem::apps
