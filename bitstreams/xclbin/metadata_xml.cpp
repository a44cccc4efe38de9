// SPDX-License-Identifier: Apache-2.0
//
// EMBEDDED_METADATA: the XML from which XRT learns kernels, arguments, register offsets and unit
// addresses.
#include <initializer_list>
#include <pugixml.hpp>
#include <sstream>
#include <utility>

#include "bitstreams/xclbin/kernel_ports.h"
#include "bitstreams/xclbin/unit_layout.h"
#include "bitstreams/xclbin/xclbin_writer.h"

namespace tandem::xclbin {
namespace {

using Attributes = std::initializer_list<std::pair<const char*, std::string>>;

pugi::xml_node add(pugi::xml_node& parent, const char* name, const Attributes& attributes) {
  pugi::xml_node node = parent.append_child(name);
  for (const auto& [key, value] : attributes) node.append_attribute(key) = value.c_str();
  return node;
}

void add_argument(pugi::xml_node& kernel, const Argument& argument, size_t id) {
  add(kernel, "arg",
      {{"name", argument.name},
       {"addressQualifier", std::to_string(argument.kind)},
       {"id", argument.hidden ? "" : std::to_string(id)},
       {"port", port_of(argument)},
       {"size", hex_text(argument.register_bytes)},
       {"offset", hex_text(argument.offset)},
       {"hostOffset", "0x0"},
       {"hostSize", hex_text(argument.host_bytes)},
       {"type", argument.type}});
}

void add_ports(pugi::xml_node& parent, const Design& design, const Kernel& kernel) {
  for (const Port& port : ports_of(design, kernel)) {
    add(parent, "port",
        {{"name", port.name},
         {"mode", port.mode},
         {"range", port.range},
         {"dataWidth", std::to_string(port.data_width_bits)},
         {"portType", port.type},
         {"base", port.base}});
  }
}

void add_group(pugi::xml_node& kernel, const char* name, const std::array<uint32_t, 3>& size) {
  add(kernel, name,
      {{"x", std::to_string(size[0])},
       {"y", std::to_string(size[1])},
       {"z", std::to_string(size[2])}});
}

void add_features(pugi::xml_node& element, const Kernel& kernel) {
  if (kernel.restart_counters > 0) {
    element.append_attribute("countedAutoRestart") = kernel.restart_counters;
  }
  if (kernel.mailbox != "none") element.append_attribute("mailbox") = kernel.mailbox.c_str();
  if (kernel.software_reset) element.append_attribute("swReset") = "true";
}

void add_units(pugi::xml_node& parent, const Design& design, const Kernel& kernel) {
  for (const PlacedUnit& unit : place_units(design)) {
    if (unit.kernel != &kernel) continue;
    pugi::xml_node instance = add(parent, "instance", {{"name", unit.name}});
    if (unit.base == kNoBase) continue;
    add(instance, "addrRemap",
        {{"base", hex_text(unit.base)}, {"range", "0x10000"}, {"port", "S_AXI_CONTROL"}});
  }
}

void add_kernel(pugi::xml_node& core, const Design& design, const Kernel& kernel) {
  pugi::xml_node element = add(core, "kernel",
                               {{"name", kernel.name},
                                {"language", kernel.language},
                                {"type", "pl"},
                                {"hwControlProtocol", control_name(kernel.control)},
                                {"preferredWorkGroupSizeMultiple", "0"},
                                {"workGroupSize", "1"},
                                {"interrupt", "true"}});
  add_features(element, kernel);
  add_group(element, "compileWorkGroupSize", kernel.required_group);
  add_group(element, "maxWorkGroupSize", kernel.maximum_group);
  add_ports(element, design, kernel);
  for (size_t id = 0; id < kernel.arguments.size(); ++id) {
    // XRT does not see a program's pipe as an argument; the card connects its ends.
    if (kernel.arguments[id].hidden && kernel.arguments[id].kind == 4) continue;
    add_argument(element, kernel.arguments[id], id);
  }
  add_units(element, design, kernel);
}

void add_links(pugi::xml_node& core, const Design& design) {
  for (const StreamLink& link : design.links) {
    add(core, "connection",
        {{"srcType", "kernel"},
         {"srcInst", link.from_unit},
         {"srcPort", link.from_argument},
         {"dstType", "kernel"},
         {"dstInst", link.to_unit},
         {"dstPort", link.to_argument}});
  }
}

pugi::xml_node add_core(pugi::xml_node& device, const Design& design) {
  pugi::xml_node core = add(device, "core",
                            {{"name", "OCL_REGION_0"},
                             {"target", design.hardware_emulation ? "hw_em" : "csim"},
                             {"type", "clc_region"},
                             {"numComputeUnits", std::to_string(place_units(design).size())}});
  pugi::xml_node clocks = add(core, "kernelClocks", {});
  const std::string frequency = std::to_string(clock_mhz(design)) + "MHz";
  for (const char* port : {"DATA_CLK", "KERNEL_CLK"}) {
    add(clocks, "clock", {{"port", port}, {"frequency", frequency}});
  }
  return core;
}

}  // namespace

std::string metadata_xml(const Design& design) {
  const Platform& board = *design.platform;
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node project = add(document, "project", {{"name", design.name}});
  pugi::xml_node platform = add(
      project, "platform", {{"vendor", "xilinx"}, {"boardid", board.name}, {"name", board.vbnv}});
  pugi::xml_node device = add(platform, "device", {{"name", "fpga0"}, {"fpgaDevice", board.name}});
  pugi::xml_node core = add_core(device, design);
  for (const Kernel& kernel : design.kernels) add_kernel(core, design, kernel);
  add_links(core, design);
  std::ostringstream out;
  document.save(out, "  ", pugi::format_default, pugi::encoding_utf8);
  return out.str();
}

}  // namespace tandem::xclbin
