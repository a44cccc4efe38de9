// SPDX-License-Identifier: Apache-2.0
//
// The only file that instantiates Beast's parser.
#include "server/http/head_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <limits>
#include <utility>

#include "server/http/wire.h"

namespace tandem::server::http {
namespace beast = boost::beast;

std::optional<Refusal> parse_head(std::string_view head, Request* request, bool* keep_alive) {
  beast::http::request_parser<beast::http::empty_body> parser;
  parser.eager(false);
  parser.header_limit(std::numeric_limits<std::uint32_t>::max());  // the scanner has enforced it
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  beast::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (error || !parser.is_header_done()) {
    return Refusal{400, "malformed HTTP request: " + error.message()};
  }
  const auto& message = parser.get();
  request->method = std::string(message.method_string());
  request->minor_version = static_cast<int>(message.version() % 10);
  *keep_alive = message.keep_alive();
  const std::string_view target(message.target().data(), message.target().size());
  if (!split_target(target, &request->path, &request->query)) {
    return Refusal{400, "the request target is not a path"};
  }
  const std::string_view authority = target_authority(target);
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    std::string value(field.value());
    if (name == "host" && !authority.empty()) value = std::string(authority);
    request->headers.push_back({std::move(name), std::move(value)});
  }
  return std::nullopt;
}

}  // namespace tandem::server::http
