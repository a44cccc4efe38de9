// SPDX-License-Identifier: Apache-2.0
//
// One check per option that names a file or a device.
#include "apps/serve/serve_checks.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/attention_choice.h"
#include "apps/backend_options.h"
#include "apps/compute_choice.h"
#include "server/auth.h"
#include "server/http_server.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

using Warnings = std::vector<std::string>;

void check_model(ServeOptions& options, Warnings& /*warnings*/) {
  const std::string& path = options.runtime.model_path;
  if (path.empty() || ::access(path.c_str(), R_OK) == 0) return;
  throw Error("model", fmt::format("cannot read '{}' of --model: {}", path, std::strerror(errno)));
}

void take_keys(ServeOptions& options, Warnings& warnings) {
  if (options.key_file.empty()) return;
  server::LoadedKeys loaded = server::load_api_keys(options.key_file);
  if (!loaded.warning.empty()) warnings.push_back(std::move(loaded.warning));
  options.server.routes.api_keys = std::move(loaded.keys);
  options.server.routes.key_file = options.key_file;
}

// Limits, TLS files, what is listened on.
void check_server(ServeOptions& options, Warnings& /*warnings*/) {
  take_server_options(options);
  server::check(options.server);
}

void check_port_file(ServeOptions& options, Warnings& /*warnings*/) {
  if (options.port_file.empty()) return;
  fs::path folder = fs::path(options.port_file).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code none;
  if (!fs::is_directory(folder, none)) {
    throw Error("serve", "--port-file: there is no folder '" + folder.string() + "'");
  }
  const fs::file_type type = fs::symlink_status(options.port_file, none).type();
  if (type != fs::file_type::not_found && type != fs::file_type::regular &&
      type != fs::file_type::symlink) {
    throw Error("serve", "--port-file '" + options.port_file +
                             "' is no regular file; name a file that may be replaced");
  }
}

std::string kind_of(const std::string& id) { return id.substr(0, id.find(':')); }

void check_devices(ServeOptions& options, Warnings& /*warnings*/) {
  std::vector<std::string> ids = compute_ids(options.runtime.compute);
  if (options.runtime.attention != "auto") {
    for (const ListedDevice& each : listed_devices(options.runtime.attention)) {
      ids.push_back(each.id);
    }
  }
  for (const std::string& id : ids) {
    std::string known;
    bool is_known = false;
    for (const device::Backend* backend : device::backends()) {
      known += (known.empty() ? "" : ", ") + std::string(backend->kind());
      is_known |= backend->kind() == kind_of(id);
    }
    if (!is_known) {
      throw Error("device", "no such kind of device: '" + id + "' (known: " + known + ")");
    }
  }
}

void check_backend_files(ServeOptions& options, Warnings& /*warnings*/) {
  require_files(device::backends(), options.runtime.backend);
}

constexpr void (*kChecks[])(ServeOptions&, Warnings&) = {
    check_model, take_keys, check_server, check_port_file, check_devices, check_backend_files};

}  // namespace

ServeFindings check_serve(ServeOptions& options) {
  ServeFindings findings;
  for (const auto check : kChecks) {
    try {
      check(options, findings.warnings);
    } catch (const Error& error) {
      findings.errors.push_back(error);
    }
  }
  return findings;
}

}  // namespace tandem::apps
