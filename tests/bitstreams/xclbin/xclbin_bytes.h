// SPDX-License-Identifier: Apache-2.0
//
// Bytes of an xclbin that a test changes, and what the reader says of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bitstreams/xclbin/inspect.h"
#include "common/error.h"
#include "test_design.h"

namespace tandem::xclbin_test {

inline std::vector<std::byte> small_file() { return xclbin::encode(small_design()); }

// What inspect() says about the bytes; empty when it accepts them.
inline std::string refusal(std::span<const std::byte> bytes) {
  try {
    xclbin::inspect(bytes, "bad.xclbin");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

template <typename T>
void poke(std::vector<std::byte>& bytes, uint64_t offset, T value) {
  ASSERT_LE(offset + sizeof(T), bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

}  // namespace tandem::xclbin_test
