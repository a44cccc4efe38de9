// SPDX-License-Identifier: Apache-2.0
//
// Payload: immutable bytes of one message, shared by its sender and its receivers.
//
// A sender writes a ByteBuffer and moves it into a payload. A transport keeps the payload until the
// network has it, so neither an abort nor a late peer leaves a pointer to freed memory. Ranks of
// one process share the bytes; nothing is copied. Threads: immutable, any; copying is a reference
// count.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "common/raw_vector.h"

namespace tandem::transport {

using ByteBuffer = RawVector<std::byte>;

class Payload {
 public:
  Payload() = default;
  explicit Payload(ByteBuffer&& bytes)
      : bytes_(std::make_shared<const ByteBuffer>(std::move(bytes))) {}

  std::span<const std::byte> bytes() const {
    return bytes_ ? std::span<const std::byte>(*bytes_) : std::span<const std::byte>();
  }
  std::size_t size() const { return bytes_ ? bytes_->size() : 0; }

 private:
  std::shared_ptr<const ByteBuffer> bytes_;
};

// Appends the bytes of `value` (little-endian hosts).
template <typename T>
void append_value(ByteBuffer& to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto at = to.size();
  to.resize(at + sizeof(T));
  std::memcpy(to.data() + at, &value, sizeof(T));
}

}  // namespace tandem::transport
