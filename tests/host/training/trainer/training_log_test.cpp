// SPDX-License-Identifier: Apache-2.0
//
// What a run tells: JSON, progress, the table, events, the curve.
#include "training/trainer/training_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/error.h"
#include "support/captured_log.h"
#include "support/scratch_path.h"

namespace tandem::training {
namespace {

using testing::HasSubstr;

StepFigures figures(std::uint64_t step) {
  StepFigures f;
  f.step = step;
  f.loss = 2.5;
  f.steps = 10;
  f.tokens = 4000;
  f.seconds = 2;
  f.density_sent = 0.0123;
  f.build_up = 1.5;
  f.bytes_sent = 77;
  return f;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(TrainingLog, AJsonLineHasTheFieldsOfTheInterface) {
  const auto line = nlohmann::json::parse(json_line(figures(20)));
  EXPECT_EQ(line.at("step"), 20);
  EXPECT_EQ(line.at("loss"), 2.5);
  EXPECT_EQ(line.at("tokens_per_s"), 2000);
  EXPECT_EQ(line.at("density_sent"), 0.0123);
  EXPECT_EQ(line.at("build_up"), 1.5);
  EXPECT_EQ(line.at("bytes_sent"), 77);
  EXPECT_EQ(line.at("seconds"), 2);
  const auto scored = nlohmann::json::parse(json_line(EvaluationFigures{20, 0.0, 5}));
  EXPECT_EQ(scored.at("ppl"), 1.0);
  EXPECT_EQ(scored.at("tokens_scored"), 5);
}

TEST(TrainingLog, ProgressTellsTheTimeLeft) {
  EXPECT_EQ(progress_line(figures(20), 100),
            "step 20 of 100, loss 2.5000, 2000 tokens/s, 1.23 % sent, 16 s left");
  EXPECT_THAT(progress_line(figures(20), 2020), HasSubstr("7 min left"));
  EXPECT_THAT(progress_line(figures(20), 100020), HasSubstr("5.6 h left"));
  EXPECT_THAT(progress_line(figures(100), 100), testing::Not(HasSubstr("left")));
}

TEST(TrainingLog, AResumedTableHasEachStepOnce) {
  const test::ScratchPath path("log.csv");
  {
    const auto log = make_csv_log(path.string(), 0);
    for (const std::uint64_t step : {1, 2, 3}) log->step(figures(step));
  }
  make_csv_log(path.string(), 2)->step(figures(3));
  std::istringstream lines(content(path.string()));
  std::string line, steps;
  while (std::getline(lines, line)) steps += line.substr(0, line.find(',')) + " ";
  EXPECT_EQ(steps, "step 1 2 3 ");
  make_csv_log(path.string(), 0);
  EXPECT_THAT(content(path.string()), testing::Not(HasSubstr("2.5")));
}

// A table whose file cannot be written anew is still there.
TEST(TrainingLog, AResumedTableReplacesTheOldOneAsAWhole) {
  const test::ScratchPath folder("table");
  std::filesystem::create_directories(folder.path());
  const std::string path = folder.string() + "/log.csv";
  make_csv_log(path, 0)->step(figures(1));
  const std::string before = content(path);
  std::filesystem::create_directory(path + ".partial");
  EXPECT_THROW(make_csv_log(path, 1), Error);
  EXPECT_EQ(content(path), before);
}

class FullDiskLog final : public TrainingLog {
 public:
  explicit FullDiskLog(int& calls) : calls_(calls) {}
  void step(const StepFigures&) override {
    if (++calls_ == 2) throw Error("train", "cannot write 'log.csv': No space left on device");
  }
  void end() override { ++calls_; }

 private:
  int& calls_;
};

TEST(TrainingLog, AnExpendableLogEndsWithItsFirstError) {
  int calls = 0;
  const auto log = make_expendable([&] { return std::make_unique<FullDiskLog>(calls); });
  for (const std::uint64_t step : {1, 2, 3}) log->step(figures(step));
  log->end();
  EXPECT_EQ(calls, 2);
  const auto kept = make_expendable([&] { return std::make_unique<FullDiskLog>(calls); });
  kept->end();
  EXPECT_EQ(calls, 3);
}

// As when a run goes back to a checkpoint while the disk is full.
TEST(TrainingLog, AnExpendableLogThatCannotBeOpenedIsToldOnce) {
  const test::CapturedLog told(LogFormat::kText);
  int opened = 0;
  const auto log = make_expendable([&]() -> std::unique_ptr<TrainingLog> {
    ++opened;
    throw Error("train", "cannot write 'log.csv': No space left on device");
  });
  log->step(figures(1));
  log->evaluation({1, 1.5, 10});
  log->end();
  EXPECT_EQ(opened, 1);
  EXPECT_THAT(told.text(),
              HasSubstr("No space left on device; the run continues without this log"));
}

// The bytes of a file, record by record.
struct Records {
  explicit Records(std::string all) : bytes(std::move(all)) {}
  bool next() {
    if (at + 12 > bytes.size()) return false;
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, 8);
    data = bytes.substr(at + 12, size);
    std::memcpy(&crc, bytes.data() + at + 12 + size, 4);
    at += 16 + size;
    return true;
  }
  std::string bytes, data;
  std::uint32_t crc = 0;
  std::size_t at = 0;
};

TEST(TrainingLog, EventsAreRecordsOfTensorBoard) {
  const test::ScratchPath folder("events");
  std::filesystem::create_directories(folder.path());
  {
    const auto log = make_event_log(folder.string());
    log->step(figures(300));
    log->evaluation({300, 1.5, 10});
  }
  const auto file = *std::filesystem::directory_iterator(folder.path());
  EXPECT_THAT(file.path().filename().string(), testing::StartsWith("events.out.tfevents."));
  const std::string bytes = content(file.path());
  // As every file of TensorFlow's begins: the length 24 and its masked CRC-32C.
  ASSERT_EQ(bytes.substr(0, 12), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12));
  Records records(bytes);
  ASSERT_TRUE(records.next());
  EXPECT_THAT(records.data, testing::EndsWith("\x1a\x0d"
                                              "brain.Event:2"));
  ASSERT_TRUE(records.next());
  EXPECT_THAT(records.data, HasSubstr("\x10\xac\x02"));  // field 2, the step: 300
  const float loss = 2.5f;
  const std::string expected =
      "\x0a\x04loss\x15" + std::string(reinterpret_cast<const char*>(&loss), 4);
  EXPECT_THAT(records.data, HasSubstr(expected));
  ASSERT_TRUE(records.next());
  EXPECT_THAT(records.data, HasSubstr("mean_nll"));
  EXPECT_FALSE(records.next());
  EXPECT_EQ(records.at, bytes.size());
}

TEST(TrainingLog, TheCurveIsDrawnFromTheTable) {
  const test::ScratchPath csv("log.csv"), svg("loss.svg");
  const auto table = make_csv_log(csv.string(), 0);
  for (std::uint64_t step = 1; step <= 2000; ++step) {
    StepFigures f = figures(step);
    f.loss = step == 7 ? NAN : 4.0 - static_cast<double>(step) / 1000;
    table->step(f);
  }
  make_curve_log(csv.string(), svg.string())->end();
  const std::string drawing = content(svg.string());
  EXPECT_THAT(drawing, testing::StartsWith("<svg "));
  EXPECT_THAT(drawing, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(drawing, testing::Not(HasSubstr("nan")));
  EXPECT_THAT(drawing, HasSubstr("points=\"60.0,20.0 "));  // the highest loss is at the top left
  const auto points = std::ranges::count(drawing, ',');
  EXPECT_GT(points, 300);
  EXPECT_LE(points, 600);
}

}  // namespace
}  // namespace tandem::training
