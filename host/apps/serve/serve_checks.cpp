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
#include "common/number.h"
#include "common/text_parts.h"
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
  if (options.server.routes.admin_from_loopback) {
    warnings.push_back(
        "--admin has no effect: with --api-keys a key's role decides who may use /admin");
  }
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
                             "' is not a regular file; name a file that may be replaced");
  }
}

void require_known_member(std::string_view member) {
  const auto [kind, number] = cut_at(member, ':');
  std::string known;
  for (const device::Backend* backend : device::backends()) {
    if (backend->kind() == kind) {
      const auto index = number_of<int>(number);
      if (kind.size() == member.size() || (index && *index >= 0)) return;
      throw Error("device", fmt::format("'{}' is no device: a number follows the ':', as in {}:0",
                                        member, kind));
    }
    known += (known.empty() ? "" : ", ") + std::string(backend->kind());
  }
  throw Error("device", fmt::format("no such kind of device: '{}' (known: {})", member, known));
}

// `id`: of one device, or of a group such as "cuda:0+cuda:1".
void require_known(const std::string& id) {
  for (const std::string_view member : parts_of(id, '+')) require_known_member(member);
}

void check_compute(ServeOptions& options, Warnings& /*warnings*/) {
  for (const std::string& id : compute_ids(options.runtime.compute)) require_known(id);
}

void check_attention(ServeOptions& options, Warnings& /*warnings*/) {
  if (options.runtime.attention == "auto") return;
  for (const ListedDevice& each : listed_devices(options.runtime.attention)) {
    require_known(each.id);
  }
}

void check_backend_files(ServeOptions& options, Warnings& /*warnings*/) {
  require_files(device::backends(), options.runtime.backend);
}

struct Check {
  const char* option;
  void (*run)(ServeOptions&, Warnings&);
};

constexpr Check kChecks[] = {{"model", check_model},         {"api-keys", take_keys},
                             {"port-file", check_port_file}, {"compute", check_compute},
                             {"attention", check_attention}, {"", check_backend_files}};

}  // namespace

ServeFindings check_serve(ServeOptions& options) {
  ServeFindings findings;
  for (const Check& check : kChecks) {
    try {
      check.run(options, findings.warnings);
    } catch (const Error& error) {
      findings.errors.push_back({check.option, error});
    }
  }
  take_server_options(options);
  for (const Error& error : server::problems(options.server)) {
    findings.errors.push_back({"", error});
  }
  return findings;
}

}  // namespace tandem::apps
