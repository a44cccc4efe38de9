// SPDX-License-Identifier: Apache-2.0
//
// What the shim asks a card to load: compute units and the stream links between them.
//
// Lines of text: "<kernel>:<unit>" or "<kernel>:<unit>:free" per unit, in XRT's order, "free" for
// units that run from load to unload; then "link <depth> <unit> <argument> <unit> <argument>
// <name>" per link, writer first, units by index. Errors: std::runtime_error naming the line. Pure.
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
};

struct LinkEnd {
  uint32_t unit = 0;
  uint32_t argument = 0;
};

struct LinkRequest {
  uint32_t depth = 0;  // 0: as the streams' types say
  LinkEnd writer;
  LinkEnd reader;
  std::string name;
};

struct LoadRequest {
  std::vector<UnitRequest> units;
  std::vector<LinkRequest> links;
};

// `lines`: all behind the request's first line.
LoadRequest read_load_request(std::istream& lines);

}  // namespace tandem::emulation
