// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the options of the daemon before it loads anything.
#include "apps/serve/serve_checks.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<Error>& errors) {
  std::vector<std::string> texts;
  for (const Error& error : errors) texts.emplace_back(error.what());
  return texts;
}

TEST(ServeChecks, FindNothingInTheDefaults) {
  EXPECT_THAT(texts(serve_errors({})), IsEmpty());
  EXPECT_THAT(serve_warnings({}), IsEmpty());
}

TEST(ServeChecks, FindAllThatIsWrong) {
  ServeOptions options;
  options.runtime.model_path = "/no/model.gguf";
  options.runtime.attention = "abacus:1";
  options.key_file = "/no/keys";
  options.port_file = "/no/folder/port";
  EXPECT_THAT(texts(serve_errors(options)),
              ElementsAre(HasSubstr("/no/model.gguf"), HasSubstr("/no/keys"),
                          HasSubstr("/no/folder"), HasSubstr("abacus:1")));
}

TEST(ServeChecks, APortFileIsNoDevice) {
  ServeOptions options;
  options.port_file = "/dev/null";
  EXPECT_THAT(texts(serve_errors(options)), ElementsAre(HasSubstr("no regular file")));
}

TEST(ServeChecks, WarnOfAKeyFileThatOthersCanReadOrWrite) {
  const test::ScratchPath keys("keys");
  std::ofstream(keys.string()) << "secret\n";
  ServeOptions options;
  options.key_file = keys.string();
  for (const auto& [mode, words] : {std::pair(0600, ""), std::pair(0640, ""),
                                    std::pair(0644, "can read"), std::pair(0602, "can write")}) {
    ASSERT_EQ(::chmod(keys.string().c_str(), static_cast<mode_t>(mode)), 0);
    const std::vector<std::string> warnings = serve_warnings(options);
    if (*words == 0) {
      EXPECT_THAT(warnings, IsEmpty()) << mode;
    } else {
      EXPECT_THAT(warnings, ElementsAre(HasSubstr(words))) << mode;
    }
  }
}

}  // namespace
}  // namespace tandem::apps
