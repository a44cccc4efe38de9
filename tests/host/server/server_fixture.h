// SPDX-License-Identifier: Apache-2.0
//
// A started HttpServer over a FakeService on a free loopback port, for tests.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "host/server/fake_service.h"
#include "host/server/http_client.h"
#include "server/http_server.h"

namespace tandem::test {

struct RunningServer {
  explicit RunningServer(FakeBehaviour behaviour = {}, server::ServerOptions options = {})
      : service(std::move(behaviour)) {
    options.port = 0;
    server = std::make_unique<server::HttpServer>(std::move(options), service, &metrics);
    server->start();
  }

  std::uint16_t port() const { return server->port(); }

  FakeService service;
  trace::Metrics metrics;
  std::unique_ptr<server::HttpServer> server;  // ends before what it uses
};

// Polls until the condition holds; false after a generous while.
inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A completion body for the fake model, with extra fields.
inline nlohmann::json completion_body(nlohmann::json extra = nlohmann::json::object()) {
  nlohmann::json body = {{"model", "fake"}, {"prompt", "hi"}, {"temperature", 0}};
  body.update(extra);
  return body;
}

inline nlohmann::json chat_body(nlohmann::json extra = nlohmann::json::object()) {
  nlohmann::json body = {
      {"model", "fake"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}, {"temperature", 0}};
  body.update(extra);
  return body;
}

}  // namespace tandem::test
