// SPDX-License-Identifier: Apache-2.0
//
// Data is copied in bulk; an automaton handles all other bytes.
#include "server/http/chunk_decoder.h"

#include <algorithm>

#include "server/http/head_scanner.h"

namespace tandem::server::http {
namespace {

constexpr int kMaxDigits = 16;  // of a chunk's size

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ChunkDecoder::State ChunkDecoder::feed(std::string_view input, std::size_t* used,
                                       std::string* body) {
  *used = 0;
  while (*used < input.size()) {
    if (at_ == At::kData) {
      const std::string_view data = input.substr(*used, left_);
      body->append(data);
      *used += data.size();
      left_ -= data.size();
      if (left_ == 0) at_ = At::kDataReturn;
      continue;
    }
    const State state = take(input[(*used)++], body->size());
    if (state != State::kMore) return state;
  }
  return State::kMore;
}

ChunkDecoder::State ChunkDecoder::take(char c, std::size_t body_bytes) {
  switch (at_) {
    case At::kSize:
      return take_size(c, body_bytes);
    case At::kExtension:
      if (c == '\r') {
        at_ = At::kSizeLineFeed;
        return State::kMore;
      }
      if (!is_value_byte(c)) return malformed("a chunk extension has a control character");
      return count_extra();
    case At::kSizeLineFeed:
      digits_ = 0;
      return end_of_line(c, left_ == 0 ? At::kTrailerStart : At::kData);
    case At::kDataReturn:
      if (c != '\r') return malformed("a chunk is longer than its stated size");
      at_ = At::kDataLineFeed;
      return State::kMore;
    case At::kDataLineFeed:
      return end_of_line(c, At::kSize);
    default:
      return take_in_trailer(c);
  }
}

ChunkDecoder::State ChunkDecoder::take_size(char c, std::size_t body_bytes) {
  if (digits_ > 0 && (c == ';' || c == '\r')) {
    at_ = c == ';' ? At::kExtension : At::kSizeLineFeed;
    return State::kMore;
  }
  const int digit = hex_value(c);
  if (digit < 0) return malformed("a chunk's size is not a hexadecimal number");
  if (++digits_ > kMaxDigits) return malformed("a chunk's size has too many digits");
  left_ = left_ * 16 + static_cast<std::size_t>(digit);
  if (left_ > max_body_bytes_ - body_bytes) {
    refusal_ = {413, "the request body exceeds " + std::to_string(max_body_bytes_) + " bytes"};
    return State::kRefused;
  }
  return State::kMore;
}

ChunkDecoder::State ChunkDecoder::take_in_trailer(char c) {
  switch (at_) {
    case At::kTrailerStart:
      if (c == '\r') {
        at_ = At::kLastLineFeed;
        return State::kMore;
      }
      at_ = At::kTrailerName;
      name_bytes_ = 0;
      [[fallthrough]];
    case At::kTrailerName:
      if (c == ':' && name_bytes_ > 0) {
        at_ = At::kTrailerValue;
      } else if (!is_token_byte(c)) {
        return malformed("a trailer's name has a byte that is not allowed");
      }
      ++name_bytes_;
      return count_extra();
    case At::kTrailerValue:
      if (c == '\r') {
        at_ = At::kTrailerLineFeed;
        return State::kMore;
      }
      if (!is_value_byte(c)) return malformed("a trailer's value has a control character");
      return count_extra();
    case At::kTrailerLineFeed:
      return end_of_line(c, At::kTrailerStart);
    default:
      return c == '\n' ? State::kComplete : malformed("a CR is not followed by LF");
  }
}

ChunkDecoder::State ChunkDecoder::end_of_line(char c, At next) {
  if (c != '\n') return malformed("a CR is not followed by LF");
  at_ = next;
  return State::kMore;
}

ChunkDecoder::State ChunkDecoder::count_extra() {
  if (++extra_ <= max_extra_bytes_) return State::kMore;
  refusal_ = {
      431, "chunk extensions and trailers exceed " + std::to_string(max_extra_bytes_) + " bytes"};
  return State::kRefused;
}

ChunkDecoder::State ChunkDecoder::malformed(const char* what) {
  refusal_ = {400, std::string("malformed HTTP request: ") + what};
  return State::kRefused;
}

}  // namespace tandem::server::http
