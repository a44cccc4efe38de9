// SPDX-License-Identifier: Apache-2.0
//
// HeadScanner: finds the end of a request's head and refuses heads that violate the grammar of
// HTTP/1.x.
//
// It reads one byte at a time and stops at the first violation, so the result does not depend on
// how the bytes arrive. It is stricter than RFC 9112: a line must end with CR LF, and folded lines
// are refused, because a proxy in front may interpret such heads differently. Threads: one. Cost:
// one copy of the head. Source: RFC 9112 sections 2 to 5, RFC 9110 section 5.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http/refusal.h"

namespace tandem::server::http {

class HeadScanner {
 public:
  enum class State { kMore, kComplete, kRefused };

  explicit HeadScanner(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Consumes bytes of `input` until the head is complete or refused; sets `used` to their number.
  State feed(std::string_view input, std::size_t* used);

  // Whether a byte of the request was consumed. Empty lines before it (RFC 9112 2.2) do not count.
  bool started() const { return !head_.empty(); }
  const std::string& head() const { return head_; }  // including the empty line at its end
  const Refusal& refusal() const { return refusal_; }

 private:
  enum class At {
    kBefore,
    kBeforeLineFeed,
    kMethod,
    kTarget,
    kVersion,
    kVersionLineFeed,
    kLineStart,
    kName,
    kValue,
    kValueLineFeed,
    kLastLineFeed,
  };

  State take(char c);
  State take_in_request_line(char c);
  State take_in_field(char c);
  State take_version(char c);
  State move(At next);
  State expect_line_feed(char c, At next);
  State malformed(const char* what);

  std::size_t max_bytes_;
  std::size_t taken_ = 0;  // including the empty lines before the request
  At at_ = At::kBefore;
  std::size_t token_bytes_ = 0;  // bytes of the current part of a line
  std::string head_;
  Refusal refusal_;
};

// RFC 9110 section 5.6.2.
bool is_token_byte(char c);
// The bytes that a field value may contain: visible ASCII, blanks, bytes from 0x80 on.
bool is_value_byte(char c);

}  // namespace tandem::server::http
