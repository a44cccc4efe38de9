// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints that are whole or not there, and what is said of damaged ones.
#include "training/trainer/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/error.h"
#include "support/scratch_path.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class CheckpointTest : public testing::Test {
 protected:
  void save(std::uint64_t step, int keep = 0) {
    CheckpointWriter writer(out_, step);
    write_tensors(writer.files() + "/model.safetensors",
                  {{"a", {2, 3}, values_}, {"b", {1}, std::span(values_).first(1)}});
    writer.seal({{"family", "test"}});
    writer.publish(keep);
  }
  std::string refusal(const std::string& path) {
    try {
      find_checkpoint(path);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(out_)) found.push_back(entry.path().filename());
    return found;
  }
  std::string file(std::uint64_t step) const {
    return out_ + "/step-0000000" + std::to_string(step) + "/model.safetensors";
  }

  test::ScratchPath folder_{"checkpoint"};
  const std::string out_ = folder_.string();
  std::vector<float> values_ = {1, 2, 3, 4, 5, 6};
};

TEST_F(CheckpointTest, TheLatestIsFoundAndReadsAsWritten) {
  save(1);
  values_[4] = -7;
  save(2);
  const Checkpoint found = find_checkpoint(out_);
  EXPECT_EQ(found.fields.at("step"), 2);
  EXPECT_EQ(found.fields.at("family"), "test");
  EXPECT_EQ(find_checkpoint(out_ + "/step-00000001").fields.at("step"), 1);
  std::vector<float> a(6), b(1);
  read_tensors(found.file("model.safetensors"), {{"a", {2, 3}, a}, {"b", {1}, b}});
  EXPECT_EQ(a, values_);
  EXPECT_EQ(b[0], 1);
}

TEST_F(CheckpointTest, TheNewestIsFoundWithoutAWordOfTheLatest) {
  save(1);
  save(2);
  std::ofstream(out_ + "/latest") << "";
  EXPECT_EQ(find_checkpoint(out_).fields.at("step"), 2);
  fs::remove(out_ + "/latest");
  EXPECT_EQ(find_checkpoint(out_).fields.at("step"), 2);
  fs::remove_all(out_ + "/step-00000001");
  fs::remove_all(out_ + "/step-00000002");
  EXPECT_THAT(refusal(out_), HasSubstr("has no checkpoint ('" + out_ + "/checkpoint.json'"));
}

TEST_F(CheckpointTest, AStepThatIsNoNumberIsNamed) {
  save(1);
  const std::string path = out_ + "/step-00000001/checkpoint.json";
  std::ifstream file(path);
  auto fields = nlohmann::json::parse(file);
  for (const char* step : {"-3", "\"x\"", "1.5"}) {
    fields["step"] = nlohmann::json::parse(step);
    std::ofstream(path) << fields;
    EXPECT_THAT(refusal(out_), HasSubstr("field 'step' is " + std::string(step) + ", no number"));
  }
}

TEST_F(CheckpointTest, WhatIsNotCommittedLeavesNothing) {
  save(1);
  {
    CheckpointWriter writer(out_, 2);
    write_bytes(writer.files() + "/half", {});
    writer.seal({{"family", "test"}});
  }
  EXPECT_THAT(names(), testing::UnorderedElementsAre("latest", "step-00000001"));
}

TEST_F(CheckpointTest, WhatKilledWritersHaveLeftIsRemoved) {
  save(1);
  save(2);
  fs::create_directories(out_ + "/.step-00000009.partial-1");
  fs::rename(out_ + "/step-00000001", out_ + "/.step-00000001.removed");
  save(3);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("latest", "step-00000002", "step-00000003"));
}

TEST_F(CheckpointTest, ACheckpointIsReplacedInOneInstant) {
  save(1);
  values_[0] = 8;
  std::atomic<bool> ends{false};
  int looks = 0, missing = 0;
  std::thread reader([&] {
    for (; !ends || looks == 0; ++looks) missing += fs::exists(file(1)) ? 0 : 1;
  });
  for (int i = 0; i < 30; ++i) save(1);
  ends = true;
  reader.join();
  EXPECT_EQ(missing, 0) << "of " << looks;
  std::vector<float> a(6), b(1);
  read_tensors(find_checkpoint(out_).file("model.safetensors"), {{"a", {2, 3}, a}, {"b", {1}, b}});
  EXPECT_EQ(a[0], 8);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("latest", "step-00000001"));
}

