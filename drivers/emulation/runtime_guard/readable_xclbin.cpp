// SPDX-License-Identifier: Apache-2.0
//
// /proc/self/maps lists the mapped ranges in ascending order, each with its access rights.
#include "emulation/runtime_guard/readable_xclbin.h"

#include <xclbin.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "common/error.h"

namespace tandem::emulation {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{2} << 30;

// The number of readable bytes from `address` on, at most `limit`.
std::uint64_t readable_bytes(std::uint64_t address, std::uint64_t limit) {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t end = address;  // everything before it, from `address` on, is readable
  for (std::string line; end - address < limit && std::getline(maps, line);) {
    std::uint64_t first = 0, last = 0;
    char read_right = '-';
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %c", &first, &last, &read_right) != 3) {
      break;
    }
    if (last <= end) continue;
    if (first > end || read_right != 'r') break;
    end = last;
  }
  return end - address;
}

}  // namespace

std::span<const std::byte> readable_xclbin(const axlf* top) {
  const auto address = reinterpret_cast<std::uint64_t>(top);
  const std::uint64_t readable = readable_bytes(address, kMaxBytes);
  axlf head = {};  // a copy: an application may have read the file to any address
  if (top != nullptr && readable >= sizeof(axlf)) {
    std::memcpy(&head, static_cast<const void*>(top), sizeof(axlf));
  }
  if (std::memcmp(head.m_magic, "xclbin2\0", 8) != 0) {
    throw Error("xclbin",
                "xclbin in memory: field m_magic is not 'xclbin2'; this is not an xclbin file");
  }
  const std::uint64_t length = head.m_header.m_length;
  const std::string says =
      "xclbin in memory: field m_length says " + std::to_string(length) + " bytes, ";
  if (length < sizeof(axlf) || length > kMaxBytes) {
    throw Error("xclbin", says + "which no xclbin has; build the file again");
  }
  if (readable < length) {
    throw Error("xclbin", says + "more than are in memory; the file is truncated");
  }
  return {reinterpret_cast<const std::byte*>(top), length};
}

}  // namespace tandem::emulation
