// SPDX-License-Identifier: Apache-2.0
//
// EMBEDDED_METADATA: the XML from which XRT learns kernels, arguments, register offsets and unit
// addresses.
#include <cstdio>
#include <sstream>

#include "bitstreams/unit_layout.h"
#include "bitstreams/xclbin_writer.h"

namespace tandem::xclbin {
namespace {

std::string escape(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llX", static_cast<unsigned long long>(value));
  return text;
}

const char* control_name(Control control) {
  switch (control) {
    case Control::kHandshake:
      return "ap_ctrl_hs";
    case Control::kChain:
      return "ap_ctrl_chain";
    case Control::kNone:
      return "ap_ctrl_none";
  }
  return "";
}

void write_argument(std::ostringstream& out, const Argument& argument, size_t id) {
  const bool global = argument.kind == 1;
  out << "          <arg name=\"" << escape(argument.name) << "\" addressQualifier=\""
      << argument.kind << "\" id=\"" << id << "\" port=\""
      << (global ? "M_AXI_" + escape(argument.name) : "S_AXI_CONTROL") << "\" size=\""
      << hex(argument.register_bytes) << "\" offset=\"" << hex(argument.offset)
      << "\" hostOffset=\"0x0\" hostSize=\"" << hex(argument.host_bytes) << "\" type=\""
      << escape(argument.type) << "\"/>\n";
}

void write_kernel(std::ostringstream& out, const Design& design, const Kernel& kernel) {
  out << "        <kernel name=\"" << escape(kernel.name) << "\" language=\"c\" type=\"pl\""
      << " hwControlProtocol=\"" << control_name(kernel.control)
      << "\" preferredWorkGroupSizeMultiple=\"0\" workGroupSize=\"1\" interrupt=\"true\">\n"
      << "          <compileWorkGroupSize x=\"1\" y=\"1\" z=\"1\"/>\n"
      << "          <maxWorkGroupSize x=\"1\" y=\"1\" z=\"1\"/>\n"
      << "          <port name=\"S_AXI_CONTROL\" mode=\"slave\" range=\"0x10000\" dataWidth=\"32\""
      << " portType=\"addressable\" base=\"0x0\"/>\n";
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind != 1) continue;
    out << "          <port name=\"M_AXI_" << escape(argument.name)
        << "\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" dataWidth=\"512\" "
           "portType=\"addressable\""
        << " base=\"0x0\"/>\n";
  }
  for (size_t id = 0; id < kernel.arguments.size(); ++id) {
    write_argument(out, kernel.arguments[id], id);
  }
  for (const PlacedUnit& unit : place_units(design)) {
    if (unit.kernel != &kernel) continue;
    out << "          <instance name=\"" << escape(unit.name) << "\">\n"
        << "            <addrRemap base=\"" << hex(unit.base)
        << "\" range=\"0x10000\" port=\"S_AXI_CONTROL\"/>\n"
        << "          </instance>\n";
  }
  out << "        </kernel>\n";
}

}  // namespace

std::string metadata_xml(const Design& design) {
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      << "<project name=\"" << escape(design.name) << "\">\n"
      << "  <platform vendor=\"xilinx\" boardid=\"" << escape(design.platform->name) << "\" name=\""
      << escape(design.platform->vbnv) << "\">\n"
      << "    <device name=\"fpga0\" fpgaDevice=\"" << escape(design.platform->name) << "\">\n"
      << "      <core name=\"OCL_REGION_0\" target=\"csim\" type=\"clc_region\" numComputeUnits=\""
      << place_units(design).size() << "\">\n"
      << "        <kernelClocks>\n          <clock port=\"DATA_CLK\" frequency=\""
      << design.platform->kernel_clock_mhz
      << "MHz\"/>\n          <clock port=\"KERNEL_CLK\" frequency=\""
      << design.platform->kernel_clock_mhz << "MHz\"/>\n        </kernelClocks>\n";
  for (const Kernel& kernel : design.kernels) write_kernel(out, design, kernel);
  out << "      </core>\n    </device>\n  </platform>\n</project>\n";
  return out.str();
}

}  // namespace tandem::xclbin
