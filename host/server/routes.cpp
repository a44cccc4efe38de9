// SPDX-License-Identifier: Apache-2.0
//
// The order of checks: path, preflight, key, method, content type.
#include "server/routes.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "common/log_event.h"
#include "server/openai/api_error.h"
#include "server/openai/endpoints.h"
#include "server/openai/text_endpoints.h"
#include "server/route_answers.h"
#include "server/route_table.h"
#include "server/web/web_page.h"

namespace tandem::server {
namespace {

using openai::ApiError;

constexpr std::string_view kAccessPath = "/ui/access";

// The answer of a probe: {"status": ...}.
http::Response status_response(bool good, const char* otherwise) {
  http::Response response;
  response.status = good ? 200 : 503;
  response.body = std::string(R"({"status":")") + (good ? "ok" : otherwise) + R"("})";
  return response;
}

http::Response plain(std::string body, std::string content_type = "application/json") {
  http::Response response;
  response.body = std::move(body);
  response.content_type = std::move(content_type);
  return response;
}

// The least of a limit of the server and one of a key, where 0 is none.
int least_limit(int limit, int of_key) {
  if (of_key == 0) return limit;
  return limit == 0 ? of_key : std::min(limit, of_key);
}

bool limits_requests(const KeyLimits& limits) {
  return limits.max_choices != 0 || limits.max_tokens != 0 || limits.best_priority;
}

// Without keys all clients are one caller, so a client could overtake all others by its priority.
openai::RequestLimits request_limits(const RouteOptions& options) {
  openai::RequestLimits limits = options.request_limits;
  if (options.api_keys.empty() && !limits.best_priority) limits.best_priority = 0;
  return limits;
}

const char* role_name(Role role) {
  if (role == Role::kMetrics) return "metrics";
  return role == Role::kAdmin ? "admin" : "use";
}

}  // namespace

Routes::Routes(RouteOptions options, GenerationService& service, Workers workers,
               trace::Metrics* metrics)
    : options_(std::move(options)),
      keys_(options_.api_keys, options_.key_file),
      hosts_(options_.allowed_hosts),
      ledger_(metrics),
      refusal_delay_(options_.max_delayed_refusals),
      service_(service),
      admin_(service, ledger_, options_.drain),
      page_state_(service, admin_),
      context_(std::make_shared<openai::ApiContext>(openai::ApiContext{
          service, std::move(workers.pool), std::move(workers.timers), request_limits(options_),
          options_.strict, options_.heartbeat,
          std::make_shared<openai::AnswerMemory>(options_.request_limits.max_held_bytes)})) {}

// A request that HTTP refuses before its head is read gets its record with its answer.
RequestRecord& Routes::record_of(http::Request& request) {
  constexpr std::size_t kMaxMethodBytes = 16;
  if (request.record == nullptr) {
    request.record = ledger_.open({request_id(request.header("x-request-id")),
                                   request.method.substr(0, kMaxMethodBytes), label(request),
                                   request.peer.text, is_watch_route(find_route(request.path))});
  }
  return *request.record;
}

std::string Routes::label(const http::Request& request) {
  const Route* route = find_route(request.path);
  return route == nullptr ? "other" : route->label;
}

bool Routes::is_probe(const http::Request& request) {
  return is_probe_route(find_route(request.path));
}

// With keys a page under a foreign name can do nothing here: browsers send a key to its own name
// only.
bool Routes::names_this_server(const http::Request& request) const {
  return keys_.required() || is_probe(request) || hosts_.accepts(request.header("host")) ||
         (request.minor_version == 0 && request.header("host").empty());
}

// Without keys only a client's place opens the routes of operators, and a page of another origin in
// a browser of this machine has it too.
bool Routes::is_closed_to_origins(const http::Request& request) const {
  const Route* route = find_route(request.path);
  return !keys_.required() && route != nullptr && route->role == Role::kAdmin;
}

bool Routes::is_alive() const { return service_.heartbeat_age() <= options_.live_timeout; }

// A browser sends this request before it sends a key, so no key is needed.
std::optional<http::Response> Routes::preflight(const http::Request& request) const {
  const bool asks = request.method == "OPTIONS" && !request.header("origin").empty() &&
                    !request.header("access-control-request-method").empty();
  if (!asks || options_.cors_origin.empty() || is_closed_to_origins(request)) return std::nullopt;
  return empty_with({{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                     {"Access-Control-Allow-Headers",
                      std::string(request.header("access-control-request-headers"))},
                     {"Access-Control-Max-Age", "600"}});
}

std::optional<http::Response> Routes::check_role(Role role, const http::Request& request) const {
  if (!keys_.required()) {
    if (role != Role::kAdmin) return std::nullopt;
    if (options_.admin_from_loopback && request.peer.is_local) return std::nullopt;
    return openai::error_response(
        ApiError(403,
                 "the routes of operators need a key with the role admin; without keys, "
                 "--admin loopback opens them to clients of this machine",
                 "", "role_missing"));
  }
  const auto key = request.record->key();
  if (key->may(role)) return std::nullopt;
  return openai::error_response(ApiError(403,
                                         "the key '" + key->name + "' has the role " +
                                             key->role_text() + ", but " + request.path +
                                             " needs the role " + role_name(role),
                                         "", "role_missing"));
}

std::optional<http::Response> Routes::admit(http::Request& request) {
  RequestRecord& record = record_of(request);
  spdlog::debug("[server] {}: {} {} from {}", record.id(), request.method, printable(request.path),
                request.peer.text.empty() ? "a Unix socket" : request.peer.text);
  if (!names_this_server(request)) {
    return openai::error_response(
        ApiError(403,
                 "without API keys this server answers to localhost, IP addresses and the names of "
                 "--allowed-host, not to '" +
                     std::string(request.header("host")) + "'",
                 "", "host_not_allowed"));
  }
  if (auto answer = preflight(request)) return answer;
  const Route* route = find_route(request.path);
  const bool shows_page = options_.serves_page && route != nullptr && route->id == RouteId::kPage;
  if (shows_page) {
    if (auto moved = moved_page(request.path)) return moved;
  }
  if (!is_probe_route(route) && keys_.required()) {
    record.set_caller(keys_.find(request.header("authorization")));
    if (record.key() == nullptr)
      return key_refused(!request.header("authorization").empty(), shows_page);
  }
  if (route == nullptr) return nothing_at(request.path);
  if (is_web_path(request.path) && !options_.serves_page) {
    return openai::error_response(
        ApiError(404, "the page is off here; `tandem serve --ui` turns it on", "", "unknown_url"));
  }
  if (!is_probe_route(route)) {
    if (auto refusal = check_role(route->role, request)) return refusal;
  }
  if (auto answer = check_method(*route, request)) return answer;
  if (!route->is_post || route->role != Role::kUse) return std::nullopt;
  return check_places(record, route->id == RouteId::kCompletions || route->id == RouteId::kChat);
}

// A full queue or a stopping service is reported before the body is read, and costs the key
// nothing.
std::optional<http::Response> Routes::check_places(RequestRecord& record, bool generates) const {
  const SubmitStatus status =
      generates ? service_.admission(record.caller()) : SubmitStatus::kAccepted;
  if (status != SubmitStatus::kAccepted) {
    return openai::error_response(openai::not_admitted(status, service_.retry_after_seconds()));
  }
  if (const auto reached = record.take_place()) return limit_reached(record.caller(), *reached);
  return std::nullopt;
}

std::shared_ptr<const openai::ApiContext> Routes::context_for(const http::Request& request) const {
  const auto key = request.record->key();
  if (key == nullptr || !limits_requests(key->limits)) return context_;
  auto context = std::make_shared<openai::ApiContext>(*context_);
  openai::RequestLimits& limits = context->limits;
  limits.max_choices = least_limit(limits.max_choices, key->limits.max_choices);
  limits.max_tokens = least_limit(limits.max_tokens, key->limits.max_tokens);
  if (key->limits.best_priority) limits.best_priority = key->limits.best_priority;
  return context;
}

void Routes::handle(http::Exchange& exchange) {
  try {
    dispatch(exchange);
  } catch (const ApiError& error) {
    exchange.respond(openai::error_response(error));
  }
}

void Routes::dispatch(http::Exchange& exchange) {
  const std::string& path = exchange.request().path;
  switch (find_route(path)->id) {
    case RouteId::kLive:
      return exchange.respond(status_response(is_alive(), "stalled"));
    case RouteId::kReady:
      return exchange.respond(is_alive() ? status_response(service_.healthy(), "not ready")
                                         : status_response(false, "stalled"));
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
    case RouteId::kStatusRequests:
      return exchange.respond(plain(service_.sequences_json()));
    case RouteId::kModels:
      return exchange.respond(plain(openai::model_list_body(service_.model())));
    case RouteId::kModel:
      return exchange.respond(one_model(std::string_view(path).substr(kModelPrefix.size())));
    case RouteId::kCompletions:
      return openai::handle_completion(exchange, context_for(exchange.request()));
    case RouteId::kChat:
      return openai::handle_chat(exchange, context_for(exchange.request()));
    case RouteId::kTokenize:
      return openai::handle_tokenize(exchange, context_);
    case RouteId::kDetokenize:
      return openai::handle_detokenize(exchange, context_);
    case RouteId::kPageState:
      return exchange.respond(page_state(exchange.request()));
    case RouteId::kPage: {
      if (path == kAccessPath) return exchange.respond(access_of(exchange.request()));
      auto page = web_page(exchange.request());
      return exchange.respond(page ? std::move(*page) : nothing_at(path));
    }
    case RouteId::kAdminRequests:
      return exchange.respond(admin_.requests());
    case RouteId::kAdminCancel:
      return exchange.respond(admin_.cancel(exchange.request().body));
    case RouteId::kAdminDrain:
      return exchange.respond(admin_.drain());
    case RouteId::kAdminLogLevel:
      return exchange.respond(admin_.log_level(exchange.request().body));
    case RouteId::kAdminLog:
      return exchange.respond(admin_.log());
    case RouteId::kAdminConfig:
      return exchange.respond(plain(options_.configuration));
    case RouteId::kAdminReports:
      return exchange.respond(plain(service_.card_reports_json()));
  }
}

// Tells the page which routes its key opens. It asks no others, because browsers log each refusal.
http::Response Routes::access_of(const http::Request& request) const {
  const auto entry = [&](const char* name, Role role) {
    const bool may = !check_role(role, request);
    return std::string("\"") + name + "\":" + (may ? "true" : "false");
  };
  return plain("{" + entry("metrics", Role::kMetrics) + "," + entry("admin", Role::kAdmin) + "}");
}

// `?requests` asks for those too. A browser names the origin of a page of another site, and without
// keys such a page is no operator (see is_closed_to_origins()).
http::Response Routes::page_state(const http::Request& request) {
  const bool is_operator =
      !check_role(Role::kAdmin, request) && (keys_.required() || request.header("origin").empty());
  http::Response response =
      plain(page_state_.text(request.query == "requests", is_operator, SharedText::Clock::now()));
  response.headers = {{"Cache-Control", "no-store"}};  // keys see different parts of it
  return response;
}

http::Response Routes::one_model(std::string_view id) const {
  const ModelCard card = service_.model();
  if (openai::is_named(card, id)) return plain(openai::model_body(card));
  throw ApiError(404, "The model '" + std::string(id) + "' does not exist here", "model",
                 "model_not_found");
}

void Routes::add_headers(http::Request& request, http::Response& response) {
  RequestRecord& record = record_of(request);
  record.set_status(response.status);
  record.set_error(response.error);
  if (response.status == 429) refusal_delay_.apply(record.caller(), response);
  response.headers.push_back({"X-Request-Id", record.id()});
  if (options_.cors_origin.empty() || is_closed_to_origins(request)) return;
  const std::string_view origin = request.header("origin");
  if (options_.cors_origin != "*") {
    response.headers.push_back({"Vary", "Origin"});
    if (origin != options_.cors_origin) return;
  }
  if (origin.empty()) return;
  response.headers.push_back({"Access-Control-Allow-Origin", options_.cors_origin});
}

}  // namespace tandem::server
