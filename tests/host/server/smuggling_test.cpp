// SPDX-License-Identifier: Apache-2.0
//
// Requests whose end a proxy may determine differently: public smuggling techniques, one per file
// of corpus/smuggling. A file's name ends with the status that it must get. After each there is a
// second request, which must never be answered.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/server/server_fixture.h"
#include "server/http/request_reader.h"
#include "support/tree.h"

namespace tandem::server {
namespace {

struct Case {
  std::string name;
  std::string bytes;
  int status;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  const auto folder = test::source_dir() / "tests/host/server/corpus/smuggling";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    const std::string status = entry.path().extension().string().substr(1);
    result.push_back({entry.path().filename().string(), bytes, std::stoi(status)});
  }
  return result;
}

// The status with which a reader refuses the bytes when they come in two pieces; 0: it does not.
int refused_with(const std::string& bytes, std::size_t split) {
  http::RequestReader reader{http::Limits{}};
  std::string input;
  for (const std::string& piece : {bytes.substr(0, split), bytes.substr(split)}) {
    input += piece;
    for (;;) {
      std::size_t consumed = 0;
      const http::ReadState state = reader.consume(input, &consumed);
      input.erase(0, consumed);
      if (state == http::ReadState::kRefused) return reader.refusal().status;
      if (state == http::ReadState::kComplete) return 0;
      if (state == http::ReadState::kNeedMore) break;
    }
  }
  return 0;
}

TEST(Smuggling, EveryCaseIsRefusedHoweverItsBytesArrive) {
  const auto all = cases();
  ASSERT_GT(all.size(), 100u);
  for (const Case& one : all) {
    for (std::size_t split = 0; split <= one.bytes.size(); ++split) {
      ASSERT_EQ(refused_with(one.bytes, split), one.status) << one.name << " cut at " << split;
    }
  }
}

TEST(Smuggling, EveryCaseGetsOneAnswerAndTheEndOfItsConnection) {
  test::RunningServer running;
  for (const Case& one : cases()) {
    test::HttpClient client(running.port());
    client.send(one.bytes);
    const test::Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, one.status) << one.name;
    EXPECT_EQ(reply.headers.at("connection"), "close") << one.name;
    EXPECT_TRUE(client.closed_by_server()) << one.name;
  }
  EXPECT_TRUE(running.service.requests().empty());
}

TEST(Smuggling, TheOneFormOfAChunkedBodyIsTakenInAnyCase) {
  for (const char* value : {"chunked", "CHUNKED", "Chunked  ", "\tchunked"}) {
    const std::string bytes =
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:" + std::string(value) +
        "\r\n\r\n1;a=\"b\"\r\nx\r\n000\r\nT: u\r\n\r\n";
    http::RequestReader reader{http::Limits{}};
    std::size_t head = 0, body = 0;
    ASSERT_EQ(reader.consume(bytes, &head), http::ReadState::kHead) << value;
    ASSERT_EQ(reader.consume(bytes.substr(head), &body), http::ReadState::kComplete) << value;
    EXPECT_EQ(head + body, bytes.size());
    EXPECT_EQ(reader.request().body, "x");
  }
}

TEST(Smuggling, ALengthMayHaveZerosInFront) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0000000000000000000002\r\n\r\nhiGET";
  http::RequestReader reader{http::Limits{}};
  std::size_t head = 0, body = 0;
  ASSERT_EQ(reader.consume(bytes, &head), http::ReadState::kHead) << reader.refusal().message;
  ASSERT_EQ(reader.consume(bytes.substr(head), &body), http::ReadState::kComplete);
  EXPECT_EQ(reader.request().body, "hi");
}

TEST(Smuggling, AHostInTheTargetReplacesTheHeader) {
  const std::string bytes = "GET http://a.example:1/x HTTP/1.1\r\nHost: localhost\r\n\r\n";
  http::RequestReader reader{http::Limits{}};
  std::size_t head = 0;
  ASSERT_EQ(reader.consume(bytes, &head), http::ReadState::kHead);
  EXPECT_EQ(reader.request().header("host"), "a.example:1");
  EXPECT_EQ(reader.request().path, "/x");
}

}  // namespace
}  // namespace tandem::server
