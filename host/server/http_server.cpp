// SPDX-License-Identifier: Apache-2.0
//
// Joins listener and routes. stop() first refuses new connections, then posts from other threads.
// It then closes the connections, which cancels their requests, and joins the threads: those that
// set timers and post work before those that serve them.
#include "server/http_server.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "common/counted.h"
#include "common/error.h"
#include "server/descriptor_limit.h"
#include "server/http/listener.h"
#include "server/http/sockets.h"
#include "server/http/tls.h"
#include "server/http/wire.h"
#include "server/openai/api_error.h"

namespace tandem::server {
namespace asio = boost::asio;

namespace {

// The host that the server listens on is a name of its own.
RouteOptions route_options(const ServerOptions& options) {
  RouteOptions result = options.routes;
  result.allowed_hosts.push_back(options.listen.host);
  result.max_delayed_refusals = options.limits.max_connections / 2;  // the others stay for callers
  return result;
}

void check_threads(ServerOptions& options) {
  if (options.num_io_threads < 1 || options.num_io_threads > 256) {
    throw Error("server", "--io-threads must be between 1 and 256");
  }
  if (options.num_workers < 1 || options.num_workers > 256) {
    throw Error("server", "--worker-threads must be between 1 and 256");
  }
}

void check_header_limit(ServerOptions& options) {
  if (options.limits.max_header_bytes >= 1024) return;
  throw Error("server", "--max-header is too small; it must be at least 1KiB");
}

void check_limits(ServerOptions& options) {
  const http::Limits& limits = options.limits;
  if (limits.max_connections < 1 || limits.max_body_bytes < 1 ||
      limits.max_stream_buffer_bytes < 4096) {
    throw Error("server",
                "limits are too small: at least 1 of --max-connections, 1 byte of --max-body, 4096 "
                "bytes of a stream's buffer");
  }
  require_descriptors(limits.max_connections);
}

void check_sockets(ServerOptions& options) {
  const http::ListenOptions& listen = options.listen;
  for (const int descriptor : listen.inherited) http::check_inherited(descriptor);
  if (!listen.inherited.empty()) return;
  if (listen.host.empty() && listen.unix_path.empty()) {
    throw Error("server", "there is nothing to listen on: set --host or --unix");
  }
  if (!listen.unix_path.empty()) http::check_unix_path(listen.unix_path);
}

void check_tls(ServerOptions& options) {
  if (options.tls.certificate.empty() != options.tls.key.empty()) {
    throw Error("server", "TLS needs both --tls-cert and --tls-key");
  }
  if (!options.tls.certificate.empty() && options.tls.keys == nullptr) {
    options.tls.keys = http::load_tls_keys(options.tls);
  }
}

constexpr void (*kChecks[])(ServerOptions&) = {check_threads, check_header_limit, check_limits,
                                               check_sockets, check_tls};

}  // namespace

std::vector<Error> problems(ServerOptions& options) {
  std::vector<Error> found;
  for (const auto check : kChecks) {
    try {
      check(options);
    } catch (const Error& error) {
      found.push_back(error);
    }
  }
  return found;
}

void require_free_addresses(const http::ListenOptions& listen) {
  if (!listen.inherited.empty()) return;
  boost::asio::io_context io(1);
  if (!listen.host.empty()) http::listen_on_host(io, listen.host, listen.port);
  if (!listen.unix_path.empty()) http::remove_stale_socket(listen.unix_path);
}

struct HttpServer::Impl {
  Impl(ServerOptions server_options, GenerationService& service, trace::Metrics* metrics)
      : options(std::move(server_options)),
        workers{std::make_shared<WorkPool>(options.num_workers, options.max_unread_requests),
                std::make_shared<Timers>()},
        routes(route_options(options), service, workers, metrics),
        io(options.num_io_threads),
        gate(std::make_shared<http::PostGate>()) {
    auto hooks = std::make_shared<http::Hooks>();
    hooks->limits = options.limits;
    hooks->admit = [this](http::Request& request) { return routes.admit(request); };
    hooks->is_probe = &Routes::is_probe;
    hooks->handle = [this](http::Exchange& exchange) { routes.handle(exchange); };
    hooks->error_response = [](int status, const std::string& message) {
      return openai::error_response(openai::ApiError(status, message));
    };
    hooks->finalize = [this, metrics](http::Request& request, http::Response& response) {
      routes.add_headers(request, response);
      if (metrics != nullptr) metrics->count_http(Routes::label(request), response.status);
      spdlog::debug("[server] {}: answers {}", request.record->id(), response.status);
    };
    hooks->ended = [](const http::Request& request, std::uint64_t sent_bytes,
                      http::ExchangeEnd end) {
      if (request.record != nullptr) request.record->end(sent_bytes, end);
    };
    if (metrics != nullptr) {
      hooks->opened = [metrics] { metrics->count_connection_opened(); };
      hooks->closed = [metrics] { metrics->count_connection_closed(); };
    }
    listener = std::make_shared<http::Listener>(io, options.listen, std::move(hooks), gate);
    listener->set_tls(options.tls.keys);
  }

