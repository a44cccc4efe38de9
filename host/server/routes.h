// SPDX-License-Identifier: Apache-2.0
//
// Routes: which path and method leads where, who may go there, and what every answer carries.
//
//   GET  /health            200 {"status": "ok"} or 503; never needs a key
//   GET  /metrics           Prometheus text
//   GET  /status            what runs where, JSON
//   GET  /v1/models         the one model; /v1/models/{id} itself or 404
//   POST /v1/completions, /v1/chat/completions    application/json
// HEAD goes wherever GET goes. OPTIONS answers with Allow. Cross-origin use from browsers (CORS) is
// off unless an origin is configured; requiring application/json for POST keeps web pages from
// posting here without asking, since that type makes a browser ask first. Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/auth.h"
#include "server/generation_service.h"
#include "server/http/exchange.h"
#include "server/openai/request_parser.h"

namespace tandem::server {

struct RouteOptions {
  std::vector<std::string> api_keys;  // empty: no key needed
  std::string cors_origin;            // empty: off; "*" or one origin ("https://app.example")
  openai::RequestLimits request_limits;
};

class Routes {
 public:
  Routes(RouteOptions options, GenerationService& service);

  // Decides on the head alone: 404, 401, 405, 415, and OPTIONS.
  std::optional<http::Response> admit(const http::Request& request) const;

  // Answers an admitted request; errors become OpenAI's error objects.
  void handle(http::Exchange& exchange) const;

  // Adds the CORS headers where they are due.
  void add_headers(const http::Request& request, http::Response& response) const;

  // The pattern a request falls under, of a fixed set ("/v1/models/{id}", "other"): for metrics.
  static std::string label(const http::Request& request);

 private:
  std::optional<http::Response> preflight(const http::Request& request) const;
  void dispatch(http::Exchange& exchange) const;
  http::Response one_model(std::string_view id) const;

  RouteOptions options_;
  KeyCheck keys_;
  GenerationService& service_;
};

}  // namespace tandem::server
