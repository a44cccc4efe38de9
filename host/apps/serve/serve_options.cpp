// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem serve`.
#include "apps/serve/serve_options.h"

#include "apps/command_words.h"

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
  command
      .add_option("--port-file", o.port_file,
                  "write the port there once listening, as a new file that replaces an old one")
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
  command.add_option("--io-threads", o.server.num_io_threads, "threads that parse and serialise")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group("HTTP");
  server::http::Limits& limits = o.server.limits;
  command.add_option("--max-connections", limits.max_connections, "clients at once")
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
                  "a client that takes no byte for so long is dropped")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str()
      ->group("HTTP");
}

void add_life_cycle_options(CLI::App& command, ServeOptions& o) {
  command
      .add_option("--drain-seconds", o.drain_seconds,
                  "time running requests get after SIGTERM; a second one stops at once")
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
  add_address_options(command, o);
  add_access_options(command, o);
  add_limit_options(command, o);
  add_life_cycle_options(command, o);
}

}  // namespace tandem::apps
