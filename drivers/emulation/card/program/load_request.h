// SPDX-License-Identifier: Apache-2.0
//
// LoadRequest: the request of the shim to load a bitstream: compute units, and the stream links
// between them.
//
// It consists of lines of text. Per unit, in XRT's order: "<kernel>:<unit>", or
// "<kernel>:<unit>:free" for a unit that runs from load to unload. Per unit with arguments, for
// messages: "names <unit> <argument>...", and "ports <unit> <port>...". Per used memory: "memory
// <base> <bytes> <tag>". Per link, writer first, units as indices: "link <depth> <unit> <argument>
// <unit> <argument> <name>". Errors: std::runtime_error with the line. Pure.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace tandem::emulation {

struct UnitRequest {
  std::string kernel;
  std::string name;
  bool free_running = false;
  std::vector<std::string> arguments;  // names; fewer if some are not known
  std::vector<std::string> ports;      // of each argument
};

struct LinkEnd {
  uint32_t unit = 0;
  uint32_t argument = 0;
};

struct LinkRequest {
  uint32_t depth = 0;  // 0: the depth of the streams' types
  LinkEnd writer;
  LinkEnd reader;
  std::string name;
};

struct MemoryRequest {
  uint64_t base = 0;
  uint64_t size_bytes = 0;
  std::string tag;
};

struct LoadRequest {
  std::vector<UnitRequest> units;
  std::vector<LinkRequest> links;
  std::vector<MemoryRequest> memories;
};

// `lines`: the request without its first line.
LoadRequest read_load_request(std::istream& lines);

}  // namespace tandem::emulation