TEST_F(CheckpointTest, TheNewestStandsInForALatestThatIsGone) {
  save(1);
  save(2);
  save(3);
  fs::remove_all(out_ + "/step-00000003");
  EXPECT_EQ(find_checkpoint(out_).fields.at("step"), 2);
}

TEST_F(CheckpointTest, ARunThatWasKilledWhileItSavedLeavesTheOneBefore) {
  save(1);
  fs::create_directories(out_ + "/.step-00000002.partial-1");
  EXPECT_EQ(find_checkpoint(out_).fields.at("step"), 1);
  // Between the rename of the folder and that of `latest`.
  fs::copy(out_ + "/step-00000001", out_ + "/step-00000002", fs::copy_options::recursive);
  EXPECT_EQ(find_checkpoint(out_).fields.at("step"), 1);
  save(2);
  EXPECT_EQ(find_checkpoint(out_).fields.at("step"), 2);
}

TEST_F(CheckpointTest, DamageIsNamed) {
  save(1);
  save(2);
  const auto size = fs::file_size(file(2));
  fs::resize_file(file(2), size - 1);
  EXPECT_THAT(refusal(out_), HasSubstr("model.safetensors' has " + std::to_string(size - 1)));
  save(3);
  std::fstream(file(3), std::ios::in | std::ios::out).seekp(-1, std::ios::end).put('x');
  EXPECT_THAT(refusal(out_), HasSubstr("its checksum differs"));
  fs::remove(file(3));
  EXPECT_THAT(refusal(out_), HasSubstr("lacks"));
  std::ofstream(out_ + "/step-00000003/checkpoint.json") << "{";
  EXPECT_THAT(refusal(out_), HasSubstr("is damaged"));
  std::ofstream(out_ + "/step-00000003/checkpoint.json") << R"({"format": "other"})";
  EXPECT_THAT(refusal(out_), HasSubstr("another format"));
  EXPECT_THAT(refusal(out_ + "/nowhere"), HasSubstr("has no checkpoint"));
  EXPECT_EQ(find_checkpoint(out_ + "/step-00000001").fields.at("step"), 1);
}

// Else an edited list would switch the verification off.
TEST_F(CheckpointTest, FilesThatAreNotListedAreNotUsed) {
  save(1);
  const std::string path = out_ + "/step-00000001/checkpoint.json";
  std::ifstream in(path);
  auto fields = nlohmann::json::parse(in);
  const auto entry = fields["files"]["model.safetensors"];
  EXPECT_EQ(find_checkpoint(out_).file("model.safetensors"), file(1));
  for (const char* none : {"{}", "[]", "null", "3"}) {
    fields["files"] = nlohmann::json::parse(none);
    std::ofstream(path) << fields;
    EXPECT_THAT(refusal(out_), HasSubstr(none == std::string("{}") ? "lists no files" : "damaged"));
  }
  write_bytes(out_ + "/step-00000001/other", {});
  save(2);
  write_bytes(out_ + "/step-00000002/other", {});
  const Checkpoint found = find_checkpoint(out_);
  EXPECT_THAT([&] { found.file("other"); },
              testing::ThrowsMessage<Error>(HasSubstr("does not list 'other'")));
}

TEST_F(CheckpointTest, OnlyTheNewestStay) {
  for (std::uint64_t step = 1; step <= 4; ++step) save(step, 2);
  EXPECT_FALSE(fs::exists(file(2)));
  EXPECT_TRUE(fs::exists(file(3)));
  EXPECT_TRUE(fs::exists(file(4)));
}

TEST_F(CheckpointTest, TensorsOfAnotherModelAreRefused) {
  save(1);
  std::vector<float> a(6), b(1);
  const auto text = [&](const std::vector<WantedTensor>& wanted) -> std::string {
    try {
      read_tensors(file(1), wanted);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(text({{"a", {2, 3}, a}, {"c", {1}, b}}), HasSubstr("it has no 'c'"));
  EXPECT_THAT(text({{"a", {2, 3}, a}}), HasSubstr("it has 'b'"));
  EXPECT_THAT(text({{"a", {3, 2}, a}, {"b", {1}, b}}), HasSubstr("another shape"));
}

}  // namespace
}  // namespace tandem::training
