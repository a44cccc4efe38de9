// SPDX-License-Identifier: Apache-2.0
//
// The only file that instantiates Beast's parser. It also checks: HTTP/1.0 or 1.1, Host in 1.1, no
// expectation but 100-continue, a bound on chunk extensions and trailers.
#include "server/http/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <limits>

#include "server/http/wire.h"

namespace tandem::server::http {
namespace beast = boost::beast;

struct RequestReader::Parser {
  explicit Parser(const Limits& limits) {
    constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();  // Beast's type
    parser.header_limit(static_cast<std::uint32_t>(std::min(limits.max_header_bytes, kMost)));
    parser.body_limit(limits.max_body_bytes);
    parser.eager(false);
  }
  beast::http::request_parser<beast::http::string_body> parser;
};

namespace {

Refusal describe(const beast::error_code& failure, const Limits& limits) {
  using Code = beast::http::error;
  if (failure == Code::header_limit || failure == Code::buffer_overflow) {
    return {431, "the request line and headers exceed " + std::to_string(limits.max_header_bytes) +
                     " bytes"};
  }
  if (failure == Code::body_limit) {
    return {413, "the request body exceeds " + std::to_string(limits.max_body_bytes) + " bytes"};
  }
  if (failure == Code::bad_version) return {505, "only HTTP/1.0 and HTTP/1.1 are supported"};
  return {400, "malformed HTTP request: " + failure.message()};
}

}  // namespace

RequestReader::RequestReader(const Limits& limits) : limits_(limits) { restart(); }
RequestReader::~RequestReader() = default;

void RequestReader::restart() {
  parser_ = std::make_unique<Parser>(limits_);
  request_ = {};
  head_read_ = refused_ = started_ = expects_continue_ = false;
}

bool RequestReader::started() const { return started_; }
bool RequestReader::keep_alive() const { return parser_->parser.get().keep_alive(); }

ReadState RequestReader::refuse(int status, std::string message) {
  refused_ = true;
  refusal_ = {status, std::move(message)};
  return ReadState::kRefused;
}

ReadState RequestReader::consume(std::string_view input, std::size_t* consumed) {
  *consumed = 0;
  if (refused_) return ReadState::kRefused;
  while (!started_ && input.substr(0, 2) == "\r\n") {  // RFC 9112 2.2: tolerate before a request
    input.remove_prefix(2);
    *consumed += 2;
  }
  auto& parser = parser_->parser;
  while (!parser.is_done()) {
    if (input.empty() || (!started_ && input == "\r")) return ReadState::kNeedMore;
    started_ = true;
    beast::error_code error;
    const std::size_t used = parser.put(boost::asio::buffer(input.data(), input.size()), error);
    *consumed += used;
    input.remove_prefix(used);
    if (error == beast::http::error::need_more) {
      // Chunk extensions and trailers have no separate limit.
      if (input.size() > limits_.max_header_bytes) return refuse(431, "a chunk header is too long");
      return ReadState::kNeedMore;
    }
    if (error) {
      refusal_ = describe(error, limits_);
      return refuse(refusal_.status, refusal_.message);
    }
    if (!head_read_ && parser.is_header_done()) break;
  }
  if (!head_read_) return read_head();
  request_.body = std::move(parser.get().body());
  return ReadState::kComplete;
}

ReadState RequestReader::read_head() {
  auto& parser = parser_->parser;
  const auto& message = parser.get();
  head_read_ = true;
  parser.eager(true);
  request_.method = std::string(message.method_string());
  if (message.version() != 10 && message.version() != 11) {
    return refuse(505, "only HTTP/1.0 and HTTP/1.1 are supported");
  }
  request_.minor_version = static_cast<int>(message.version() % 10);
  if (!split_target(std::string_view(message.target().data(), message.target().size()),
                    &request_.path, &request_.query)) {
    return refuse(400, "the request target is not a path");
  }
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    request_.headers.push_back({std::move(name), std::string(field.value())});
  }
  if (request_.minor_version == 1 && message.count(beast::http::field::host) != 1) {
    return refuse(400, "HTTP/1.1 requires exactly one Host header");
  }
  const std::string_view expect = request_.header("expect");
  if (!expect.empty() && request_.minor_version == 1) {
    if (!equals_ignoring_case(expect, "100-continue")) {
      return refuse(417, "the only supported expectation is 100-continue");
    }
    expects_continue_ = !parser.is_done();
  }
  return ReadState::kHead;
}

}  // namespace tandem::server::http
