// SPDX-License-Identifier: Apache-2.0
//
// inspect(): the parsed tables plus the kernels and arguments of the metadata XML.
#include "bitstreams/xclbin/inspect.h"

#include <xclbin.h>

#include <charconv>

#include "bitstreams/xclbin/metadata_document.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

uint32_t number(const pugi::xml_node& element, const char* key, const std::string& file_name) {
  const std::string text = element.attribute(key).as_string("0");
  const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  uint32_t value = 0;
  const char* begin = text.data() + (hexadecimal ? 2 : 0);
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(begin, end, value, hexadecimal ? 16 : 10);
  if (result.ec != std::errc() || result.ptr != end) {
    throw Error("xclbin", file_name + ": field EMBEDDED_METADATA, element " + element.name() +
                              ", attribute " + key + ": '" + text + "' is not a 32-bit number");
  }
  return value;
}

std::string text(const pugi::xml_node& element, const char* key) {
  return element.attribute(key).value();
}

KernelInfo read_kernel(const pugi::xml_node& element, const std::string& file_name) {
  KernelInfo kernel{text(element, "name"), text(element, "hwControlProtocol"), {}};
  for (const pugi::xml_node& child : element.children("arg")) {
    kernel.arguments.push_back(
        {text(child, "name"), text(child, "type"), number(child, "addressQualifier", file_name),
         number(child, "hostSize", file_name), number(child, "size", file_name),
         number(child, "offset", file_name)});
  }
  return kernel;
}

void read_metadata(std::string_view xml, const std::string& file_name, XclbinInfo& info) {
  const pugi::xml_document document = load_metadata(xml, file_name);
  pugi::xml_node element = document.document_element();
  for (const char* name : {"platform", "device", "core"}) {
    element = element.child(name);
    if (!element) {
      throw Error("xclbin", file_name + ": field EMBEDDED_METADATA has no element '" + name + "'");
    }
  }
  for (const pugi::xml_node& kernel : element.children("kernel")) {
    info.kernels.push_back(read_kernel(kernel, file_name));
  }
}

}  // namespace

std::string section_kind_name(uint32_t kind) {
  static const char* const kNames[] = {"BITSTREAM",
                                       "CLEARING_BITSTREAM",
                                       "EMBEDDED_METADATA",
                                       "FIRMWARE",
                                       "DEBUG_DATA",
                                       "SCHED_FIRMWARE",
                                       "MEM_TOPOLOGY",
                                       "CONNECTIVITY",
                                       "IP_LAYOUT",
                                       "DEBUG_IP_LAYOUT",
                                       "DESIGN_CHECK_POINT",
                                       "CLOCK_FREQ_TOPOLOGY",
                                       "MCS",
                                       "BMC",
                                       "BUILD_METADATA",
                                       "KEYVALUE_METADATA",
                                       "USER_METADATA",
                                       "DNA_CERTIFICATE",
                                       "PDI",
                                       "BITSTREAM_PARTIAL_PDI",
                                       "PARTITION_METADATA",
                                       "EMULATION_DATA",
                                       "SYSTEM_METADATA",
                                       "SOFT_KERNEL",
                                       "ASK_FLASH",
                                       "AIE_METADATA",
                                       "GROUP_TOPOLOGY",
                                       "GROUP_CONNECTIVITY",
                                       "SMARTNIC",
                                       "AIE_RESOURCES",
                                       "OVERLAY",
                                       "VENDER_METADATA"};
  return kind < std::size(kNames) ? kNames[kind] : "kind " + std::to_string(kind);
}

XclbinInfo inspect(std::span<const std::byte> bytes, const std::string& file_name) {
  const XclbinFile file = XclbinFile::parse(bytes, file_name);
  XclbinInfo info;
  info.path = file_name;
  info.size_bytes = bytes.size();
  info.uuid = file.uuid_text();
  info.platform = file.platform_vbnv();
  info.sections = file.sections();
  info.memories = file.groups();
  info.compute_units = file.compute_units();
  info.connections = file.connections();
  const auto bitstream = file.section(BITSTREAM);
  info.emulated =
      bitstream.size() > 4 && bitstream[0] == std::byte{0x7f} && bitstream[1] == std::byte{'E'};
  const auto xml = file.section(EMBEDDED_METADATA);
  if (!xml.empty()) {
    read_metadata({reinterpret_cast<const char*>(xml.data()), xml.size()}, file_name, info);
  }
  return info;
}

XclbinInfo inspect(const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  return inspect(bytes, path);
}

}  // namespace tandem::xclbin
