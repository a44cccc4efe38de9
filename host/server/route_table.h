// SPDX-License-Identifier: Apache-2.0
//
// The table of routes: path, method, and the role that a key needs.
//
// Threads: pure functions over constants.
#pragma once

#include <string_view>

#include "server/auth.h"

namespace tandem::server {

enum class RouteId {
  kLive,
  kReady,
  kHealth,
  kMetrics,
  kStatus,
  kStatusRequests,
  kModels,
  kModel,
  kCompletions,
  kChat,
  kTokenize,
  kDetokenize,
  kPageState,
  kPage,
  kAdminRequests,
  kAdminCancel,
  kAdminDrain,
  kAdminLogLevel,
  kAdminLog,
  kAdminConfig,
  kAdminReports
};

struct Route {
  RouteId id;
  const char* label;
  bool is_post;
  Role role = Role::kUse;  // that a key needs
};

// What follows is the id of a model.
constexpr std::string_view kModelPrefix = "/v1/models/";

// Null: there is nothing at this path.
const Route* find_route(std::string_view path);

// Null is neither.
bool is_probe_route(const Route* route);
// Routes that pages and monitors poll.
bool is_watch_route(const Route* route);

}  // namespace tandem::server
