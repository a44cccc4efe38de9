// SPDX-License-Identifier: Apache-2.0
//
// Few routes, so they are searched one by one.
#include "server/route_table.h"

#include <array>

#include "server/web/web_page.h"

namespace tandem::server {
namespace {

constexpr std::array kRoutes = {
    Route{RouteId::kLive, "/livez", false},
    Route{RouteId::kReady, "/readyz", false},
    Route{RouteId::kHealth, "/health", false},
    Route{RouteId::kMetrics, "/metrics", false, Role::kMetrics},
    Route{RouteId::kStatus, "/status", false, Role::kMetrics},
    Route{RouteId::kStatusRequests, "/status/requests", false, Role::kMetrics},
    Route{RouteId::kModels, "/v1/models", false},
    Route{RouteId::kModel, "/v1/models/{id}", false},
    Route{RouteId::kCompletions, "/v1/completions", true},
    Route{RouteId::kChat, "/v1/chat/completions", true},
    Route{RouteId::kTokenize, "/tokenize", true},
    Route{RouteId::kDetokenize, "/detokenize", true},
    Route{RouteId::kPageState, "/ui/state", false, Role::kMetrics},
    Route{RouteId::kPage, "/ui", false},
    Route{RouteId::kAdminRequests, "/admin/requests", false, Role::kAdmin},
    Route{RouteId::kAdminCancel, "/admin/cancel", true, Role::kAdmin},
    Route{RouteId::kAdminDrain, "/admin/drain", true, Role::kAdmin},
    Route{RouteId::kAdminLogLevel, "/admin/log-level", true, Role::kAdmin},
    Route{RouteId::kAdminLog, "/admin/log", false, Role::kAdmin},
    Route{RouteId::kAdminConfig, "/admin/config", false, Role::kAdmin},
    Route{RouteId::kAdminReports, "/admin/card-reports", false, Role::kAdmin},
};

}  // namespace

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (path == route.label && route.id != RouteId::kModel) return &route;
    if (route.id == RouteId::kPage && is_web_path(path)) return &route;
    if (route.id == RouteId::kModel && path.size() > kModelPrefix.size() &&
        path.starts_with(kModelPrefix)) {
      return &route;
    }
  }
  return nullptr;
}

bool is_probe_route(const Route* route) {
  return route != nullptr && (route->id == RouteId::kLive || route->id == RouteId::kReady ||
                              route->id == RouteId::kHealth);
}

bool is_watch_route(const Route* route) {
  return is_probe_route(route) ||
         (route != nullptr && !route->is_post && route->role != Role::kUse);
}

}  // namespace tandem::server
