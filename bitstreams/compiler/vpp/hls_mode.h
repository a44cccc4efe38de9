// SPDX-License-Identifier: Apache-2.0
//
// `v++ -c --mode hls`: compiles an HLS component from its configuration file. Scripts in
// bitstreams/hls do the work.
//
// Threads: any. Errors: Error("v++", ...) with the option.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::vpp {

struct HlsComponent {
  std::string config;
  std::string work_dir;  // empty: beside the configuration, with its name
};

// Returns nothing if the arguments do not contain --mode hls.
std::optional<HlsComponent> hls_component(const std::vector<std::string>& arguments);

// Replaces this process by the script that compiles the component.
[[noreturn]] void become_hls_component(const HlsComponent& component, const std::string& tree);

}  // namespace tandem::vpp
