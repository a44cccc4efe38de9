// SPDX-License-Identifier: Apache-2.0
//
// ChunkDecoder: decodes a body with chunked transfer coding, within limits.
//
// Reads sizes, line ends and trailers one byte at a time, so the result does not depend on how the
// bytes arrive. Skips extensions and trailers, which have a common limit. A line must end with CR
// LF. Errors: kRefused, for which refusal() has the reason. Threads: one. Source: RFC 9112, 7.1.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http/refusal.h"

namespace tandem::server::http {

class ChunkDecoder {
 public:
  enum class State { kMore, kComplete, kRefused };

  // `max_extra_bytes`: limit for all extensions and trailers together.
  ChunkDecoder(std::size_t max_body_bytes, std::size_t max_extra_bytes)
      : max_body_bytes_(max_body_bytes), max_extra_bytes_(max_extra_bytes) {}

  // Consumes bytes of `input` and appends data to `body`; sets `used` to the number of consumed
  // bytes.
  State feed(std::string_view input, std::size_t* used, std::string* body);

  const Refusal& refusal() const { return refusal_; }

 private:
  enum class At {
    kSize,
    kExtension,
    kSizeLineFeed,
    kData,
    kDataReturn,
    kDataLineFeed,
    kTrailerStart,
    kTrailerName,
    kTrailerValue,
    kTrailerLineFeed,
    kLastLineFeed,
  };

  State take(char c, std::size_t body_bytes);
  State take_size(char c, std::size_t body_bytes);
  State take_in_trailer(char c);
  State end_of_line(char c, At next);
  State count_extra();
  State malformed(const char* what);

  std::size_t max_body_bytes_, max_extra_bytes_;
  At at_ = At::kSize;
  std::size_t left_ = 0;   // remaining bytes of the chunk
  int digits_ = 0;         // digits of its size so far
  std::size_t extra_ = 0;  // bytes of extensions and trailers
  std::size_t name_bytes_ = 0;
  Refusal refusal_;
};

}  // namespace tandem::server::http
