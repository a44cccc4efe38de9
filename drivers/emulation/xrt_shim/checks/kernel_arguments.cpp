// SPDX-License-Identifier: Apache-2.0
//
// An argument without an id is one that only the runtime sets.
#include "emulation/xrt_shim/checks/kernel_arguments.h"

#include <xclbin.h>

#include <cstdlib>
#include <cstring>
#include <pugixml.hpp>

namespace tandem::emulation {
namespace {

// `const int*`, `int const*`, but not `int* const`.
bool is_pointer_to_const(const std::string& type) {
  const size_t star = type.rfind('*');
  if (star == std::string::npos) return false;
  const size_t found = type.rfind("const", star);
  return found != std::string::npos && type.find('*', found) == star;
}

}  // namespace

std::map<std::string, std::vector<KernelArgument>> kernel_arguments(
    const xclbin::XclbinFile& file) {
  pugi::xml_document metadata;
  const auto bytes = file.section(EMBEDDED_METADATA);
  metadata.load_buffer(bytes.data(), bytes.size());
  pugi::xml_node core = metadata.child("project");
  for (const char* name : {"platform", "device", "core"}) core = core.child(name);
  std::map<std::string, std::vector<KernelArgument>> kernels;
  for (const pugi::xml_node& kernel : core.children("kernel")) {
    auto& arguments = kernels[kernel.attribute("name").value()];
    for (const pugi::xml_node& node : kernel.children("arg")) {
      if (*node.attribute("id").value() == '\0') continue;
      const auto number = [&node](const char* name) {
        return static_cast<uint32_t>(std::strtoul(node.attribute(name).value(), nullptr, 0));
      };
      if (number("id") != arguments.size()) continue;
      const std::string type = node.attribute("type").value();
      arguments.push_back({node.attribute("name").value(), number("addressQualifier"),
                           number("offset"), number("hostSize"),
                           type.find('*') != std::string::npos, is_pointer_to_const(type)});
    }
  }
  return kernels;
}

std::vector<std::pair<uint64_t, uint64_t>> reached_memory(const xclbin::XclbinFile& file,
                                                          const xclbin::ComputeUnit& unit,
                                                          size_t argument) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const xclbin::Connection& row : file.connections()) {
    const auto index = static_cast<size_t>(row.memory);
    const xclbin::ComputeUnit& connected = file.compute_units()[static_cast<size_t>(row.unit)];
    const bool same = connected.kernel == unit.kernel && connected.name == unit.name;
    if (!same || static_cast<size_t>(row.argument) != argument) continue;
    if (index >= file.memories().size()) continue;
    const xclbin::Memory& memory = file.memories()[index];
    ranges.emplace_back(memory.base, memory.base + memory.size_bytes);
  }
  return ranges;
}

}  // namespace tandem::emulation
