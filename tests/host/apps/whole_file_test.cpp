// SPDX-License-Identifier: Apache-2.0
//
// Files that are there whole or not at all, and paths that may not be replaced.
#include "apps/whole_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/error.h"
#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WholeFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_.path()); }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(at(name)).rdbuf();
    return text.str();
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }
  std::string refusal(const std::string& name) const {
    try {
      return regular_target("test", at(name));
    } catch (const Error& error) {
      return error.what();
    }
  }

  const test::ScratchPath folder_{"whole"};
};

TEST_F(WholeFileTest, AppearsWhenItIsKept) {
  WholeFile file("test", at("out"));
  file.write("all of it");
  EXPECT_FALSE(fs::exists(at("out")));
  file.keep();
  EXPECT_EQ(text_of("out"), "all of it");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(WholeFileTest, LeavesNothingWhereItIsNotKept) {
  std::ofstream(at("out")) << "before";
  { WholeFile("test", at("out")).write("half"); }
  EXPECT_EQ(text_of("out"), "before");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(WholeFileTest, HasNoNameUntilItIsKept) {
  const WholeFile file("test", at("out"));
  EXPECT_EQ(entries(), 0u) << "a killed process would leave it";
}

TEST_F(WholeFileTest, FollowsNoLinkThatWaitsForIt) {
  std::ofstream(at("precious")) << "precious";
  for (const char* name : {"out", "out.new"}) fs::create_symlink(at("precious"), at(name));
  WholeFile file("test", at("out"));
  file.write("new");
  file.keep();
  EXPECT_EQ(text_of("precious"), "precious");
  EXPECT_EQ(text_of("out"), "new");
  EXPECT_FALSE(fs::is_symlink(at("out")));
}

TEST_F(WholeFileTest, CanBeOpenedByItsPath) {
  WholeFile file("test", at("out"));
  std::ofstream(file.open_path()) << "streamed";
  file.keep();
  EXPECT_EQ(text_of("out"), "streamed");
}

TEST_F(WholeFileTest, NamesThePathAndTheReason) {
  try {
    const WholeFile file("test", at("absent/out"));
    FAIL() << "there is no such folder";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("[test] cannot write '" + at("absent/out")));
    EXPECT_THAT(error.what(), HasSubstr("No such file"));
  }
}

TEST_F(WholeFileTest, TargetsAreRegularFiles) {
  std::ofstream(at("file")) << "x";
  fs::create_symlink("file", at("link"));
  fs::create_symlink("nothing", at("loose"));
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", at("null"));
  EXPECT_EQ(refusal("file"), fs::canonical(at("file")));
  EXPECT_EQ(refusal("link"), fs::canonical(at("file")));
  EXPECT_EQ(refusal("new"), at("new"));
  EXPECT_THAT(refusal("loose"), HasSubstr("link whose target does not exist"));
  EXPECT_THAT(refusal("fifo"), HasSubstr("a FIFO, not a regular file"));
  EXPECT_THAT(refusal("null"), HasSubstr("a device, not a regular file"));
  EXPECT_THAT(refusal("."), HasSubstr("a folder"));
}

}  // namespace
}  // namespace tandem::apps
