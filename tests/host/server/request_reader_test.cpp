// SPDX-License-Identifier: Apache-2.0
//
// The HTTP request reader without sockets: limits, refusals, and independence of how bytes arrive.
#include "server/http/request_reader.h"

#include <gtest/gtest.h>

#include "server/http/wire.h"

namespace tandem::server::http {
namespace {

struct Outcome {
  ReadState state = ReadState::kNeedMore;
  int refused_with = 0;
  Request request;
  std::string rest;
};

// Feeds the bytes in pieces of `step` until a request is complete, refused, or they run out.
Outcome read(std::string bytes, std::size_t step, const Limits& limits = {}) {
  RequestReader reader(limits);
  Outcome outcome;
  std::string input;
  for (std::size_t at = 0; at < bytes.size();) {
    input += bytes.substr(at, step);
    at += std::min(step, bytes.size() - at);
    std::size_t consumed = 0;
    do {
      outcome.state = reader.consume(input, &consumed);
      input.erase(0, consumed);
    } while (outcome.state == ReadState::kHead);
    if (outcome.state == ReadState::kRefused) outcome.refused_with = reader.refusal().status;
    if (outcome.state != ReadState::kNeedMore) {
      outcome.rest = input + bytes.substr(at);
      break;
    }
  }
  outcome.request = reader.take();
  return outcome;
}

int refusal(const std::string& bytes, const Limits& limits = {}) {
  const int whole = read(bytes, bytes.size(), limits).refused_with;
  for (const std::size_t step : {1, 2, 7, 100}) {
    EXPECT_EQ(read(bytes, step, limits).refused_with, whole) << bytes.substr(0, 200);
  }
  return whole;
}

const std::string kChunked =
    "POST /v1/%61?x=1 HTTP/1.1\r\nHost: h\r\nX-Mixed: Value \r\nTransfer-Encoding: chunked\r\n\r\n"
    "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n";

TEST(RequestReader, AHeaderLimitBeyond32BitsIsNoLimitOfZero) {
  Limits limits;
  limits.max_header_bytes = std::size_t{4} << 30;
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: h\r\n\r\n", limits), 0);
}

TEST(RequestReader, ReadsTheSameInPiecesOfAnySize) {
  const std::string next = "GET / HTTP/1.1\r\n";
  for (std::size_t step = 1; step < kChunked.size() + 5; ++step) {
    const Outcome outcome = read(kChunked + next, step);
    ASSERT_EQ(outcome.state, ReadState::kComplete) << step;
    EXPECT_EQ(outcome.request.method, "POST");
    EXPECT_EQ(outcome.request.path, "/v1/a");
    EXPECT_EQ(outcome.request.query, "x=1");
    EXPECT_EQ(outcome.request.header("x-mixed"), "Value");
    EXPECT_EQ(outcome.request.body, "abcde");
    EXPECT_EQ(outcome.rest, next);
  }
}

TEST(RequestReader, ReportsTheHeadBeforeTheBody) {
  RequestReader reader{Limits{}};
  std::size_t consumed = 0;
  const std::string head =
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(reader.consume(head, &consumed), ReadState::kHead);
  EXPECT_EQ(consumed, head.size());
  EXPECT_TRUE(reader.expects_continue() && reader.keep_alive());
  EXPECT_EQ(reader.consume("h", &consumed), ReadState::kNeedMore);
  EXPECT_EQ(reader.consume("i", &consumed), ReadState::kComplete);
  EXPECT_EQ(reader.request().body, "hi");
}

TEST(RequestReader, NobodyWaitsWithABodyThatIsEmpty) {
  RequestReader reader{Limits{}};
  std::size_t consumed = 0;
  const std::string head =
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(reader.consume(head, &consumed), ReadState::kHead);
  EXPECT_FALSE(reader.expects_continue());
}

TEST(RequestReader, ToleratesEmptyLinesBeforeARequest) {
  EXPECT_EQ(read("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 1).state, ReadState::kComplete);
}

TEST(RequestReader, RefusesMalformedRequests) {
  for (const char* bytes :
       {"GARBAGE\r\n\r\n",
        "GET /\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n",
        "GET x HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /%2 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /v1/models%00 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "\x16\x03\x01\x02",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n"}) {
    EXPECT_EQ(refusal(bytes), 400) << bytes;
  }
}

TEST(RequestReader, RefusesOtherVersionsAndExpectations) {
  EXPECT_EQ(refusal("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(refusal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: h\r\nExpect: magic\r\n\r\n"), 417);
}

TEST(RequestReader, HoldsToItsLimits) {
  Limits limits;
  limits.max_header_bytes = 1024;
  limits.max_body_bytes = 10;
  const std::string long_value(2000, 'a');
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: h\r\nX: " + long_value + "\r\n\r\n", limits), 431);
  EXPECT_EQ(refusal("GET /" + long_value, limits), 431);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: h\r\nX: " + long_value, limits), 431);
  EXPECT_EQ(refusal("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n", limits), 413);
  const std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(refusal(chunked + "b\r\n12345678901\r\n0\r\n\r\n", limits), 413);
  EXPECT_EQ(refusal(chunked + "7\r\n1234567\r\n7\r\n1234567\r\n0\r\n\r\n", limits), 413);
  EXPECT_EQ(refusal(chunked + "1;" + long_value, limits), 431);
  EXPECT_EQ(refusal(chunked + "0\r\nX: " + long_value + long_value, limits), 431);
}

TEST(RequestReader, TheLimitOfAHeadIsExactHoweverItsBytesArrive) {
  Limits limits;
  limits.max_header_bytes = 1024;
  for (const std::size_t size : {1023, 1024, 1025, 1247, 3000}) {
    std::string head = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
    head += std::string(size - head.size() - 4, 'a') + "\r\n\r\n";
    ASSERT_EQ(head.size(), size);
    for (std::size_t step = 1; step <= size; ++step) {
      ASSERT_EQ(read(head, step, limits).refused_with, size <= 1024 ? 0 : 431)
          << size << " bytes in pieces of " << step;
    }
  }
}

TEST(RequestReader, TheLimitOfExtensionsAndTrailersIsExactHoweverTheirBytesArrive) {
  Limits limits;
  limits.max_header_bytes = 1024;
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::size_t size : {500, 501}) {  // two extensions of it, and a trailer of 24 bytes
    const std::string extra(size, 'a');
    const std::string bytes = head + "1;" + extra + "\r\nx\r\n1;" + extra + "\r\ny\r\n0\r\n" +
                              std::string(22, 't') + ":v\r\n\r\n";
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
      ASSERT_EQ(read(bytes, step, limits).refused_with, size == 500 ? 0 : 431) << step;
    }
  }
}

TEST(RequestReader, EmptyLinesBeforeARequestCountAsItsHead) {
  Limits limits;
  limits.max_header_bytes = 1024;
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += "\r\n";
  EXPECT_EQ(refusal(lines, limits), 431);
}

TEST(RequestReader, KnowsWhoMayStay) {
  const auto keeps = [](const std::string& bytes) {
    RequestReader reader{Limits{}};
    std::size_t consumed = 0;
    EXPECT_EQ(reader.consume(bytes, &consumed), ReadState::kHead);
    return reader.keep_alive();
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(Wire, TakesAbsoluteTargets) {
  std::string path, query;
  EXPECT_TRUE(split_target("http://host:1/a%20b?c=%20#d", &path, &query));
  EXPECT_EQ(path, "/a b");
  EXPECT_TRUE(split_target("HTTPS://host", &path, &query));
  EXPECT_EQ(path, "/");
  EXPECT_TRUE(split_target("*", &path, &query));
  EXPECT_FALSE(split_target("", &path, &query));
  EXPECT_FALSE(split_target("a", &path, &query));
  EXPECT_FALSE(split_target(std::string_view("/%41").substr(0, 3), &path, &query))
      << "what stands behind it is another's";
}

TEST(Wire, HeaderValuesCannotStartAnotherHeader) {
  Response response;
  response.headers.push_back({"X", "a\r\nEvil: 1"});
  response.headers.push_back({"Y", std::string("b\0c", 3)});
  const std::string head = response_head(response, Framing::kLength, true);
  EXPECT_NE(head.find("X: a  Evil: 1\r\n"), std::string::npos);
  EXPECT_NE(head.find("Y: b c\r\n"), std::string::npos);
}

}  // namespace
}  // namespace tandem::server::http
