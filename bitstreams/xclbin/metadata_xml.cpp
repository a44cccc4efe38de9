// SPDX-License-Identifier: Apache-2.0
//
// EMBEDDED_METADATA: the XML from which XRT learns kernels, arguments, register offsets and unit
// addresses.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>
#include <sstream>

#include "bitstreams/xclbin/unit_layout.h"
#include "bitstreams/xclbin/xclbin_writer.h"

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

// The name of an m_axi port: arguments of one bundle share it.
std::string memory_port(const Argument& argument) {
  std::string name = argument.bundle.empty() ? argument.name : argument.bundle;
  if (argument.bundle.empty()) return "M_AXI_" + name;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "M_AXI_" + name;
}

std::string port_of(const Argument& argument) {
  if (argument.kind == 1) return memory_port(argument);
  return argument.kind == 4 ? argument.name : "S_AXI_CONTROL";
}

void write_argument(std::ostringstream& out, const Argument& argument, size_t id) {
  out << "          <arg name=\"" << escape(argument.name) << "\" addressQualifier=\""
      << argument.kind << "\" id=\"" << (argument.hidden ? "" : std::to_string(id)) << "\" port=\""
      << escape(port_of(argument)) << "\" size=\"" << hex(argument.register_bytes) << "\" offset=\""
      << hex(argument.offset) << "\" hostOffset=\"0x0\" hostSize=\"" << hex(argument.host_bytes)
      << "\" type=\"" << escape(argument.type) << "\"/>\n";
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

void write_ports(std::ostringstream& out, const Design& design, const Kernel& kernel) {
  if (!kernel.free_running()) {
    out << "          <port name=\"S_AXI_CONTROL\" mode=\"slave\" range=\"0x10000\" "
           "dataWidth=\"32\""
        << " portType=\"addressable\" base=\"0x0\"/>\n";
  }
  std::set<std::string> written;
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind == 1 && written.insert(memory_port(argument)).second) {
      out << "          <port name=\"" << escape(memory_port(argument))
          << "\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" dataWidth=\"512\" "
             "portType=\"addressable\" base=\"0x0\"/>\n";
    } else if (argument.kind == 4) {
      const bool reads = reads_a_link(design, kernel, argument.name);
      out << "          <port name=\"" << escape(argument.name) << "\" mode=\""
          << (reads ? "read_only" : "write_only") << "\" range=\"\" dataWidth=\""
          << argument.element_bytes * 8 << "\" portType=\"stream\" base=\"\"/>\n";
    }
  }
}

void write_group(std::ostringstream& out, const char* name, const std::array<uint32_t, 3>& size) {
  out << "          <" << name << " x=\"" << size[0] << "\" y=\"" << size[1] << "\" z=\"" << size[2]
      << "\"/>\n";
}

void write_features(std::ostringstream& out, const Kernel& kernel) {
  if (kernel.restart_counters > 0) {
    out << " countedAutoRestart=\"" << kernel.restart_counters << "\"";
  }
  if (kernel.mailbox != "none") out << " mailbox=\"" << escape(kernel.mailbox) << "\"";
  if (kernel.software_reset) out << " swReset=\"true\"";
}

void write_units(std::ostringstream& out, const Design& design, const Kernel& kernel) {
  for (const PlacedUnit& unit : place_units(design)) {
    if (unit.kernel != &kernel) continue;
    out << "          <instance name=\"" << escape(unit.name) << "\">\n";
    if (unit.base != kNoBase) {
      out << "            <addrRemap base=\"" << hex(unit.base)
          << "\" range=\"0x10000\" port=\"S_AXI_CONTROL\"/>\n";
    }
    out << "          </instance>\n";
  }
}

void write_kernel(std::ostringstream& out, const Design& design, const Kernel& kernel) {
  out << "        <kernel name=\"" << escape(kernel.name) << "\" language=\""
      << escape(kernel.language) << "\" type=\"pl\" hwControlProtocol=\""
      << control_name(kernel.control)
      << "\" preferredWorkGroupSizeMultiple=\"0\" workGroupSize=\"1\" interrupt=\"true\"";
  write_features(out, kernel);
  out << ">\n";
  write_group(out, "compileWorkGroupSize", kernel.required_group);
  write_group(out, "maxWorkGroupSize", kernel.maximum_group);
  write_ports(out, design, kernel);
  for (size_t id = 0; id < kernel.arguments.size(); ++id) {
    // A program's pipe is no argument to XRT: the card joins its ends.
    if (kernel.arguments[id].hidden && kernel.arguments[id].kind == 4) continue;
    write_argument(out, kernel.arguments[id], id);
  }
  write_units(out, design, kernel);
  out << "        </kernel>\n";
}

void write_links(std::ostringstream& out, const Design& design) {
  for (const StreamLink& link : design.links) {
    out << "        <connection srcType=\"kernel\" srcInst=\"" << escape(link.from_unit)
        << "\" srcPort=\"" << escape(link.from_argument) << "\" dstType=\"kernel\" dstInst=\""
        << escape(link.to_unit) << "\" dstPort=\"" << escape(link.to_argument) << "\"/>\n";
  }
}

}  // namespace

std::string metadata_xml(const Design& design) {
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      << "<project name=\"" << escape(design.name) << "\">\n"
      << "  <platform vendor=\"xilinx\" boardid=\"" << escape(design.platform->name) << "\" name=\""
      << escape(design.platform->vbnv) << "\">\n"
      << "    <device name=\"fpga0\" fpgaDevice=\"" << escape(design.platform->name) << "\">\n"
      << "      <core name=\"OCL_REGION_0\" target=\""
      << (design.hardware_emulation ? "hw_em" : "csim")
      << "\" type=\"clc_region\" numComputeUnits=\"" << place_units(design).size() << "\">\n"
      << "        <kernelClocks>\n          <clock port=\"DATA_CLK\" frequency=\""
      << clock_mhz(design) << "MHz\"/>\n          <clock port=\"KERNEL_CLK\" frequency=\""
      << clock_mhz(design) << "MHz\"/>\n        </kernelClocks>\n";
  for (const Kernel& kernel : design.kernels) write_kernel(out, design, kernel);
  write_links(out, design);
  out << "      </core>\n    </device>\n  </platform>\n</project>\n";
  return out.str();
}

}  // namespace tandem::xclbin