  void reload() {
    if (options.tls.certificate.empty()) return;
    listener->set_tls(http::load_tls_keys(options.tls));
  }

  void warn_of_open_door() const {
    if (!options.routes.api_keys.empty()) return;
    for (const http::LocalAddress& address : listener->addresses()) {
      if (address.is_loopback) continue;
      spdlog::warn(
          "[server] anyone who reaches {} can use this server: set --api-keys, or listen on "
          "127.0.0.1",
          address.text);
    }
  }

  void run_io() {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {
        spdlog::error("[server] unexpected: {}", error.what());
      }
    }
  }

  ServerOptions options;
  Workers workers;
  Routes routes;
  asio::io_context io;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::shared_ptr<http::PostGate> gate;
  std::shared_ptr<http::Listener> listener;
  std::vector<std::thread> threads;
  std::atomic<bool> stopped{false};
};

HttpServer::HttpServer(ServerOptions options, GenerationService& service, trace::Metrics* metrics) {
  const std::vector<Error> found = problems(options);
  if (!found.empty()) throw Error(found.front());
  impl_ = std::make_unique<Impl>(std::move(options), service, metrics);
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::start() {
  TANDEM_CHECK(impl_->threads.empty() && !impl_->stopped);
  impl_->work.emplace(impl_->io.get_executor());
  impl_->warn_of_open_door();
  impl_->listener->start();
  for (int i = 0; i < impl_->options.num_io_threads; ++i) {
    impl_->threads.emplace_back([impl = impl_.get()] { impl->run_io(); });
  }
}

std::uint16_t HttpServer::port() const { return impl_->listener->port(); }

std::vector<std::string> HttpServer::urls() const {
  const char* scheme = impl_->options.tls.certificate.empty() ? "http://" : "https://";
  std::vector<std::string> result;
  for (const http::LocalAddress& address : impl_->listener->addresses()) {
    result.push_back(address.is_unix ? address.text : scheme + address.text);
  }
  return result;
}

// Each file that is right is taken, whatever the others are.
void HttpServer::reload() {
  constexpr std::string_view kModule = "[server] ";
  std::string faults;
  const auto attempt = [&](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      std::string_view text = error.what();
      if (text.starts_with(kModule)) text.remove_prefix(kModule.size());
      faults += (faults.empty() ? "" : "; ") + std::string(text);
    }
  };
  attempt([&] {
    const std::size_t count = impl_->routes.reload_keys();
    if (count == 0) return;
    spdlog::info("[server] {} from '{}' may be used now", counted(count, "API key"),
                 impl_->options.routes.key_file);
  });
  attempt([&] { impl_->reload(); });
  if (!faults.empty()) throw Error("server", faults);
}

bool HttpServer::drain(Deadline deadline) {
  if (impl_->stopped) return true;
  impl_->listener->stop_accepting();
  impl_->listener->drain_connections();
  return impl_->listener->wait_until_empty(deadline);
}

bool HttpServer::end_requests(Deadline deadline) {
  if (impl_->stopped) return true;
  impl_->listener->stop_accepting();
  impl_->listener->end_exchanges();
  return impl_->listener->wait_until_empty(deadline);
}

void HttpServer::stop() {
  if (impl_->stopped.exchange(true)) return;
  impl_->listener->stop_accepting();
  impl_->gate->close();
  impl_->listener->abort_connections();
  impl_->work.reset();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
  impl_->workers.timers->stop();
  impl_->workers.pool->stop();
}

}  // namespace tandem::server
