// SPDX-License-Identifier: Apache-2.0
//
// Errors have the form of OpenAI's API.
#include "server/route_answers.h"

#include "common/text_parts.h"
#include "server/http/wire.h"
#include "server/openai/api_error.h"
#include "server/web/web_page.h"

namespace tandem::server {
namespace {

using openai::ApiError;

std::string allowed_methods(const Route& route) {
  return route.is_post ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

bool is_json(std::string_view content_type) {
  return http::equals_ignoring_case(trimmed(cut_at(content_type, ';').first, " \t"),
                                    "application/json");
}

std::optional<http::Response> refused_type(const http::Request& request) {
  const auto refuse = [](const std::string& message) {
    return openai::error_response(ApiError(415, message, "", "unsupported_media_type"));
  };
  if (!is_json(request.header("content-type"))) {
    return refuse("send the body as 'Content-Type: application/json'");
  }
  const std::string_view encoding = request.header("content-encoding");
  if (encoding.empty() || http::equals_ignoring_case(encoding, "identity")) return std::nullopt;
  return refuse("the body's Content-Encoding is '" + std::string(encoding) +
                "'; send it without compression");
}

}  // namespace

http::Response empty_with(std::vector<http::Header> headers) {
  http::Response response;
  response.status = 204;
  response.headers = std::move(headers);
  return response;
}

http::Response nothing_at(const std::string& path) {
  return openai::error_response(
      ApiError(404, "there is nothing at " + path + "; the routes of the API begin with /v1", "",
               "unknown_url"));
}

http::Response key_refused(bool has_key, bool asks_browser) {
  auto response = openai::error_response(
      ApiError(401,
               has_key ? "the API key of 'Authorization' is not valid here"
                       : "this server needs an API key: send 'Authorization: Bearer KEY'",
               "", "invalid_api_key"));
  if (asks_browser) response.headers = {ask_for_key()};
  return response;
}

http::Response limit_reached(const std::string& key, const LimitReached& reached) {
  const std::string seconds = std::to_string(reached.retry_after_seconds);
  http::Response response = openai::error_response(ApiError(
      429,
      "the key '" + key + "' is limited to " + reached.limit + "; try again in " + seconds + " s",
      "", "rate_limit_exceeded"));
  std::erase_if(response.headers,
                [](const http::Header& header) { return header.name == "Retry-After"; });
  response.headers.push_back({"Retry-After", seconds});
  return response;
}

std::optional<http::Response> check_method(const Route& route, const http::Request& request) {
  if (request.method == "OPTIONS") return empty_with({{"Allow", allowed_methods(route)}});
  const bool fits = route.is_post ? request.method == "POST"
                                  : request.method == "GET" || request.method == "HEAD";
  if (!fits) {
    auto response = openai::error_response(
        ApiError(405, request.path + " takes " + allowed_methods(route) + ", not " + request.method,
                 "", "method_not_allowed"));
    response.headers.push_back({"Allow", allowed_methods(route)});
    return response;
  }
  return route.is_post ? refused_type(request) : std::nullopt;
}

}  // namespace tandem::server
