// SPDX-License-Identifier: Apache-2.0
//
// The automaton: one state per part of a line.
#include "server/http/head_scanner.h"

namespace tandem::server::http {
namespace {

constexpr std::string_view kVersionPattern = "HTTP/d.d";  // d: a digit

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_target_byte(char c) { return c > ' ' && c < '\x7f'; }

}  // namespace

bool is_token_byte(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || is_digit(c) || (c != '\0' && kMarks.find(c) != std::string_view::npos);
}

bool is_value_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7f);
}

HeadScanner::State HeadScanner::feed(std::string_view input, std::size_t* used) {
  *used = 0;
  for (const char c : input) {
    ++*used;
    if (++taken_ > max_bytes_) {
      refusal_ = {431,
                  "the request line and headers exceed " + std::to_string(max_bytes_) + " bytes"};
      return State::kRefused;
    }
    const State state = take(c);
    if (state != State::kMore) return state;
  }
  return State::kMore;
}

HeadScanner::State HeadScanner::take(char c) {
  if (at_ == At::kBefore) {
    if (c == '\r') return move(At::kBeforeLineFeed);
    at_ = At::kMethod;
  } else if (at_ == At::kBeforeLineFeed) {
    return expect_line_feed(c, At::kBefore);
  }
  head_.push_back(c);
  return at_ <= At::kVersionLineFeed ? take_in_request_line(c) : take_in_field(c);
}

HeadScanner::State HeadScanner::take_in_request_line(char c) {
  switch (at_) {
    case At::kMethod:
      if (c == ' ' && token_bytes_ > 0) return move(At::kTarget);
      if (!is_token_byte(c)) return malformed("the method has a byte that is not allowed");
      break;
    case At::kTarget:
      if (c == ' ' && token_bytes_ > 0) return move(At::kVersion);
      if (!is_target_byte(c))
        return malformed("the request target has a byte that must be escaped");
      break;
    case At::kVersion:
      return take_version(c);
    default:
      return expect_line_feed(c, At::kLineStart);
  }
  ++token_bytes_;
  return State::kMore;
}

HeadScanner::State HeadScanner::take_version(char c) {
  if (token_bytes_ == kVersionPattern.size()) {
    if (c != '\r') return malformed("the request line does not end after the version");
    const std::string_view version(head_.data() + head_.size() - 4, 3);
    if (version != "1.0" && version != "1.1") {
      refusal_ = {505, "only HTTP/1.0 and HTTP/1.1 are supported"};
      return State::kRefused;
    }
    return move(At::kVersionLineFeed);
  }
  const char expected = kVersionPattern[token_bytes_++];
  if (expected == 'd' ? !is_digit(c) : c != expected) {
    return malformed("the request line does not end with a version such as HTTP/1.1");
  }
  return State::kMore;
}

HeadScanner::State HeadScanner::take_in_field(char c) {
  switch (at_) {
    case At::kLineStart:
      if (c == '\r') return move(At::kLastLineFeed);
      if (c == ' ' || c == '\t') return malformed("a header is folded over two lines");
      at_ = At::kName;
      [[fallthrough]];
    case At::kName:
      if (c == ':' && token_bytes_ > 0) return move(At::kValue);
      if (!is_token_byte(c)) return malformed("a header's name has a byte that is not allowed");
      break;
    case At::kValue:
      if (c == '\r') return move(At::kValueLineFeed);
      if (!is_value_byte(c)) return malformed("a header's value has a control character");
      break;
    case At::kValueLineFeed:
      return expect_line_feed(c, At::kLineStart);
    default:
      return c == '\n' ? State::kComplete : malformed("a CR is not followed by LF");
  }
  ++token_bytes_;
  return State::kMore;
}

HeadScanner::State HeadScanner::move(At next) {
  at_ = next;
  token_bytes_ = 0;
  return State::kMore;
}

HeadScanner::State HeadScanner::expect_line_feed(char c, At next) {
  return c == '\n' ? move(next) : malformed("a CR is not followed by LF");
}

HeadScanner::State HeadScanner::malformed(const char* what) {
  refusal_ = {400, std::string("malformed HTTP request: ") + what};
  return State::kRefused;
}

}  // namespace tandem::server::http
