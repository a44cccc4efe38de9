// SPDX-License-Identifier: Apache-2.0
//
// A link is a memory of type MEM_STREAMING_CONNECTION with two rows in CONNECTIVITY, the writer's
// first.
#include "emulation/xrt_shim/card/load_lines.h"

#include <xclbin.h>

#include <pugixml.hpp>

namespace tandem::emulation {
namespace {

using xclbin::ComputeUnit;
using xclbin::Connection;
using xclbin::XclbinFile;

pugi::xml_node kernel_of(const pugi::xml_document& metadata, const std::string& kernel) {
  pugi::xml_node core = metadata.child("project");
  for (const char* name : {"platform", "device", "core"}) core = core.child(name);
  return core.find_child_by_attribute("kernel", "name", kernel.c_str());
}

// The argument's name in EMBEDDED_METADATA, else its number.
std::string argument_name(const pugi::xml_document& metadata, const std::string& kernel,
                          int32_t argument) {
  const std::string id = std::to_string(argument);
  const pugi::xml_node found =
      kernel_of(metadata, kernel).find_child_by_attribute("arg", "id", id.c_str());
  return found ? found.attribute("name").value() : id;
}

class LoadLines {
 public:
  LoadLines(const XclbinFile& file, const std::vector<ComputeUnit>& units)
      : file_(file), units_(units) {
    const auto bytes = file.section(EMBEDDED_METADATA);
    // Names are only for messages, so a damaged document contributes whatever can be read.
    metadata_.load_buffer(bytes.data(), bytes.size());
  }

  std::string run() const {
    std::string lines;
    for (const ComputeUnit& unit : units_) {
      lines += unit.kernel + ":" + unit.name + (runs_freely(unit) ? ":free\n" : "\n");
    }
    for (size_t index = 0; index < units_.size(); ++index) {
      lines += names_line("names ", "name", index) + names_line("ports ", "port", index);
    }
    for (const xclbin::Memory& memory : file_.memories()) lines += memory_line(memory);
    for (size_t memory = 0; memory < file_.memories().size(); ++memory) {
      if (is_link(static_cast<int32_t>(memory))) lines += link_line(static_cast<int32_t>(memory));
    }
    return lines;
  }

 private:
  bool is_link(int32_t memory) const {
    const auto index = static_cast<size_t>(memory);
    return index < file_.memories().size() &&
           file_.memories()[index].type == MEM_STREAMING_CONNECTION;
  }
  const ComputeUnit& unit_of(const Connection& row) const {
    return file_.compute_units()[static_cast<size_t>(row.unit)];
  }

  // Nothing for a unit without arguments, or if the metadata does not describe all of them.
  std::string names_line(const char* word, const char* attribute, size_t index) const {
    std::string names;
    for (const pugi::xml_node& argument :
         kernel_of(metadata_, units_[index].kernel).children("arg")) {
      const std::string value = argument.attribute(attribute).value();
      if (value.empty()) return {};
      names += " " + value;
    }
    return names.empty() ? "" : word + std::to_string(index) + names + "\n";
  }

  static std::string memory_line(const xclbin::Memory& memory) {
    const bool is_stream = memory.type == MEM_STREAMING || memory.type == MEM_STREAMING_CONNECTION;
    if (is_stream || !memory.used) return {};
    return "memory " + std::to_string(memory.base) + " " + std::to_string(memory.size_bytes) + " " +
           memory.tag + "\n";
  }

  bool runs_freely(const ComputeUnit& unit) const {
    if (unit.control != xclbin::Control::kNone) return false;
    for (const Connection& row : file_.connections()) {
      const ComputeUnit& connected = unit_of(row);
      const bool same = connected.kernel == unit.kernel && connected.name == unit.name;
      if (same && !is_link(row.memory)) return false;
    }
    return true;
  }

  std::string end_text(const Connection& row) const {
    const ComputeUnit& wanted = unit_of(row);
    size_t index = 0;
    while (index < units_.size() &&
           (units_[index].kernel != wanted.kernel || units_[index].name != wanted.name)) {
      ++index;
    }
    return std::to_string(index) + " " + std::to_string(row.argument);
  }
  std::string end_name(const Connection& row) const {
    const ComputeUnit& unit = unit_of(row);
    return unit.name + "." + argument_name(metadata_, unit.kernel, row.argument);
  }

  std::string link_line(int32_t memory) const {
    std::vector<const Connection*> ends;
    for (const Connection& row : file_.connections()) {
      if (row.memory == memory) ends.push_back(&row);
    }
    if (ends.size() != 2) return {};  // a stream out of the card has one end
    const uint64_t depth = file_.memories()[static_cast<size_t>(memory)].link_depth;
    return "link " + std::to_string(depth) + " " + end_text(*ends[0]) + " " + end_text(*ends[1]) +
           " " + end_name(*ends[0]) + "->" + end_name(*ends[1]) + "\n";
  }

  const XclbinFile& file_;
  const std::vector<ComputeUnit>& units_;
  pugi::xml_document metadata_;
};

}  // namespace

std::string load_lines(const XclbinFile& file, const std::vector<ComputeUnit>& units) {
  return LoadLines(file, units).run();
}

}  // namespace tandem::emulation
