// SPDX-License-Identifier: Apache-2.0
//
// Options that a component does not need (platform, part, clock) are ignored with their values.
#include "bitstreams/compiler/vpp/hls_mode.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/error.h"

namespace tandem::vpp {

std::optional<HlsComponent> hls_component(const std::vector<std::string>& arguments) {
  HlsComponent component;
  std::string mode;
  const std::array<std::pair<const char*, std::string*>, 3> wanted = {
      {{"--mode", &mode}, {"--config", &component.config}, {"--work_dir", &component.work_dir}}};
  for (size_t at = 0; at < arguments.size(); ++at) {
    for (const auto& [name, value] : wanted) {
      const std::string begin = std::string(name) + "=";
      if (arguments[at].starts_with(begin)) *value = arguments[at].substr(begin.size());
      if (arguments[at] == name && at + 1 < arguments.size()) *value = arguments[at + 1];
    }
  }
  if (mode != "hls") return std::nullopt;
  if (component.config.empty()) {
    throw Error("v++", "--mode hls needs --config FILE with the component's syn.top and syn.file");
  }
  return component;
}

void become_hls_component(const HlsComponent& component, const std::string& tree) {
  const std::string script = tree + "/vitis/hls/run_config.tcl";
  execlp("tclsh", "tclsh", script.c_str(), "kernel", component.config.c_str(),
         component.work_dir.c_str(), nullptr);
  throw Error("v++", std::string("cannot run tclsh: ") + std::strerror(errno) +
                         "; install the package tcl");
}

}  // namespace tandem::vpp
