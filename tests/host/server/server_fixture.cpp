// SPDX-License-Identifier: Apache-2.0
//
// Compiled once, for all tests that talk to a server.
#include "host/server/server_fixture.h"

#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tandem::test {

RunningServer::RunningServer(FakeBehaviour behaviour, server::ServerOptions options)
    : service(std::move(behaviour)) {
  options.listen.port = 0;
  for (const char* host : {"test", "h"}) options.routes.allowed_hosts.emplace_back(host);
  server = std::make_unique<server::HttpServer>(std::move(options), service, &metrics);
  server->start();
}

RunningServer::~RunningServer() = default;

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::unique_ptr<HttpClient> answered_client(std::uint16_t port) {
  std::unique_ptr<HttpClient> client;
  const bool is_answered = eventually([&] {
    client = std::make_unique<HttpClient>(port);
    try {
      return client->get("/health").status == 200;
    } catch (const ClosedByServer&) {
      return false;
    }
  });
  if (!is_answered) throw std::runtime_error("no client was answered");
  return client;
}

Json completion_body(const Json& extra) {
  Json body = {{"model", "fake"}, {"prompt", "hi"}, {"temperature", 0}};
  body.update(extra);
  return body;
}

Json chat_body(const Json& extra) {
  Json body = {
      {"model", "fake"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}, {"temperature", 0}};
  body.update(extra);
  return body;
}

Json error_of(const Reply& reply) {
  const Json error = reply.json().at("error");
  for (const char* member : {"message", "type", "param", "code"}) error.at(member);
  if (error.size() != 4 || error["message"].text().empty()) {
    throw std::runtime_error("not an error object: " + reply.body);
  }
  return error;
}

}  // namespace tandem::test
