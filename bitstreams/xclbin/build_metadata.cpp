// SPDX-License-Identifier: Apache-2.0
//
// BUILD_METADATA: kernels, ports, units and clocks as JSON. The vendor's xclbinutil --info prints
// this section and fails when a field that it knows is missing.
#include <nlohmann/json.hpp>

#include "bitstreams/xclbin/kernel_ports.h"
#include "bitstreams/xclbin/unit_layout.h"
#include "bitstreams/xclbin/xclbin_writer.h"

namespace tandem::xclbin {
namespace {

using nlohmann::ordered_json;

ordered_json describe(const Design& design, const Kernel& kernel) {
  ordered_json arguments = ordered_json::array();
  for (const Argument& argument : kernel.arguments) {
    arguments.push_back({{"name", argument.name},
                         {"type", argument.type},
                         {"port", port_of(argument)},
                         {"address_qualifier", argument.kind},
                         {"offset", hex_text(argument.offset)},
                         {"size", hex_text(argument.register_bytes)}});
  }
  ordered_json ports = ordered_json::array();
  for (const Port& port : ports_of(design, kernel)) {
    ports.push_back({{"name", port.name},
                     {"mode", port.mode},
                     {"range", port.range},
                     {"data_width", port.data_width_bits},
                     {"port_type", port.type}});
  }
  ordered_json instances = ordered_json::array();
  for (const PlacedUnit& unit : place_units(design)) {
    if (unit.kernel == &kernel) instances.push_back({{"name", unit.name}});
  }
  return {{"name", kernel.name},
          {"ports", std::move(ports)},
          {"arguments", std::move(arguments)},
          {"instances", std::move(instances)}};
}

}  // namespace

std::string build_metadata(const Design& design) {
  ordered_json kernels = ordered_json::array();
  for (const Kernel& kernel : design.kernels) kernels.push_back(describe(design, kernel));
  const ordered_json tool = {{"name", "v++"}, {"version", "2022.1"}, {"options", "Tandem"}};
  const ordered_json region = {
      {"name", "OCL_REGION_0"}, {"type", "clc_region"}, {"kernels", std::move(kernels)}};
  const ordered_json xclbin = {{"name", design.name},
                               {"target", design.hardware_emulation ? "hw_emu" : "sw_emu"},
                               {"kernel_clock_mhz", clock_mhz(design)},
                               {"generated_by", tool},
                               {"packaged_by", tool},
                               {"user_regions", ordered_json::array({region})}};
  ordered_json platform = {
      {"vendor", "xilinx"}, {"board_id", design.platform->name}, {"name", design.platform->vbnv}};
  // The file contains a user's own platform.
  if (!design.platform->description.empty()) {
    platform["description"] = design.platform->description;
  }
  return ordered_json{{"build_metadata",
                       {{"schema_version", {{"major", 1}, {"minor", 0}, {"patch", 0}}},
                        {"platform", std::move(platform)},
                        {"xclbin", xclbin}}}}
      .dump();
}

}  // namespace tandem::xclbin
