// SPDX-License-Identifier: Apache-2.0
//
// The check of every operand of the CPU compute unit.
#include "cpu/slices.h"

#include <cstdint>
#include <string>

#include "common/error.h"

namespace tandem::device::cpu {

float* floats(const Slice& slice, std::size_t count, const char* what) {
  if (!slice) throw Error("cpu", std::string(what) + " is missing");
  const auto bytes = slice.buffer->host();
  if (bytes.empty() && count > 0) {
    throw Error("cpu", std::string(what) + " is not in host memory");
  }
  if (slice.offset_bytes > bytes.size() ||
      (bytes.size() - slice.offset_bytes) / sizeof(float) < count) {
    throw Error("cpu", std::string(what) + " needs " + std::to_string(count * sizeof(float)) +
                           " bytes from offset " + std::to_string(slice.offset_bytes) +
                           " on; its buffer has " + std::to_string(bytes.size()));
  }
  std::byte* at = bytes.data() + slice.offset_bytes;
  if (reinterpret_cast<std::uintptr_t>(at) % alignof(float) != 0) {
    throw Error("cpu", std::string(what) + " is not aligned to 4 bytes");
  }
  return reinterpret_cast<float*>(at);
}

}  // namespace tandem::device::cpu
