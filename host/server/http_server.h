// SPDX-License-Identifier: Apache-2.0
//
// HttpServer: the daemon's front door: OpenAI's API, /health and /metrics over HTTP/1.1.
//
// It speaks to what answers only through GenerationService and never blocks its threads: a slow or
// vanished client costs a bounded buffer and gets its request cancelled. Life: construct (binds;
// the port is known), start, then drain and/or stop, from one controlling thread. The service must
// outlive the server; its sinks may still be called after the server has gone. There is no TLS: put
// a proxy in front where the network is not trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/deadline.h"
#include "server/generation_service.h"
#include "server/http/limits.h"
#include "server/routes.h"
#include "trace/metrics.h"

namespace tandem::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free port, see HttpServer::port()
  int num_io_threads = 2;     // they parse, tokenise and serialise
  http::Limits limits;
  RouteOptions routes;
};

class HttpServer {
 public:
  // `metrics` (may be null) counts the answers by route and status. Throws Error("server", ...)
  // when it cannot listen there or an option makes no sense.
  HttpServer(ServerOptions options, GenerationService& service, trace::Metrics* metrics);
  ~HttpServer();  // stop()

  void start();
  std::uint16_t port() const;

  // Accepts no more connections, lets every exchange in progress finish, closes idle connections.
  // True when none is left; false when the deadline passed first (then stop() ends them).
  bool drain(Deadline deadline);

  // Closes what is open, cancels its requests, ends the threads. May be called twice, and while
  // another thread waits in drain().
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::server
