// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem serve`, added by one function per topic. Threads: plain data.
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
  // the configuration file. It is read before the command line is parsed; this member only makes it
  // appear in the help
  std::string config;
  std::string port_file;
  std::string model_name;
  std::vector<std::string> model_aliases;
  std::string key_file;
  bool ui = false, no_ui = false;  // neither: the page is on if only this machine can connect
  int port = 8080;
  int drain_seconds = 30;
  int read_timeout_ms = 30000;
  int stall_timeout_ms = 30000;
  int first_byte_timeout_ms = 10000;
  int vanished_seconds = 60;
  int live_timeout_seconds = 60;
  double heartbeat_seconds = 10;
};

// Fills `options.server` from values that the command line has in other units.
void take_server_options(ServeOptions& options);

// The values of all options, with whether the command line or the configuration file set them:
// {"name": {"value": ..., "set": true}, ...}. Contains no keys, because keys are in files.
std::string configuration_json(const CLI::App& command);

// `options` must outlive `command`.
void add_serve_options(CLI::App& command, ServeOptions& options);

}  // namespace tandem::apps
