// SPDX-License-Identifier: Apache-2.0
//
// The checks have the order of Routes: name, key, path, method.
#include "server/page_server.h"

#include <spdlog/spdlog.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>
#include <utility>

#include "common/log_event.h"
#include "server/access/key_store.h"
#include "server/host_check.h"
#include "server/http/listener.h"
#include "server/openai/api_error.h"
#include "server/web/web_page.h"

namespace tandem::server {
namespace {

namespace asio = boost::asio;

constexpr const char* kPagePath = "/ui";
constexpr const char* kPageAccess = "/ui/access";

http::Response page_error(int status, const std::string& message) {
  return openai::error_response(openai::ApiError(status, message));
}

}  // namespace

struct PageServer::Impl {
  explicit Impl(PageOptions page)
      : options(std::move(page)),
        keys(options.api_keys, ""),
        hosts({options.listen.host}),
        io(1),
        work(io.get_executor()),
        gate(std::make_shared<http::PostGate>()) {
    auto hooks = std::make_shared<http::Hooks>();
    hooks->admit = [this](http::Request& request) { return refusal(request); };
    hooks->is_probe = [](const http::Request&) { return false; };
    hooks->handle = [this](http::Exchange& exchange) {
      exchange.respond(answer(exchange.request()));
    };
    hooks->error_response = page_error;
    hooks->finalize = [](http::Request&, http::Response&) {};
    hooks->ended = [](const http::Request&, std::uint64_t, http::ExchangeEnd) {};
    listener = std::make_shared<http::Listener>(io, options.listen, std::move(hooks), gate);
    listener->start();
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    listener->stop_accepting();
    gate->close();
    listener->abort_connections();
    work.reset();
    thread.join();
  }

  void run() {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {
        spdlog::error("[server] unexpected: {}", error.what());
      }
    }
  }

  std::optional<http::Response> refusal(const http::Request& request) const {
    if (!keys.required() && !hosts.accepts(request.header("host"))) {
      return page_error(403, "without API keys this page answers to localhost and IP addresses");
    }
    if (auto moved = moved_page(request.path)) return moved;
    if (keys.required()) {
      const Caller caller = keys.find(request.header("authorization"));
      if (!caller) {
        http::Response response = page_error(401, "this page needs an API key");
        if (is_web_path(request.path)) response.headers = {ask_for_key()};
        return response;
      }
      if (!caller.key->may(Role::kMetrics)) {
        return page_error(403, "this key may not see the page: it needs the role metrics or admin");
      }
    }
    if (!is_web_path(request.path) && !options.data.contains(request.path)) {
      return page_error(
          404, "there is nothing at " + printable(request.path) + "; the page is " + kPagePath);
    }
    if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
    http::Response response = page_error(405, "this page takes GET and HEAD");
    response.headers.push_back({"Allow", "GET, HEAD"});
    return response;
  }

  http::Response answer(const http::Request& request) const {
    http::Response response;
    if (const auto found = options.data.find(request.path); found != options.data.end()) {
      response.headers = {{"Cache-Control", "no-store"}};
      response.body = found->second();
      return response;
    }
    if (request.path == kPageAccess) {
      response.body = R"({"metrics":true,"admin":false})";
      return response;
    }
    auto page = web_page(request, options.start);
    return page ? std::move(*page)
                : page_error(404, "there is nothing at " + printable(request.path));
  }

  const PageOptions options;
  const KeyStore keys;
  const HostCheck hosts;
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::shared_ptr<http::PostGate> gate;
  std::shared_ptr<http::Listener> listener;
  std::thread thread;
};

PageServer::PageServer(PageOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

PageServer::~PageServer() = default;

std::uint16_t PageServer::port() const { return impl_->listener->port(); }

std::string PageServer::url() const {
  return "http://" + impl_->listener->addresses().front().text + kPagePath;
}

}  // namespace tandem::server
