// SPDX-License-Identifier: Apache-2.0
//
// Arguments of one bundle share a port; a stream's direction follows from the links of the design.
#include "bitstreams/xclbin/kernel_ports.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

namespace tandem::xclbin {
namespace {

// The name of an m_axi port: arguments of one bundle share it.
std::string memory_port(const Argument& argument) {
  std::string name = argument.bundle.empty() ? argument.name : argument.bundle;
  if (argument.bundle.empty()) return "M_AXI_" + name;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "M_AXI_" + name;
}

// Whether a link of the design ends in this argument of one of the kernel's units.
bool reads_a_link(const Design& design, const Kernel& kernel, const std::string& argument) {
  for (const StreamLink& link : design.links) {
    const auto& names = kernel.unit_names;
    if (link.to_argument == argument &&
        std::find(names.begin(), names.end(), link.to_unit) != names.end()) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string hex_text(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llX", static_cast<unsigned long long>(value));
  return text;
}

std::string port_of(const Argument& argument) {
  if (argument.kind == 1) return memory_port(argument);
  return argument.kind == 4 ? argument.name : "S_AXI_CONTROL";
}

std::vector<Port> ports_of(const Design& design, const Kernel& kernel) {
  std::vector<Port> ports;
  if (!kernel.free_running()) {
    ports.push_back({"S_AXI_CONTROL", "slave", "0x10000", 32, "addressable", "0x0"});
  }
  std::set<std::string> known;
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind == 1 && known.insert(memory_port(argument)).second) {
      ports.push_back(
          {memory_port(argument), "master", "0xFFFFFFFFFFFFFFFF", 512, "addressable", "0x0"});
    } else if (argument.kind == 4) {
      const char* mode = reads_a_link(design, kernel, argument.name) ? "read_only" : "write_only";
      ports.push_back({argument.name, mode, "", argument.element_bytes * 8, "stream", ""});
    }
  }
  return ports;
}

}  // namespace tandem::xclbin
