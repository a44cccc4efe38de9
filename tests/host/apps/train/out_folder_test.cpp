// SPDX-License-Identifier: Apache-2.0
//
// Folders as runs leave them, and what another run does there.
#include "apps/train/out_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "common/error.h"
#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class OutFolderTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (root_ / name).string(); }

  // As a run leaves it.
  training::Checkpoint saved(const std::string& run, int step) const {
    training::Checkpoint checkpoint;
    checkpoint.folder = path(run) + "/step-0000000" + std::to_string(step);
    fs::create_directories(checkpoint.folder);
    std::ofstream(checkpoint.folder + "/checkpoint.json") << "{}";
    std::ofstream(path(run) + "/latest") << "step-0000000" << step << "\n";
    return checkpoint;
  }

  std::string error_of(const std::string& run, const training::Checkpoint* resumed) const {
    try {
      const OutFolder out(path(run), resumed, true);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  test::ScratchPath scratch_{"out-folder"};
  fs::path root_ = scratch_.string();
};

TEST_F(OutFolderTest, IsMadeAndRemovedIfNothingWasSaved) {
  { const OutFolder out(path("a/b"), nullptr, true); }
  EXPECT_FALSE(fs::exists(path("a/b")));
  {
    const OutFolder out(path("a/b"), nullptr, true);
    std::ofstream(path("a/b") + "/log.csv") << "step\n";
  }
  EXPECT_TRUE(fs::exists(path("a/b/log.csv")));
}

TEST_F(OutFolderTest, StaysIfItWasThereOrIsOfAnotherRank) {
  fs::create_directories(path("a"));
  { const OutFolder out(path("a"), nullptr, true); }
  EXPECT_TRUE(fs::exists(path("a")));
  { const OutFolder out(path("b"), nullptr, false); }
  EXPECT_TRUE(fs::exists(path("b")));
}

TEST_F(OutFolderTest, NoPathIsNoFolder) { const OutFolder out("", nullptr, true); }

TEST_F(OutFolderTest, IsOfOneRunAtATime) {
  std::optional<OutFolder> first;
  first.emplace(path("a"), nullptr, true);
  EXPECT_THAT(error_of("a", nullptr), HasSubstr("is in use by another run"));
  const OutFolder other_rank(path("a"), nullptr, false);
  first.reset();
  EXPECT_EQ(error_of("a", nullptr), "");
}

TEST_F(OutFolderTest, ANewRunLeavesTheCheckpointsOfAnotherAlone) {
  saved("a", 3);
  EXPECT_THAT(error_of("a", nullptr), HasSubstr("has the checkpoints of another run: --resume"));
  fs::remove(path("a") + "/latest");  // the run was killed before it wrote this
  EXPECT_THAT(error_of("a", nullptr), HasSubstr("has the checkpoints of another run: --resume"));
}

TEST_F(OutFolderTest, ARunContinuesInItsOwnFolderOrAFreeOne) {
  const training::Checkpoint mine = saved("a", 3);
  saved("a", 5);
  saved("b", 1);
  EXPECT_EQ(error_of("a", &mine), "");
  EXPECT_EQ(error_of("a/", &mine), "");
  EXPECT_EQ(error_of("c", &mine), "");
  EXPECT_THAT(error_of("b", &mine), HasSubstr("has the checkpoints of another run"));
}

TEST_F(OutFolderTest, WhatIsNoCheckpointIsNamed) {
  fs::create_directories(path("a/step-notes"));
  fs::create_directories(path("a/step-00000010"));
  EXPECT_THAT(error_of("a", nullptr), HasSubstr("has 'step-00000010', which is no checkpoint"));
}

TEST_F(OutFolderTest, TellsWhyItCannotBeMade) {
  fs::create_directories(path(""));
  std::ofstream(path("file")) << "x";
  EXPECT_THAT(error_of("file/a", nullptr), HasSubstr("cannot be made: Not a directory"));
}

TEST_F(OutFolderTest, ARefusedRunHoldsNoLock) {
  saved("a", 3);
  EXPECT_NE(error_of("a", nullptr), "");
  fs::remove_all(path("a/step-00000003"));
  fs::remove(path("a/latest"));
  EXPECT_EQ(error_of("a", nullptr), "");
}

}  // namespace
}  // namespace tandem::apps
