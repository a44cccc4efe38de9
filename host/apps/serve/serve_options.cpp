// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem serve`.
#include "apps/serve/serve_options.h"

namespace tandem::apps {
namespace {

void add_address_options(CLI::App& command, ServeOptions& o) {
  command.add_option("--host", o.server.host, "address to listen on")
      ->capture_default_str()
      ->group("HTTP");
  command.add_option("--port", o.port, "port to listen on (0: any free one)")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str()
      ->group("HTTP");
  command.add_option("--port-file", o.port_file, "write the port there once listening")
      ->group("HTTP");
}

void add_access_options(CLI::App& command, ServeOptions& o) {
  command
      .add_option("--api-keys", o.key_file,
                  "file with one key per line; required on every route but /health")
      ->group("HTTP");
  command
      .add_option("--cors-origin", o.server.routes.cors_origin,
                  "web origin that may call from a browser (default: none)")
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
  command.add_option("--max-connections", limits.max_connections, "clients at once")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str()
      ->group("HTTP");
  command.add_option("--max-body", limits.max_body_bytes, "largest request body (default: 4MiB)")
      ->transform(CLI::AsSizeValue(false))
      ->group("HTTP");
  command
      .add_option("--max-header", limits.max_header_bytes, "largest request head (default: 16KiB)")
      ->transform(CLI::AsSizeValue(false))
      ->group("HTTP");
  command.add_option("--read-timeout-ms", o.read_timeout_ms, "time a client has to send a request")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--stall-timeout-ms", o.stall_timeout_ms,
                  "a client that takes no byte for so long is dropped")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str()
      ->group("HTTP");
}

void add_request_options(CLI::App& command, ServeOptions& o) {
  server::RouteOptions& routes = o.server.routes;
  command
      .add_option("--max-choices", routes.request_limits.max_choices,
                  "most choices of one request (prompts x n)")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--max-request-tokens", routes.request_limits.max_tokens,
                  "most tokens that all choices of one request generate (0: no limit)")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str()
      ->group("HTTP");
  command
      .add_option("--max-request-seconds", routes.request_limits.max_seconds,
                  "longest time from a request's arrival to its end (0: no limit)")
      ->check(CLI::Range(0, 31536000))
      ->capture_default_str()
      ->group("HTTP");
  command.add_flag("--strict", routes.strict, "refuse fields that only other servers know")
      ->group("HTTP");
  command
      .add_option("--heartbeat-seconds", o.heartbeat_seconds,
                  "a stream that has nothing to send for so long sends a comment")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str()
      ->group("HTTP");
}

void add_life_cycle_options(CLI::App& command, ServeOptions& o) {
  command.add_option("--drain-seconds", o.drain_seconds, "time running requests get after SIGTERM")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str()
      ->group("HTTP");
}

}  // namespace

void add_serve_options(CLI::App& command, ServeOptions& o) {
  add_runtime_options(command, o.runtime);
  command.add_option("--config", o.config, "TOML file; its keys are these options")
      ->check(CLI::ExistingFile);
  command
      .add_option("--model-name", o.model_name, "the name clients use (default: the model file's)")
      ->group("HTTP");
  command
      .add_option("--model-alias", o.model_aliases,
                  "another name that clients may use; may be given several times")
      ->group("HTTP");
  add_address_options(command, o);
  add_access_options(command, o);
  add_limit_options(command, o);
  add_request_options(command, o);
  add_life_cycle_options(command, o);
}

}  // namespace tandem::apps
