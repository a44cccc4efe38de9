// SPDX-License-Identifier: Apache-2.0
//
// `tandem serve`: the daemon. SIGTERM and SIGINT drain (running requests finish, new ones get 503);
// a second one, or the end of --drain-seconds, ends what still runs with an error (signal_watch.h).
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <csignal>
#include <cstring>
#include <thread>

#include "apps/command.h"
#include "apps/runtime.h"
#include "apps/serve/engine_service.h"
#include "apps/serve/heap_trim.h"
#include "apps/serve/inherited_sockets.h"
#include "apps/serve/serve_checks.h"
#include "apps/serve/serve_options.h"
#include "apps/serve/service_state.h"
#include "apps/serve/signal_watch.h"
#include "apps/whole_file.h"
#include "common/error.h"
#include "server/http_server.h"

namespace tandem::apps {
namespace {

void write_port_file(const std::string& path, int port) {
  if (path.empty()) return;
  WholeFile file("serve", path);
  file.write(std::to_string(port) + "\n");
  file.keep();
}

// "Tandem Stories" -> "tandem-stories": what clients can type.
std::string client_name(const std::string& name) {
  std::string result;
  for (const unsigned char c : name) {
    result += std::isspace(c) ? '-' : static_cast<char>(std::tolower(c));
  }
  return result;
}

// Clients have this time to read the error that ends their requests; less than SignalWatch gives
// the process after a second signal.
constexpr std::chrono::seconds kLastAnswers{1};

// A second signal while draining ends the wait. Clients that then read no more are not waited for.
void drain(server::HttpServer& server, engine::Engine& engine, const SignalWatch& signals,
           int seconds) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(seconds));
  std::atomic<bool> drained{false};
  std::thread worker([&] {
    engine.drain(deadline);
    server.drain(deadline);
    drained = true;
  });
  while (!drained && !deadline.expired() && !signals.stops_now()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  server.end_requests(Deadline::after(kLastAnswers));
  server.stop();
  worker.join();
}

// Errors in the options are reported before a model is loaded.
void check(ServeOptions& options) {
  const ServeFindings findings = check_serve(options);
  for (const std::string& warning : findings.warnings) spdlog::warn("{}", warning);
  if (!findings.errors.empty()) throw Error(findings.errors.front().error);
}

// If the new files are wrong, the old ones stay in use.
void reload(server::HttpServer& server) {
  try {
    server.reload();
    spdlog::info("SIGHUP: the files are read again");
  } catch (const Error& error) {
    spdlog::error("SIGHUP: {}; the files read before stay in use", error.what());
  }
}

// Warns of a chat template that cannot be used.
std::string served_name(const ServeOptions& options, const model::Model& model) {
  if (!model.chat_template_error().empty()) {
    spdlog::warn("{}; chat requests get 422, completions work", unusable_template(model));
  }
  return options.model_name.empty() ? client_name(model.config().name) : options.model_name;
}

void run(ServeOptions& options) {
  options.server.listen.inherited = inherited_sockets();
  SignalWatch signals;
  const ServiceState state;
  trace::Metrics metrics;
  check(options);
  server::require_free_addresses(options.server.listen);
  state.status("loading the model");
  Runtime runtime(options.runtime, &metrics);
  const std::string name = served_name(options, runtime.model());
  EngineService service(runtime, metrics, {name, options.model_aliases},
                        options.runtime.max_waiting);
  options.server.routes.drain = [] { kill(getpid(), SIGTERM); };
  server::HttpServer server(options.server, service, &metrics);
  server.start();
  signals.begin_to_serve();
  const HeapTrim trim;
  write_port_file(options.port_file, server.port());
  spdlog::info("serving {} at {} (context {} tokens)", name, fmt::join(server.urls(), ", "),
               service.max_request_tokens());
  state.ready("serving " + name);
  const int signal = signals.wait_for_stop([&] {
    state.reloading();
    reload(server);
    state.ready("serving " + name);
  });
  state.stopping();
  spdlog::info("{}: draining, {} s at most", strsignal(signal), options.drain_seconds);
  drain(server, runtime.engine(), signals, options.drain_seconds);
  spdlog::info("stopped");
}

}  // namespace

void add_serve(CLI::App& app) {
  CLI::App* command = app.add_subcommand("serve", "Serve a model over HTTP (OpenAI's API)");
  auto o = std::make_shared<ServeOptions>();
  add_serve_options(*command, *o);
  command->callback([o, command] {
    o->server.routes.configuration = configuration_json(*command);
    run(*o);
  });
}

}  // namespace tandem::apps
