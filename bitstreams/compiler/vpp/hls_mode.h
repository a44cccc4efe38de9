// SPDX-License-Identifier: Apache-2.0
//
// `v++ -c --mode hls`: an HLS component from its configuration file. Scripts of the tree do the
// work (bitstreams/hls).
//
// Threads: any. Errors: Error("v++", ...) naming the option.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::vpp {

struct HlsComponent {
  std::string config;
  std::string work_dir;  // empty: beside the configuration, by its name
};

// None when the arguments do not say --mode hls.
std::optional<HlsComponent> hls_component(const std::vector<std::string>& arguments);

// Replaces this process by the script that compiles the component.
[[noreturn]] void become_hls_component(const HlsComponent& component, const std::string& tree);

}  // namespace tandem::vpp
