// SPDX-License-Identifier: Apache-2.0
//
// A COUNT is digits and an x. A kind begins with a letter, so -1 is none.
#include "planner/graph/device_list.h"

#include <algorithm>

#include "common/error.h"
#include "common/number.h"
#include "common/text_parts.h"

namespace tandem::planner {
namespace {

[[noreturn]] void refuse_devices(std::string_view part, const std::string& what) {
  throw Error("place", "--devices: '" + std::string(part) + "' " + what);
}

struct DevicePart {
  int count = 1;
  std::string kind, memory;
};

int checked_count(std::string_view digits, std::string_view part) {
  const auto count = number_of<int>(digits);
  if (!count || *count < 1 || *count > kMostDevices) {
    refuse_devices(part, "has no number of devices from 1 to " + std::to_string(kMostDevices));
  }
  return *count;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool begins_with_letter(std::string_view text) {
  const char first = text.empty() ? ' ' : text.front();
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
}

DevicePart part_of(std::string_view text) {
  DevicePart part;
  const std::size_t equals = text.find('=');
  std::string_view kind = text.substr(0, equals);
  if (equals != std::string_view::npos) {
    part.memory = text.substr(equals + 1);
    if (part.memory.empty()) refuse_devices(text, "has no memory behind '='");
  }
  const std::size_t digits =
      static_cast<std::size_t>(std::ranges::find_if_not(kind, is_digit) - kind.begin());
  if (digits > 0 && digits < kind.size() && kind[digits] == 'x') {
    part.count = checked_count(kind.substr(0, digits), text);
    kind.remove_prefix(digits + 1);
  }
  if (!begins_with_letter(kind)) {
    refuse_devices(text, "is neither a number of devices nor [COUNTx]KIND[=MEMORY]");
  }
  part.kind = kind;
  return part;
}

}  // namespace

DeviceList read_device_list(std::string_view text, std::int64_t memory_bytes,
                            const std::function<std::int64_t(const std::string&)>& bytes_of) {
  DeviceList list;
  if (std::ranges::all_of(text, is_digit)) {
    list.num_devices = checked_count(text, text);
    return list;
  }
  list.num_devices = 0;
  bool has_memory = false;
  for (const std::string_view each : parts_of(text, ',')) {
    const DevicePart part = part_of(each);
    const auto found = std::ranges::find(list.kinds, part.kind);
    const auto kind = static_cast<int>(found - list.kinds.begin());
    if (found == list.kinds.end()) list.kinds.push_back(part.kind);
    has_memory = has_memory || !part.memory.empty();
    const std::int64_t bytes = part.memory.empty() ? memory_bytes : bytes_of(part.memory);
    list.num_devices += part.count;
    if (list.num_devices > kMostDevices) {
      refuse_devices(text, "has more than " + std::to_string(kMostDevices) + " devices");
    }
    list.kind_of.insert(list.kind_of.end(), static_cast<std::size_t>(part.count), kind);
    list.memories.insert(list.memories.end(), static_cast<std::size_t>(part.count), bytes);
  }
  if (!has_memory) list.memories.clear();
  return list;
}

}  // namespace tandem::planner
