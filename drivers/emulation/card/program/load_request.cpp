// SPDX-License-Identifier: Apache-2.0
//
// A line is a link or has names when its first word says so; a kernel's name holds no blank.
#include "emulation/card/program/load_request.h"

#include <sstream>
#include <stdexcept>

#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {
namespace {

UnitRequest read_unit(const std::string& line) {
  UnitRequest unit;
  std::istringstream fields(line);
  std::string mode;
  std::getline(fields, unit.kernel, ':');
  std::getline(fields, unit.name, ':');
  std::getline(fields, mode);
  if (unit.kernel.empty() || (!mode.empty() && mode != "free")) {
    throw std::runtime_error("the load request has an unexpected unit: " + line);
  }
  unit.free_running = mode == "free";
  return unit;
}

LinkRequest read_link(const std::string& line) {
  LinkRequest link;
  std::istringstream fields(line);
  std::string word;
  fields >> word >> link.depth >> link.writer.unit >> link.writer.argument >> link.reader.unit >>
      link.reader.argument >> link.name;
  if (!fields) throw std::runtime_error("the load request has a damaged link: " + line);
  return link;
}

void read_names(const std::string& line, LoadRequest& request) {
  std::istringstream fields(line);
  std::string word;
  size_t unit = 0;
  fields >> word >> unit;
  if (!fields || unit >= request.units.size()) {
    throw std::runtime_error("the load request has damaged names: " + line);
  }
  auto& words = word == "ports" ? request.units[unit].ports : request.units[unit].arguments;
  while (fields >> word) words.push_back(word);
}

MemoryRequest read_memory(const std::string& line) {
  MemoryRequest memory;
  std::istringstream fields(line);
  std::string word;
  fields >> word >> memory.base >> memory.size_bytes >> memory.tag;
  if (!fields) throw std::runtime_error("the load request has a damaged memory: " + line);
  return memory;
}

}  // namespace

LoadRequest read_load_request(std::istream& lines) {
  LoadRequest request;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("link ")) {
      request.links.push_back(read_link(line));
    } else if (line.starts_with("names ") || line.starts_with("ports ")) {
      read_names(line, request);
    } else if (line.starts_with("memory ")) {
      request.memories.push_back(read_memory(line));
    } else {
      request.units.push_back(read_unit(line));
    }
  }
  if (request.units.size() > kMaxUnits) throw std::runtime_error("too many compute units");
  for (const LinkRequest& link : request.links) {
    if (link.writer.unit >= request.units.size() || link.reader.unit >= request.units.size()) {
      throw std::runtime_error("link " + link.name + " names a unit that is not loaded");
    }
  }
  return request;
}

}  // namespace tandem::emulation
