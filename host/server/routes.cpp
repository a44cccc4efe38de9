// SPDX-License-Identifier: Apache-2.0
//
// The route table and the order of checks: path, preflight, key, method, content type.
#include "server/routes.h"

#include <array>

#include "common/error.h"
#include "server/http/wire.h"
#include "server/openai/api_error.h"
#include "server/openai/endpoints.h"

namespace tandem::server {
namespace {

using openai::ApiError;

enum class RouteId { kHealth, kMetrics, kStatus, kModels, kModel, kCompletions, kChat };

struct Route {
  RouteId id;
  const char* label;
  bool is_post;
};

constexpr std::array kRoutes = {
    Route{RouteId::kHealth, "/health", false},
    Route{RouteId::kMetrics, "/metrics", false},
    Route{RouteId::kStatus, "/status", false},
    Route{RouteId::kModels, "/v1/models", false},
    Route{RouteId::kModel, "/v1/models/{id}", false},
    Route{RouteId::kCompletions, "/v1/completions", true},
    Route{RouteId::kChat, "/v1/chat/completions", true},
};

constexpr std::string_view kModelPrefix = "/v1/models/";

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (path == route.label && route.id != RouteId::kModel) return &route;
    if (route.id == RouteId::kModel && path.size() > kModelPrefix.size() &&
        path.starts_with(kModelPrefix)) {
      return &route;
    }
  }
  return nullptr;
}

std::string allowed_methods(const Route& route) {
  return route.is_post ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

bool is_json(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return http::equals_ignoring_case(type, "application/json");
}

http::Response plain(std::string body, std::string content_type = "application/json") {
  http::Response response;
  response.body = std::move(body);
  response.content_type = std::move(content_type);
  return response;
}

http::Response empty_with(std::vector<http::Header> headers) {
  http::Response response;
  response.status = 204;
  response.headers = std::move(headers);
  return response;
}

}  // namespace

Routes::Routes(RouteOptions options, GenerationService& service)
    : options_(std::move(options)), keys_(options_.api_keys), service_(service) {}

std::string Routes::label(const http::Request& request) {
  const Route* route = find_route(request.path);
  return route == nullptr ? "other" : route->label;
}

// A browser sends this request before it sends a key, so no key is needed.
std::optional<http::Response> Routes::preflight(const http::Request& request) const {
  const bool asks = request.method == "OPTIONS" && !request.header("origin").empty() &&
                    !request.header("access-control-request-method").empty();
  if (!asks || options_.cors_origin.empty()) return std::nullopt;
  return empty_with({{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                     {"Access-Control-Allow-Headers",
                      std::string(request.header("access-control-request-headers"))},
                     {"Access-Control-Max-Age", "600"}});
}

std::optional<http::Response> Routes::admit(const http::Request& request) const {
  if (auto answer = preflight(request)) return answer;
  const Route* route = find_route(request.path);
  const bool is_health = route != nullptr && route->id == RouteId::kHealth;
  if (!is_health && !keys_.accepts(request.header("authorization"))) {
    return openai::error_response(
        ApiError(401, "this server needs an API key: send 'Authorization: Bearer KEY'", "",
                 "invalid_api_key"));
  }
  if (route == nullptr) {
    return openai::error_response(
        ApiError(404, "there is nothing at " + request.path, "", "unknown_url"));
  }
  if (request.method == "OPTIONS") return empty_with({{"Allow", allowed_methods(*route)}});
  const bool fits = route->is_post ? request.method == "POST"
                                   : request.method == "GET" || request.method == "HEAD";
  if (!fits) {
    auto response = openai::error_response(ApiError(
        405, request.path + " takes " + allowed_methods(*route) + ", not " + request.method, "",
        "method_not_allowed"));
    response.headers.push_back({"Allow", allowed_methods(*route)});
    return response;
  }
  if (route->is_post && !is_json(request.header("content-type"))) {
    return openai::error_response(ApiError(415, "send the body as 'Content-Type: application/json'",
                                           "", "unsupported_media_type"));
  }
  return std::nullopt;
}

void Routes::handle(http::Exchange& exchange) const {
  try {
    dispatch(exchange);
  } catch (const ApiError& error) {
    exchange.respond(openai::error_response(error));
  }
}

void Routes::dispatch(http::Exchange& exchange) const {
  const std::string& path = exchange.request().path;
  switch (find_route(path)->id) {
    case RouteId::kHealth: {
      const bool healthy = service_.healthy();
      http::Response response = plain(openai::health_body(healthy, service_.lost_devices()));
      response.status = healthy ? 200 : 503;
      return exchange.respond(std::move(response));
    }
    case RouteId::kMetrics:
      return exchange.respond(
          plain(service_.metrics_text(), "text/plain; version=0.0.4; charset=utf-8"));
    case RouteId::kStatus:
      return exchange.respond(plain(service_.status_json()));
    case RouteId::kModels:
      return exchange.respond(plain(openai::model_list_body(service_.model())));
    case RouteId::kModel:
      return exchange.respond(one_model(std::string_view(path).substr(kModelPrefix.size())));
    case RouteId::kCompletions:
      return openai::handle_completion(exchange, service_, options_.request_limits);
    case RouteId::kChat:
      return openai::handle_chat(exchange, service_, options_.request_limits);
  }
}

http::Response Routes::one_model(std::string_view id) const {
  const ModelCard card = service_.model();
  if (id == card.id) return plain(openai::model_body(card));
  throw ApiError(404, "The model '" + std::string(id) + "' does not exist here", "model",
                 "model_not_found");
}

void Routes::add_headers(const http::Request& request, http::Response& response) const {
  if (options_.cors_origin.empty()) return;
  const std::string_view origin = request.header("origin");
  if (options_.cors_origin != "*") {
    response.headers.push_back({"Vary", "Origin"});
    if (origin != options_.cors_origin) return;
  }
  if (origin.empty()) return;
  response.headers.push_back({"Access-Control-Allow-Origin", options_.cors_origin});
}

}  // namespace tandem::server
