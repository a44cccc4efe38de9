// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem serve`.
#include "apps/serve/serve_options.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "apps/command_words.h"
#include "server/http/loopback.h"

namespace tandem::apps {
namespace {

void add_address_options(CLI::App& command, ServeOptions& o) {
  command.add_option("--host", o.server.listen.host, "address to listen on (none: no TCP)")
      ->capture_default_str()
      ->group("HTTP");
  command.add_option("--port", o.port, "port to listen on (0: any free one)")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--port-file", o.port_file,
                  "write the port there once listening, as a new file that replaces an old one")
      ->check(not_empty())
      ->group("HTTP");
}

void add_transport_options(CLI::App& command, ServeOptions& o) {
  server::http::ListenOptions& listen = o.server.listen;
  command.add_option("--unix", listen.unix_path, "also listen on a Unix socket at this path")
      ->check(not_empty())
      ->group("HTTP");
  command
      .add_option_function<std::string>(
          "--unix-mode",
          [&listen](const std::string& mode) { listen.unix_mode = std::stoi(mode, nullptr, 8); },
          "who may connect there, in octal (default: 600)")
      ->check([](const std::string& mode) {
        const bool octal = !mode.empty() && mode.size() <= 4 &&
                           mode.find_first_not_of("01234567") == std::string::npos;
        return octal ? std::string() : "'" + mode + "' is not a mode in octal, such as 660";
      })
      ->group("HTTP");
  command
      .add_option("--tls-cert", o.server.tls.certificate,
                  "PEM file with certificate and chain: TCP uses TLS 1.2 or 1.3")
      ->check(not_empty())
      ->group("HTTP");
  command.add_option("--tls-key", o.server.tls.key, "PEM file with the certificate's key")
      ->check(not_empty())
      ->group("HTTP");
}

void add_page_options(CLI::App& command, ServeOptions& o) {
  CLI::Option* on = command.add_flag(
      "--ui", o.ui,
      "serve the page /ui, for browsers (default: where only this machine can connect)");
  on->group("HTTP");
  command.add_flag("--no-ui", o.no_ui, "do not serve the page /ui")->excludes(on)->group("HTTP");
}

void add_access_options(CLI::App& command, ServeOptions& o) {
  command
      .add_option("--api-keys", o.key_file,
                  "file of keys, see `tandem key`; one is then needed on every route but /livez, "
                  "/readyz and /health")
      ->check(not_empty())
      ->group("HTTP");
  command
      .add_option("--allowed-host", o.server.routes.allowed_hosts,
                  "without keys, a further name that requests may have in Host (*: any)")
      ->check(not_empty())
      ->group("HTTP");
  command
      .add_option_function<std::string>(
          "--admin",
          [&o](const std::string& from) {
            o.server.routes.admin_from_loopback = from == "loopback";
          },
          "without keys: who may use /admin; off: nobody, loopback: clients of this machine "
          "(default: off)")
      ->check(CLI::IsMember({"off", "loopback"}))
      ->group("HTTP");
  command
      .add_option("--cors-origin", o.server.routes.cors_origin,
                  "web origin that may call from a browser (default: none)")
      ->group("HTTP");
  command
      .add_option("--share-prefixes", o.runtime.share_prefixes,
                  "callers with different keys share cached prompt beginnings; faster, but "
                  "response times can reveal the prompts of others")
      ->check(CLI::IsMember({"on", "off"}))
      ->default_str("off")
      ->group("HTTP");
}

void add_limit_options(CLI::App& command, ServeOptions& o) {
  command.add_option("--io-threads", o.server.num_io_threads, "threads that read and send")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--worker-threads", o.server.num_workers,
                  "threads that parse, tokenise and write answers")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group("HTTP");
  server::http::Limits& limits = o.server.limits;
  command
      .add_option("--max-connections", limits.max_connections, "maximum number of clients at once")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str()
      ->group("HTTP");
  command.add_option("--max-body", limits.max_body_bytes, "largest request body (default: 4MiB)")
      ->transform(size_value())
      ->group("HTTP");
  command
      .add_option("--max-header", limits.max_header_bytes, "largest request head (default: 16KiB)")
      ->transform(size_value())
      ->group("HTTP");
  command.add_option("--read-timeout-ms", o.read_timeout_ms, "time a client has to send a request")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--stall-timeout-ms", o.stall_timeout_ms,
                  "time after which a client that reads nothing is dropped")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str()
      ->group("HTTP");
}

