// SPDX-License-Identifier: Apache-2.0
//
// Elements of component.xml are found by their local names, since tools use several namespaces.
#include "bitstreams/compiler/rtl/rtl_arguments.h"

#include <algorithm>
#include <bit>
#include <pugixml.hpp>

#include "common/error.h"
#include "common/lower_case.h"

namespace tandem::rtl {
namespace {

constexpr uint32_t kFirstArgument = 0x10;
// From here on a first argument means an auto-restart counter and a mailbox.
constexpr uint32_t kMailboxArgument = 0x20;
constexpr uint64_t kRegisterBytes = 0x10000;  // of a unit

uint32_t number_in(const char* text) {
  return static_cast<uint32_t>(std::min<uint64_t>(std::strtoul(text, nullptr, 0), INT32_MAX));
}

// Whether an element has that local name, in any namespace.
bool is_named(const pugi::xml_node& node, std::string_view local) {
  const std::string_view name = node.name();
  const size_t colon = name.find(':');
  return (colon == std::string_view::npos ? name : name.substr(colon + 1)) == local;
}
pugi::xml_node child(const pugi::xml_node& node, std::string_view local) {
  return node.find_child([local](const pugi::xml_node& each) { return is_named(each, local); });
}
std::string text_of(const pugi::xml_node& node, std::string_view local) {
  return child(node, local).text().get();
}

class Describer {
 public:
  Describer(const RtlArchive& archive, const Interfaces& interfaces)
      : archive_(archive), interfaces_(interfaces) {}

