// SPDX-License-Identifier: Apache-2.0
//
// Key files and the Authorization header.
#include "server/auth.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "common/error.h"

namespace tandem::server {
namespace {

class KeyFile {
 public:
  explicit KeyFile(const std::string& text)
      : path_(testing::TempDir() + "tandem_keys_" + std::to_string(getpid())) {
    std::ofstream(path_) << text;
  }
  ~KeyFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ApiKeys, AreReadOnePerLine) {
  const KeyFile file("# comment\n\n  first \r\nsecond\n#last");
  EXPECT_EQ(load_api_keys(file.path()), (std::vector<std::string>{"first", "second"}));
}

TEST(ApiKeys, AnEmptyFileIsAnErrorNotAnOpenServer) {
  EXPECT_THROW(load_api_keys(KeyFile("").path()), Error);
  EXPECT_THROW(load_api_keys(KeyFile("# only a comment\n").path()), Error);
  EXPECT_THROW(load_api_keys("/nonexistent/keys"), Error);
}

TEST(ApiKeys, AKeyWithBlanksNamesItsLine) {
  const KeyFile file("good\ntwo words\n");
  try {
    load_api_keys(file.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find("words"), std::string::npos) << "keys stay secret";
  }
}

TEST(KeyCheck, AcceptsOnlyItsKeys) {
  const KeyCheck check({"alpha", "beta"});
  EXPECT_TRUE(check.required());
  for (const char* good : {"Bearer alpha", "bearer beta", "BEARER  alpha "}) {
    EXPECT_TRUE(check.accepts(good)) << good;
  }
  for (const char* bad : {"", "Bearer", "Bearer ", "alpha", "Bearer alph", "Bearer alphaa",
                          "Bearer Alpha", "Basic alpha", "Bearer alpha beta"}) {
    EXPECT_FALSE(check.accepts(bad)) << bad;
  }
}

TEST(KeyCheck, WithoutKeysEverybodyMayIn) { EXPECT_TRUE(KeyCheck({}).accepts("")); }

}  // namespace
}  // namespace tandem::server