void add_patience_options(CLI::App& command, ServeOptions& o) {
  command
      .add_option("--max-connections-per-address", o.server.limits.max_connections_per_address,
                  "maximum number of clients at once of one address (default: half of "
                  "--max-connections; of this machine: all)")
      ->check(CLI::Range(1, 100000))
      ->group("HTTP");
  command
      .add_option("--first-byte-timeout-ms", o.first_byte_timeout_ms,
                  "time a new connection has until its first byte")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--vanished-seconds", o.vanished_seconds,
                  "time without an acknowledgement after which a client is dropped")
      ->check(CLI::Range(2, 86400))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--live-timeout-seconds", o.live_timeout_seconds,
                  "longest step of the engine before /livez says 503")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str()
      ->group("HTTP");
}

void add_request_options(CLI::App& command, ServeOptions& o) {
  server::RouteOptions& routes = o.server.routes;
  command
      .add_option("--best-priority", routes.request_limits.best_priority,
                  "the lowest 'priority' that a request may have (default: without keys 0, which "
                  "no request passes; with keys any)")
      ->check(in_range(-server::kWorstPriority, server::kWorstPriority))
      ->group("HTTP");
  command
      .add_option("--max-choices", routes.request_limits.max_choices,
                  "maximum number of choices of one request (prompts x n)")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--max-request-tokens", routes.request_limits.max_tokens,
                  "maximum number of tokens that all choices of one request generate (0: no limit)")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--max-request-seconds", routes.request_limits.max_seconds,
                  "longest time from a request's arrival to its end (0: no limit)")
      ->check(CLI::Range(0, 31536000))
      ->capture_default_str()
      ->group("HTTP");
  command.add_flag("--strict", routes.strict, "refuse fields that only other servers support")
      ->group("HTTP");
  command
      .add_option("--heartbeat-seconds", o.heartbeat_seconds,
                  "time after which a stream without output sends a comment")
      ->check(in_range(0.01, 3600))
      ->capture_default_str()
      ->group("HTTP");
}

void add_target_options(CLI::App& command, ServeOptions& o) {
  command
      .add_option("--target-itl-ms", o.runtime.target_itl_ms,
                  "time between two tokens of a stream: prompts are computed in pieces that leave "
                  "room for it (0: no target)")
      ->check(in_range(0, 3600000))
      ->group("Scheduling");
}

void add_life_cycle_options(CLI::App& command, ServeOptions& o) {
  command
      .add_option("--drain-seconds", o.drain_seconds,
                  "time for running requests after SIGTERM; a second SIGTERM stops at once")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str()
      ->group("HTTP");
}

}  // namespace

void take_server_options(ServeOptions& o) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  if (o.server.listen.host == "none") o.server.listen.host.clear();
  o.server.routes.serves_page =
      o.ui || (!o.no_ui && server::http::is_loopback_only(o.server.listen));
  o.server.listen.port = static_cast<std::uint16_t>(o.port);
  o.server.limits.read_timeout = milliseconds(o.read_timeout_ms);
  o.server.limits.stall_timeout = milliseconds(o.stall_timeout_ms);
  o.server.limits.first_byte_timeout = milliseconds(o.first_byte_timeout_ms);
  o.server.limits.vanished_timeout = seconds(o.vanished_seconds);
  o.server.routes.live_timeout = seconds(o.live_timeout_seconds);
  o.server.routes.heartbeat = milliseconds(static_cast<std::int64_t>(o.heartbeat_seconds * 1000));
}

std::string configuration_json(const CLI::App& command) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() || option->get_lnames().front() == "help") continue;
    std::string value = option->get_default_str();
    if (option->count() > 0) value = fmt::format("{}", fmt::join(option->results(), ", "));
    all[option->get_lnames().front()] = {{"value", value}, {"set", option->count() > 0}};
  }
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void add_serve_options(CLI::App& command, ServeOptions& o) {
  add_runtime_options(command, o.runtime);
  add_target_options(command, o);
  command.add_option("--config", o.config, "TOML file; its keys are these options")
      ->check(CLI::ExistingFile);
  command
      .add_option("--model-name", o.model_name, "the name clients use (default: the model file's)")
      ->group("HTTP");
  command
      .add_option("--model-alias", o.model_aliases,
                  "another name that clients may use; may be given several times")
      ->check(not_empty())
      ->group("HTTP");
  add_address_options(command, o);
  add_transport_options(command, o);
  add_page_options(command, o);
  add_access_options(command, o);
  add_limit_options(command, o);
  add_patience_options(command, o);
  add_request_options(command, o);
  add_life_cycle_options(command, o);
}

}  // namespace tandem::apps
