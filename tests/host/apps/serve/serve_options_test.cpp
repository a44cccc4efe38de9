// SPDX-License-Identifier: Apache-2.0
//
// Where the page /ui is on without being asked for.
#include "apps/serve/serve_options.h"

#include <gtest/gtest.h>

namespace tandem::apps {
namespace {

bool serves_page_at(const std::string& host, std::vector<int> inherited = {}) {
  ServeOptions options;
  options.server.listen.host = host;
  options.server.listen.inherited = std::move(inherited);
  take_server_options(options);
  return options.server.routes.serves_page;
}

TEST(ServeOptions, ThePageIsOnWhereOnlyThisMachineCanConnect) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.1", "::1", "none"}) {
    EXPECT_TRUE(serves_page_at(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "127.example",
                           "127.0.0.999", "127.1.", "localhost.example", "example"}) {
    EXPECT_FALSE(serves_page_at(host)) << host;
  }
  EXPECT_FALSE(serves_page_at("127.0.0.1", {3})) << "a socket of a service manager";
}

}  // namespace
}  // namespace tandem::apps
