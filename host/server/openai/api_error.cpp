// SPDX-License-Identifier: Apache-2.0
//
// Text of a request that a message quotes may be cut anywhere, so broken UTF-8 is replaced.
#include "server/openai/api_error.h"

#include <nlohmann/json.hpp>

#include "common/text_parts.h"

namespace tandem::server::openai {
namespace {

const char* error_type(int status) {
  if (status == 401) return "authentication_error";
  if (status == 429) return "rate_limit_error";
  if (status == 503) return "service_unavailable_error";
  if (status >= 500 || status == 422) return "server_error";
  return "invalid_request_error";
}

// A message quotes what the client sent, which may be megabytes.
std::string shortened(std::string text) {
  constexpr std::size_t kMaxBytes = 400;
  if (text.size() > kMaxBytes) text = text.substr(0, kMaxBytes) + "...";
  return text;
}

}  // namespace

std::string text_for_client(const std::exception& error) {
  return std::string(without_tag(error.what()));
}

ApiError not_admitted(SubmitStatus status, int retry_after_seconds) {
  ApiError error = status == SubmitStatus::kStopping
                       ? ApiError(503, "the server is stopping; try again later", "", "stopping")
                       : ApiError(429, "the queue is full; try again later", "", "queue_full");
  error.retry_after_seconds = retry_after_seconds;
  return error;
}

std::string error_word(const ApiError& error) {
  return error.code.empty() ? error_type(error.status) : error.code;
}

std::string error_body(const ApiError& error) {
  using nlohmann::ordered_json;
  const auto or_null = [](const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(shortened(text));
  };
  const ordered_json body = {{"error",
                              {{"message", shortened(error.what())},
                               {"type", error_type(error.status)},
                               {"param", or_null(error.param)},
                               {"code", or_null(error.code)}}}};
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

http::Response error_response(const ApiError& error) {
  http::Response response;
  response.status = error.status;
  response.body = error_body(error);
  response.error = error_word(error);
  if (error.status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  if (error.status == 429 || error.status == 503) {
    response.headers.push_back({"Retry-After", std::to_string(error.retry_after_seconds)});
  }
  return response;
}

}  // namespace tandem::server::openai
