// SPDX-License-Identifier: Apache-2.0
//
// Routes: the handler of each path and method, the check of keys, and CORS headers.
//
// README.md of this folder lists the routes. HEAD is accepted wherever GET is. OPTIONS answers with
// Allow. Cross-origin use from browsers (CORS) is off unless an origin is configured. A POST must
// have the type application/json. A browser sends a preflight request before it posts this type, so
// a foreign web page cannot post here. Threads: any.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/admin.h"
#include "server/access/key_store.h"
#include "server/access/refusal_delay.h"
#include "server/access/request_ledger.h"
#include "server/auth.h"
#include "server/generation_service.h"
#include "server/host_check.h"
#include "server/http/exchange.h"
#include "server/openai/api_context.h"
#include "server/web/page_state.h"

namespace tandem::server {

struct RouteOptions {
  std::vector<ApiKey> api_keys;      // empty: no key needed
  std::string key_file;              // the file that reload_keys() reads again; empty: none
  bool admin_from_loopback = false;  // if there are no keys, clients on this machine are operators
  std::function<void()> drain;       // see Admin
  std::string cors_origin;           // empty: off; "*" or one origin ("https://app.example")
  openai::RequestLimits request_limits;  // without keys best_priority is 0 by default
  // Names that a Host header may have if there are no keys; see HostCheck.
  std::vector<std::string> allowed_hosts;
  // If the engine's last heartbeat is older, /livez and /readyz answer 503.
  std::chrono::milliseconds live_timeout{60'000};
  bool serves_page = false;          // /ui, see web/web_page.h
  std::string configuration = "{}";  // JSON, for GET /admin/config
  bool strict = false;               // fields of common clients are refused
  std::chrono::milliseconds heartbeat{
      10'000};  // interval of comments in streams that have nothing to send
  std::size_t max_delayed_refusals = 128;  // see RefusalDelay
};

// The worker threads of the handlers.
struct Workers {
  std::shared_ptr<WorkPool> pool;
  std::shared_ptr<Timers> timers;
};

class Routes {
 public:
  // `metrics` (may be null) counts requests by key.
  Routes(RouteOptions options, GenerationService& service, Workers workers,
         trace::Metrics* metrics = nullptr);

  // Opens the request's record. Returns the answer if the head of the request is enough for it:
  // 404, 401, 403, 405, 415, 429, OPTIONS.
  std::optional<http::Response> admit(http::Request& request);

  // Whether the request asks if the server is alive or ready.
  static bool is_probe(const http::Request& request);

  // Answers an admitted request; errors become OpenAI's error objects.
  void handle(http::Exchange& exchange);

  // Adds X-Request-Id and the CORS headers that the request needs; records the status; delays a 429
  // for a caller that has had many.
  void add_headers(http::Request& request, http::Response& response);

  // Throws Error if the file is wrong; the keys then do not change. Returns the number of keys, 0
  // without a file.
  std::size_t reload_keys() { return keys_.reload(); }

  // The route of a request as one of a fixed set ("/v1/models/{id}", "other"), for metrics.
  static std::string label(const http::Request& request);

 private:
  std::optional<http::Response> preflight(const http::Request& request) const;
  bool names_this_server(const http::Request& request) const;
  bool is_alive() const;
  RequestRecord& record_of(http::Request& request);
  std::optional<http::Response> check_places(RequestRecord& record, bool generates) const;
  std::optional<http::Response> check_role(Role role, const http::Request& request) const;
  bool is_closed_to_origins(const http::Request& request) const;
  std::shared_ptr<const openai::ApiContext> context_for(const http::Request& request) const;
  void dispatch(http::Exchange& exchange);
  http::Response access_of(const http::Request& request) const;
  http::Response page_state(const http::Request& request);
  http::Response one_model(std::string_view id) const;

  RouteOptions options_;
  KeyStore keys_;
  HostCheck hosts_;
  RequestLedger ledger_;
  RefusalDelay refusal_delay_;
  GenerationService& service_;
  Admin admin_;
  PageState page_state_;
  std::shared_ptr<const openai::ApiContext> context_;
};

}  // namespace tandem::server
