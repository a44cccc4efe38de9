// SPDX-License-Identifier: Apache-2.0
//
// Routes: the handler of each path and method, the check of keys, and CORS headers.
//
//   GET  /health            200 {"status": "ok"} or 503; never needs a key
//   GET  /metrics           Prometheus text
//   GET  /status            what runs where, JSON
//   GET  /v1/models         the one model; /v1/models/{id} itself or 404
//   POST /v1/completions, /v1/chat/completions, /tokenize, /detokenize    application/json
// HEAD is accepted wherever GET is. OPTIONS answers with Allow. Cross-origin use from browsers
// (CORS) is off unless an origin is configured. A POST must be application/json: that type makes a
// browser send a preflight request, so a web page cannot post here unasked. Threads: any.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/auth.h"
#include "server/generation_service.h"
#include "server/http/exchange.h"
#include "server/openai/api_context.h"

namespace tandem::server {

struct RouteOptions {
  std::vector<std::string> api_keys;  // empty: no key needed
  std::string cors_origin;            // empty: off; "*" or one origin ("https://app.example")
  openai::RequestLimits request_limits;
  bool strict = false;                          // fields of common clients are refused
  std::chrono::milliseconds heartbeat{10'000};  // of streams that have nothing to send
};

// The threads that work for the handlers.
struct Workers {
  std::shared_ptr<WorkPool> pool;
  std::shared_ptr<Timers> timers;
};

class Routes {
 public:
  Routes(RouteOptions options, GenerationService& service, Workers workers);

  // An answer that needs no body: 404, 401, 405, 415, and OPTIONS.
  std::optional<http::Response> admit(const http::Request& request) const;

  // Answers an admitted request; errors become OpenAI's error objects.
  void handle(http::Exchange& exchange) const;

  // Adds the CORS headers that the request needs.
  void add_headers(const http::Request& request, http::Response& response) const;

  // The route of a request, of a fixed set ("/v1/models/{id}", "other"), for metrics.
  static std::string label(const http::Request& request);

 private:
  std::optional<http::Response> preflight(const http::Request& request) const;
  void dispatch(http::Exchange& exchange) const;
  http::Response one_model(std::string_view id) const;

  RouteOptions options_;
  KeyCheck keys_;
  GenerationService& service_;
  std::shared_ptr<const openai::ApiContext> context_;
};

}  // namespace tandem::server
