// SPDX-License-Identifier: Apache-2.0
//
// HttpServer: OpenAI's API, probes and metrics over HTTP/1.1, TCP or Unix sockets, plain or TLS.
//
// It generates text only through GenerationService. Its threads never block: a slow client has a
// bounded buffer, and if a client closes, its request is cancelled. The constructor binds, so the
// port is then known. start(), drain(), end_requests() and stop() are called from one controlling
// thread. The service must outlive the server, and may call its sinks after the server's end.
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
  http::TlsFiles tls;      // for TCP connections; without a certificate they are plain
  int num_io_threads = 2;  // read and send bytes, and write the events of most streams
  int num_workers = 2;     // parse, tokenise and write other answers
  std::size_t max_unread_requests =
      128;  // requests that may wait for a worker; further ones get 503
  http::Limits limits;
  RouteOptions routes;
};

// Returns the errors that the constructor below would throw, except addresses in use, so that all
// are reported before a model is loaded. Reads the TLS files into `options` unless it has them.
std::vector<Error> problems(ServerOptions& options);

// Throws Error("server", ...) if another process listens on an address of `listen`. For a look
// before a model is loaded: the address may be taken until the constructor below binds it.
void require_free_addresses(const http::ListenOptions& listen);

class HttpServer {
 public:
  // `metrics` (may be null) counts the answers by route and status. Throws Error("server", ...) if
  // it cannot listen or an option is out of range.
  HttpServer(ServerOptions options, GenerationService& service, trace::Metrics* metrics);
  ~HttpServer();  // stop()

  void start();
  std::uint16_t port() const;  // 0: there is no TCP socket
  std::vector<std::string> urls() const;

  // Reads the key file again, and certificate and key for new connections. Throws Error("server",
  // ...), which names every file that is invalid; what was read from it before then stays. Requests
  // in progress keep their key. Any thread may call it.
  void reload();

  // Accepts no new connections, closes idle ones, and waits for exchanges in progress. True when no
  // connection is left; false when the deadline passes first (then call end_requests() and stop()).
  bool drain(Deadline deadline);

  // Ends each request in progress in its protocol: a stream gets an error event, `[DONE]` and its
  // end, a plain request gets 503. Waits until the clients have closed. False when the deadline
  // passes first. May be called while another thread waits in drain().
  bool end_requests(Deadline deadline);

  // Closes all connections, cancels their requests, ends the threads. May be called twice, and
  // while another thread waits in drain().
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::server
