// SPDX-License-Identifier: Apache-2.0
//
// Reads /proc/meminfo and the files of control groups.
#include "common/available_memory.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "common/control_groups.h"

namespace tandem {
namespace {

constexpr std::uint64_t kUnlimited = AvailableMemory::kNoLimit;
// Version 1 writes "no limit" as the largest number of whole pages.
constexpr std::uint64_t kLargestLimit = std::uint64_t{1} << 62;

// "name value" and "name: value kB" lines.
std::map<std::string, std::uint64_t> read_fields(const std::string& path) {
  std::map<std::string, std::uint64_t> fields;
  std::ifstream file(path);
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;
       file.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    fields[name] = value;
  }
  return fields;
}

// Absent, "max" or too large: no limit.
std::uint64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value && value < kLargestLimit ? value : kUnlimited;
}

std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;
}

struct GroupFiles {
  const char *limit, *soft_limit, *used;
  const char *inactive, *active;  // fields of memory.stat: page cache of the group and those below
};

constexpr GroupFiles kVersion1 = {"/memory.limit_in_bytes", "", "/memory.usage_in_bytes",
                                  "total_inactive_file", "total_active_file"};
constexpr GroupFiles kVersion2 = {"/memory.max", "/memory.high", "/memory.current", "inactive_file",
                                  "active_file"};

void apply(const ControlGroup& group, AvailableMemory& memory) {
  const GroupFiles& files = group.version == 1 ? kVersion1 : kVersion2;
  std::uint64_t limit = limit_in(group.folder + files.limit);
  if (*files.soft_limit != 0) limit = std::min(limit, limit_in(group.folder + files.soft_limit));
  if (limit == kUnlimited) return;
  std::map<std::string, std::uint64_t> stat = read_fields(group.folder + "/memory.stat");
  const std::uint64_t files_cached = stat[files.inactive] + stat[files.active];
  std::uint64_t used = number_in(group.folder + files.used);
  used -= std::min(used, files_cached);
  memory.limit_bytes = std::min(memory.limit_bytes, limit);
  memory.left_bytes = std::min(memory.left_bytes, limit - std::min(limit, used));
}

}  // namespace

AvailableMemory available_memory(const std::string& root) {
  std::map<std::string, std::uint64_t> machine = read_fields(root + "/proc/meminfo");
  AvailableMemory memory;
  memory.left_bytes = machine["MemAvailable:"] * 1024;
  for (const ControlGroup& group : control_groups("memory", root)) apply(group, memory);
  memory.total_bytes = std::min(machine["MemTotal:"] * 1024, memory.limit_bytes);
  return memory;
}

}  // namespace tandem