  RtlDescription run() {
    description_.top = top_module(archive_);
    std::string protocol = archive_.protocol;
    if (archive_.kernel_xml.empty()) {
      read_component();
    } else {
      const std::string stated = read_kernel_xml();
      if (protocol.empty()) protocol = stated;
    }
    set_protocol(protocol);
    check();
    return std::move(description_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("v++", "kernel object " + archive_.file + ": " + what);
  }

  void load(pugi::xml_document& document, const std::string& text, const char* what) const {
    const auto result = document.load_buffer(text.data(), text.size());
    if (!result) fail(std::string(what) + " is damaged: " + result.description());
  }

  void read_component() {
    pugi::xml_document document;
    load(document, archive_.component, "its component.xml");
    for (const pugi::xml_node& map : child(document.document_element(), "memoryMaps")) {
      for (const pugi::xml_node& block : map.children()) {
        if (!is_named(block, "addressBlock")) continue;
        for (const pugi::xml_node& each : block.children()) {
          if (is_named(each, "register")) add_register(each);
        }
      }
    }
    for (const Interface& stream : interfaces_.streams) add_stream(stream.name, stream.name);
  }

  void add_register(const pugi::xml_node& node) {
    RtlArgument argument;
    argument.name = text_of(node, "name");
    argument.offset = number_in(text_of(node, "addressOffset").c_str());
    if (argument.offset < kFirstArgument) return;
    argument.bytes = (number_in(text_of(node, "size").c_str()) + 31) / 32 * 4;
    for (const pugi::xml_node& parameter : child(node, "parameters")) {
      if (text_of(parameter, "name") == "ASSOCIATED_BUSIF") {
        argument.port = text_of(parameter, "value");
      }
    }
    argument.kind = argument.port.empty() ? ArgumentKind::kScalar : ArgumentKind::kGlobal;
    argument.type = argument.port.empty() ? (argument.bytes > 4 ? "ulong" : "uint") : "int*";
    description_.arguments.push_back(std::move(argument));
  }

  void add_stream(const std::string& name, const std::string& port) {
    description_.arguments.push_back(
        {name, "stream", ArgumentKind::kStream, kFirstArgument, 0, port});
  }

  // Returns the protocol that it states.
  std::string read_kernel_xml() {
    pugi::xml_document document;
    load(document, archive_.kernel_xml, "its kernel.xml");
    const pugi::xml_node kernel = document.document_element().child("kernel");
    if (!kernel) fail("its kernel.xml has no element root/kernel");
    for (const pugi::xml_node& arg : kernel.child("args").children("arg")) add_arg(arg);
    return kernel.attribute("hwControlProtocol").value();
  }

  void add_arg(const pugi::xml_node& arg) {
    const std::string name = arg.attribute("name").value();
    const uint32_t qualifier = arg.attribute("addressQualifier").as_uint();
    const std::string port = arg.attribute("port").value();
    if (qualifier == 4) return add_stream(name, port.empty() ? name : port);
    if (qualifier > 1) {
      fail("argument '" + name + "' of its kernel.xml has addressQualifier " +
           std::to_string(qualifier) + "; 0 (scalar), 1 (pointer) and 4 (stream) work here");
    }
    RtlArgument argument;
    argument.name = name;
    argument.type = arg.attribute("type").value();
    argument.kind = qualifier == 1 ? ArgumentKind::kGlobal : ArgumentKind::kScalar;
    argument.offset = number_in(arg.attribute("offset").value());
    argument.bytes = (number_in(arg.attribute("size").value()) + 3) / 4 * 4;
    if (qualifier == 1) argument.port = port;
    description_.arguments.push_back(std::move(argument));
  }

  void set_protocol(const std::string& protocol) {
    if (protocol == "ap_ctrl_none") {
      description_.protocol = RtlProtocol::kNone;
    } else if (protocol == "ap_ctrl_chain") {
      description_.protocol = RtlProtocol::kChain;
    } else if (protocol == "ap_ctrl_hs" || protocol == "user_managed") {
      description_.protocol = RtlProtocol::kHandshake;
    } else if (protocol.empty()) {
      const bool is_free = interfaces_.controls.empty();
      description_.protocol = is_free ? RtlProtocol::kNone : RtlProtocol::kHandshake;
    } else {
      fail("has the unknown control protocol '" + protocol + "'");
    }
  }

  void check() const {
    const bool controlled = description_.protocol != RtlProtocol::kNone;
    if (interfaces_.clocks.empty()) {
      fail("module '" + description_.top + "' has no clock: name it ap_clk");
    }
    if (controlled && interfaces_.controls.size() != 1) {
      fail("module '" + description_.top + "' has " + std::to_string(interfaces_.controls.size()) +
           " AXI4-Lite ports; a kernel with a control protocol has one, s_axi_control");
    }
    for (const Interface& port : interfaces_.memories) check_memory(port);
    for (const RtlArgument& argument : description_.arguments) check_argument(argument);
  }

  // What the model of memory (glue/rtl/axi_memory.h) relies on.
  void check_memory(const Interface& port) const {
    const auto bits = [&port](const char* suffix) {
      return port.has(suffix) ? port.signals.at(suffix).bits : 0;
    };
    const bool reads = port.has("arvalid") || port.has("rdata");
    const bool writes = port.has("awvalid") || port.has("wvalid") || port.has("wdata");
    const uint32_t width = std::max(bits("rdata"), bits("wdata"));
    if (!reads && !writes) return;
    if (std::has_single_bit(width) && width >= 8 && width <= 1024 &&
        (!reads || bits("rdata") == width) && (!writes || bits("wdata") == width) &&
        (!port.has("wstrb") || bits("wstrb") == width / 8)) {
      return;
    }
    fail("port '" + port.name + "' has " + std::to_string(bits("rdata")) + " bits of RDATA, " +
         std::to_string(bits("wdata")) + " of WDATA and " + std::to_string(bits("wstrb")) +
         " of WSTRB; data has 8, 16, 32, ... or 1024 bits, the same number in both directions, "
         "and a strobe for each byte");
  }

  void check_argument(const RtlArgument& argument) const {
    const bool stream = argument.kind == ArgumentKind::kStream;
    if (!stream && (argument.bytes == 0 || argument.offset % 4 != 0)) {
      fail("argument '" + argument.name + "' has no size, or its offset is not a multiple of 4");
    }
    if (!stream && uint64_t{argument.offset} + argument.bytes > kRegisterBytes) {
      fail("argument '" + argument.name + "' ends behind the 64 KB of registers that a unit has");
    }
    if (!stream && description_.protocol == RtlProtocol::kNone) {
      fail("argument '" + argument.name +
           "' is a register, but the protocol ap_ctrl_none has no "
           "run that would write it; such a kernel has streams only");
    }
    const bool is_first = &argument == description_.arguments.data();
    if (!stream &&
        (argument.offset < kFirstArgument || (is_first && argument.offset >= kMailboxArgument))) {
      fail("argument '" + argument.name + "' is at offset " + std::to_string(argument.offset) +
           "; the first argument of a kernel is at 0x10 to 0x1c");
    }
    if (argument.kind == ArgumentKind::kGlobal && argument.bytes != 8) {
      fail("pointer '" + argument.name + "' has " + std::to_string(argument.bytes) +
           " bytes; addresses have 8");
    }
    if (argument.kind == ArgumentKind::kScalar) return;
    const auto& ports = stream ? interfaces_.streams : interfaces_.memories;
    const bool known = std::any_of(ports.begin(), ports.end(), [&](const Interface& port) {
      return lower_case(port.name) == lower_case(argument.port);
    });
    if (!known) {
      fail("argument '" + argument.name + "' belongs to the port '" + argument.port +
           "', which module '" + description_.top + "' does not have");
    }
  }

  const RtlArchive& archive_;
  const Interfaces& interfaces_;
  RtlDescription description_;
};

}  // namespace

std::string top_module(const RtlArchive& archive) {
  pugi::xml_document document;
  document.load_buffer(archive.component.data(), archive.component.size());
  for (const pugi::xml_node& view :
       child(child(document.document_element(), "model"), "views").children()) {
    const std::string name = text_of(view, "modelName");
    if (!name.empty()) return name;
  }
  return archive.kernel;
}

RtlDescription describe_rtl(const RtlArchive& archive, const Interfaces& interfaces) {
  return Describer(archive, interfaces).run();
}

}  // namespace tandem::rtl
