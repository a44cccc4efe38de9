// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem serve`, a function per topic. Threads: plain data.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/runtime_options.h"
#include "server/http_server.h"

namespace tandem::apps {

struct ServeOptions {
  RuntimeOptions runtime;
  server::ServerOptions server;
  // the configuration file. It is read before the command line is parsed; the member exists for the
  // help
  std::string config;
  std::string port_file;
  std::string model_name;
  std::vector<std::string> model_aliases;
  std::string key_file;
  bool ui = false, no_ui = false;  // neither: where only this machine can connect
  int port = 8080;
  int drain_seconds = 30;
  int read_timeout_ms = 30000;
  int stall_timeout_ms = 30000;
  int first_byte_timeout_ms = 10000;
  int vanished_seconds = 60;
  int live_timeout_seconds = 60;
  double heartbeat_seconds = 10;
};

// Fills `options.server` from the values that options of the command line have in other units.
void take_server_options(ServeOptions& options);

// The options of the command line and the configuration file, and those that have their default:
// {"name": {"value": ..., "set": true}, ...}. Keys are in files, so none is here.
std::string configuration_json(const CLI::App& command);

// `options` must outlive `command`.
void add_serve_options(CLI::App& command, ServeOptions& options);

}  // namespace tandem::apps
