// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the options of the daemon before it loads anything.
#include "apps/serve/serve_checks.h"

#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include "host/server/fake_service.h"
#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<ServeError>& errors) {
  std::vector<std::string> texts;
  for (const ServeError& each : errors) texts.emplace_back(each.error.what());
  return texts;
}

TEST(ServeChecks, FindNothingInTheDefaults) {
  ServeOptions options;
  EXPECT_THAT(texts(check_serve(options).errors), IsEmpty());
  EXPECT_THAT(check_serve(options).warnings, IsEmpty());
}

TEST(ServeChecks, FindAllThatIsWrong) {
  ServeOptions options;
  options.runtime.model_path = "/no/model.gguf";
  options.runtime.attention = "abacus:1";
  options.key_file = "/no/keys";
  options.port_file = "/no/folder/port";
  EXPECT_THAT(texts(check_serve(options).errors),
              ElementsAre(HasSubstr("/no/model.gguf"), HasSubstr("/no/keys"),
                          HasSubstr("/no/folder"), HasSubstr("abacus:1")));
}

TEST(ServeChecks, APortFileIsNoDevice) {
  ServeOptions options;
  options.port_file = "/dev/null";
  EXPECT_THAT(texts(check_serve(options).errors), ElementsAre(HasSubstr("not a regular file")));
}

TEST(ServeChecks, AUnixSocketNeedsAPlaceOfItsOwn) {
  const test::ScratchPath file("file");
  std::ofstream(file.string()) << "precious";
  ServeOptions options;
  const auto refused = [&](const std::string& path) {
    options.server.listen.unix_path = path;
    return texts(check_serve(options).errors);
  };
  EXPECT_THAT(refused(file.string()),
              ElementsAre(HasSubstr("the path exists and is not a socket")));
  EXPECT_THAT(refused("/no/folder/socket"), ElementsAre(HasSubstr("no folder '/no/folder'")));
  EXPECT_THAT(refused("/" + std::string(120, 'x')), ElementsAre(HasSubstr("at most 107")));
  EXPECT_THAT(refused("socket-of-this-test"), IsEmpty());
}

TEST(ServeChecks, WarnOnceOfAKeyFileThatOthersCanReadOrWrite) {
  const test::ScratchPath keys("keys");
  std::ofstream(keys.string()) << "secret\n";
  ServeOptions options;
  options.key_file = keys.string();
  for (const auto& [mode, words] :
       {std::pair(0600, ""), std::pair(0644, "can read"), std::pair(0602, "can write")}) {
    ASSERT_EQ(::chmod(keys.string().c_str(), static_cast<mode_t>(mode)), 0);
    testing::internal::CaptureStdout();  // of the log
    testing::internal::CaptureStderr();
    const std::vector<std::string> warnings = check_serve(options).warnings;
    EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
    if (*words == 0) {
      EXPECT_THAT(warnings, IsEmpty()) << mode;
    } else {
      EXPECT_THAT(warnings, ElementsAre(HasSubstr(words))) << mode;
    }
  }
}

TEST(ServeChecks, WarnOfAdminFromLoopbackWhereKeysHaveRoles) {
  const test::ScratchPath keys("keys");
  std::ofstream(keys.string()) << "secret\n";
  ASSERT_EQ(::chmod(keys.string().c_str(), 0600), 0);
  ServeOptions options;
  options.server.routes.admin_from_loopback = true;
  EXPECT_THAT(check_serve(options).warnings, IsEmpty());
  options.key_file = keys.string();
  EXPECT_THAT(check_serve(options).warnings, ElementsAre(HasSubstr("--admin has no effect")));
}

// Counts how often files are opened.
class OpenCount {
 public:
  OpenCount() : watch_(inotify_init1(IN_NONBLOCK)) {}
  ~OpenCount() { ::close(watch_); }
  OpenCount(const OpenCount&) = delete;
  OpenCount& operator=(const OpenCount&) = delete;

  void add(const std::string& path) {
    // With the closes between them, two opens do not become one event.
    EXPECT_GE(inotify_add_watch(watch_, path.c_str(), IN_OPEN | IN_CLOSE), 0) << path;
  }
  int take() const {  // since the last call
    std::array<inotify_event, 256> events;
    const ssize_t bytes = ::read(watch_, events.data(), sizeof events);
    const auto count = bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(inotify_event);
    return static_cast<int>(std::count_if(events.begin(), events.begin() + count,
                                          [](const auto& e) { return (e.mask & IN_OPEN) != 0; }));
  }

 private:
  const int watch_;
};

TEST(ServeChecks, HandOnWhatTheyReadSoThatNoFileIsReadAgain) {
  const test::ScratchPath keys("keys");
  std::ofstream(keys.string()) << "secret\n";
  const test::ScratchPath certificate("certificate"), key("key");
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
      "-days 2 -subj /CN=a -keyout '" +
      key.string() + "' -out '" + certificate.string() + "' 2>/dev/null";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "needs openssl";
  ServeOptions options;
  options.port = 0;
  options.key_file = keys.string();
  options.server.tls = {certificate.string(), key.string()};
  OpenCount opened;
  for (const auto* path : {&keys, &certificate, &key}) opened.add(path->string());
  EXPECT_THAT(texts(check_serve(options).errors), IsEmpty());
  EXPECT_EQ(opened.take(), 3);
  ASSERT_EQ(options.server.routes.api_keys.size(), 1u);
  EXPECT_EQ(options.server.routes.key_file, keys.string());
  EXPECT_NE(options.server.tls.keys, nullptr);
  test::FakeService service;
  server::HttpServer server(options.server, service, nullptr);
  server.start();
  EXPECT_EQ(opened.take(), 0);
  server.reload();
  EXPECT_EQ(opened.take(), 3);
}

}  // namespace
}  // namespace tandem::apps
