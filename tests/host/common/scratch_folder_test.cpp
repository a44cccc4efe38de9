// SPDX-License-Identifier: Apache-2.0
//
// Folders that end with their owner.
#include "common/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, IsOnesOwnAndGoesWithItsContents) {
  std::string first_path;
  {
    const ScratchFolder first("test", "scratch-test."), second("test", "scratch-test.");
    first_path = first.path();
    EXPECT_NE(first_path, second.path());
    EXPECT_EQ(fs::path(first_path).parent_path(), fs::temp_directory_path());
    fs::create_directory(first_path + "/inner");
    std::ofstream(first_path + "/inner/file") << "text";
    const ScratchFolder beside("test", first_path + "/beside.");
    EXPECT_EQ(fs::path(beside.path()).parent_path(), first_path);
  }
  EXPECT_FALSE(fs::exists(first_path));
}

TEST(ScratchFolder, OfAPlaceThatCannotHoldItIsAnError) {
  try {
    const ScratchFolder folder("test", "/nowhere/at/all.");
    FAIL() << folder.path();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot make the folder '/nowhere/at/all."));
  }
}

TEST(ScratchFolder, WithoutAFolderForTemporaryFilesIsAnError) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere", 1);
  try {
    const ScratchFolder folder("test", "scratch-test.");
    ADD_FAILURE() << folder.path();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'scratch-test.XXXXXX': TMPDIR names no folder"));
  }
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace tandem
