// SPDX-License-Identifier: Apache-2.0
//
// HttpServer: OpenAI's API, probes and metrics over HTTP/1.1, TCP or Unix sockets, plain or TLS.
//
// It generates text through GenerationService only. Its threads never block: a slow client has a
// bounded buffer, and the request of a client that closes is cancelled. The constructor binds, so
// the port is then known. start(), drain() and stop() are called from one controlling thread. The
// service must outlive the server, and may call its sinks after the server's end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/deadline.h"
#include "common/error.h"
#include "server/generation_service.h"
#include "server/http/limits.h"
#include "server/http/listen_options.h"
#include "server/routes.h"
#include "trace/metrics.h"

namespace tandem::server {

struct ServerOptions {
  http::ListenOptions listen;
  http::TlsFiles tls;      // of TCP connections; without a certificate they are plain
  int num_io_threads = 2;  // they read, send, and write the events of most streams
  int num_workers = 2;     // they parse, tokenise and write other answers
  std::size_t max_unread_requests = 128;  // that wait for a worker; 503 beyond
  http::Limits limits;
  RouteOptions routes;
};

// What the constructor below would throw, but for addresses in use: all that is wrong is said
// before a model is loaded. The TLS files are read into `options`, unless they are there.
std::vector<Error> problems(ServerOptions& options);

class HttpServer {
 public:
  // `metrics` (may be null) counts the answers by route and status. Throws Error("server", ...)
  // when it cannot listen or an option is out of range.
  HttpServer(ServerOptions options, GenerationService& service, trace::Metrics* metrics);
  ~HttpServer();  // stop()

  void start();
  std::uint16_t port() const;  // 0: there is no TCP socket
  std::vector<std::string> urls() const;

  // Reads the key file, and certificate and key for new connections, again. Throws Error("server",
  // ...) when some of it is of no use; then what was before stays in its place. From any thread.
  void reload();

  // Reads the key file again, and logs what came of it. False: the file is wrong, and the keys stay
  // as they were. Requests in progress keep the key they began with. Any thread may call it.
  bool reload_keys();

  // Accepts no new connections, closes idle ones, and waits for exchanges in progress. True when no
  // connection is left; false when the deadline passes first (then call stop()).
  bool drain(Deadline deadline);

  // Closes all connections, cancels their requests, ends the threads. May be called twice, and
  // while another thread waits in drain().
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::server
