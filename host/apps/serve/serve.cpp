// SPDX-License-Identifier: Apache-2.0
//
// `tandem serve`: the daemon. SIGTERM and SIGINT drain (running requests finish, new ones get 503);
// a second one, or the end of --drain-seconds, stops at once.
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cctype>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "apps/command.h"
#include "apps/runtime.h"
#include "apps/serve/engine_service.h"
#include "apps/serve/inherited_sockets.h"
#include "apps/serve/serve_options.h"
#include "common/error.h"
#include "server/auth.h"
#include "server/http_server.h"

namespace tandem::apps {
namespace {

// Blocked before any thread starts, so that only wait_for_stop() sees them.
void block_signals(sigset_t& signals) {
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

// Written to another name first, so that a program that waits for the file never reads half of it.
void write_port_file(const std::string& path, int port) {
  if (path.empty()) return;
  const std::string temporary = path + ".new";
  {
    std::ofstream file(temporary);
    file << port << '\n';
    if (!file) throw Error("serve", "cannot write --port-file '" + path + "'");
  }
  std::filesystem::rename(temporary, path);
}

// "Tandem Stories" -> "tandem-stories": what clients can type.
std::string client_name(const std::string& name) {
  std::string result;
  for (const unsigned char c : name) {
    result += std::isspace(c) ? '-' : static_cast<char>(std::tolower(c));
  }
  return result;
}

// A second signal while draining ends the wait.
void drain(server::HttpServer& server, engine::Engine& engine, const sigset_t& signals,
           int seconds) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(seconds));
  std::atomic<bool> drained{false};
  std::thread worker([&] {
    engine.drain(deadline);
    server.drain(deadline);
    drained = true;
  });
  while (!drained && !deadline.expired()) {
    const timespec tick{0, 20'000'000};
    if (sigtimedwait(&signals, nullptr, &tick) > 0) {
      spdlog::warn("second signal: stopping at once");
      break;
    }
  }
  server.stop();
  worker.join();
}

void run(ServeOptions& options) {
  sigset_t signals;
  block_signals(signals);
  options.server.listen.inherited = inherited_sockets();
  take_server_options(options);
  trace::Metrics metrics;
  if (!options.key_file.empty()) {  // what is wrong there is said before a model is loaded
    options.server.routes.api_keys = server::load_api_keys(options.key_file);
  }
  server::check(options.server);
  Runtime runtime(options.runtime, &metrics);
  const std::string name =
      options.model_name.empty() ? client_name(runtime.model().config().name) : options.model_name;
  EngineService service(runtime, metrics, name);
  server::HttpServer server(options.server, service, &metrics);
  server.start();
  write_port_file(options.port_file, server.port());
  std::string urls;
  for (const std::string& url : server.urls()) urls += (urls.empty() ? "" : ", ") + url;
  spdlog::info("serving {} at {} (context {} tokens)", name, urls, service.max_request_tokens());
  int signal = 0;
  sigwait(&signals, &signal);
  spdlog::info("{}: draining, {} s at most", strsignal(signal), options.drain_seconds);
  drain(server, runtime.engine(), signals, options.drain_seconds);
  spdlog::info("stopped");
}

}  // namespace

void add_serve(CLI::App& app) {
  CLI::App* command = app.add_subcommand("serve", "Serve a model over HTTP (OpenAI's API)");
  auto o = std::make_shared<ServeOptions>();
  add_serve_options(*command, *o);
  command->callback([o] { run(*o); });
}

}  // namespace tandem::apps
