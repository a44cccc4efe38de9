// SPDX-License-Identifier: Apache-2.0
//
// Admin: the operator's routes. Each takes a body if it needs one and returns the answer.
//
//   GET  /admin/requests     the requests in progress
//   POST /admin/cancel       {"id": "..."}: ends the requests of that id
//   POST /admin/drain        ends the program once running requests are done
//   POST /admin/log-level    {"level": "debug"}: from now on
//   GET  /admin/log          the last lines of the log
// The caller has checked the client's role. Errors: ApiError. Threads: any.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "server/access/request_ledger.h"
#include "server/generation_service.h"
#include "server/http/exchange.h"

namespace tandem::server {

class Admin {
 public:
  // `drain`: starts the end of the program and returns at once; called at most once. Empty: the
  // program cannot be ended by a route.
  Admin(GenerationService& service, const RequestLedger& ledger, std::function<void()> drain)
      : service_(service), ledger_(ledger), drain_(std::move(drain)) {}

  http::Response requests() const;
  http::Response cancel(std::string_view body);
  http::Response drain();
  http::Response log_level(std::string_view body);
  http::Response log() const;

 private:
  GenerationService& service_;
  const RequestLedger& ledger_;
  const std::function<void()> drain_;
  std::atomic<bool> draining_{false};
};

}  // namespace tandem::server
