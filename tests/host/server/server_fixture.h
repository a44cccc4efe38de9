// SPDX-License-Identifier: Apache-2.0
//
// A started HttpServer over a FakeService on a free loopback port, for tests.
#pragma once

#include <functional>
#include <memory>

#include "host/server/fake_service.h"
#include "host/server/http_client.h"
#include "server/http_server.h"

namespace tandem::test {

struct RunningServer {
  explicit RunningServer(FakeBehaviour behaviour = {}, server::ServerOptions options = {});
  ~RunningServer();

  std::uint16_t port() const { return server->port(); }

  FakeService service;
  trace::Metrics metrics;
  std::unique_ptr<server::HttpServer> server;  // ends before what it uses
};

// Polls until the condition holds; false after a generous while.
bool eventually(const std::function<bool()>& condition);

// A client that has been answered once, for servers that soon close those who have not asked: where
// this thread is held up for longer than that, another one asks.
std::unique_ptr<HttpClient> answered_client(std::uint16_t port);

// A completion body for the fake model, with extra fields.
Json completion_body(const Json& extra = Json::object());
Json chat_body(const Json& extra = Json::object());

// The error object of an answer; throws std::runtime_error unless it has OpenAI's four members and
// a message.
Json error_of(const Reply& reply);

}  // namespace tandem::test
