// SPDX-License-Identifier: Apache-2.0
//
// The head is parsed when it is complete. Only two forms may determine the end of a body: one
// Content-Length of digits, or one `Transfer-Encoding: chunked`, never both. Everything else is
// refused, because a proxy in front may see another end and take the rest for a request.
#include "server/http/request_reader.h"

#include <algorithm>
#include <utility>

#include "common/text_parts.h"
#include "server/http/head_parser.h"
#include "server/http/wire.h"

namespace tandem::server::http {
namespace {

constexpr std::size_t kMaxLengthDigits = 18;  // fits any size_t

// Headers that a request may have only once: they identify the client, the host or the request's
// end.
constexpr std::string_view kSingle[] = {"authorization", "content-length", "content-type",
                                        "expect",        "host",           "transfer-encoding"};

std::size_t count_headers(const Request& request, std::string_view name) {
  std::size_t found = 0;
  for (const Header& header : request.headers) found += header.name == name ? 1 : 0;
  return found;
}

std::optional<Refusal> check_singles(const Request& request) {
  for (const std::string_view name : kSingle) {
    if (count_headers(request, name) > 1) {
      return Refusal{400, "the header '" + std::string(name) + "' is given more than once"};
    }
  }
  if (request.minor_version == 1 && count_headers(request, "host") != 1) {
    return Refusal{400, "HTTP/1.1 requires exactly one Host header"};
  }
  return std::nullopt;
}

// The refusal of a value that is not exactly "chunked". RFC 9112 6.3: if chunked is there but not
// the last coding, the length is unknown (400); other codings are unknown here (501).
Refusal refuse_coding(std::string_view value) {
  std::size_t num_chunked = 0;
  bool chunked_last = false;
  for (const std::string_view coding : parts_of(value, ',')) {
    chunked_last = equals_ignoring_case(trimmed(coding, " \t"), "chunked");
    num_chunked += chunked_last ? 1 : 0;
  }
  const bool length_unknown = num_chunked > 1 || (num_chunked == 1 && !chunked_last);
  return {length_unknown ? 400 : 501,
          "the only supported Transfer-Encoding is 'chunked', not '" + std::string(value) + "'"};
}

std::optional<Refusal> check_coding(const Request& request) {
  if (count_headers(request, "transfer-encoding") == 0) return std::nullopt;
  if (request.minor_version == 0) return Refusal{400, "HTTP/1.0 has no Transfer-Encoding"};
  if (count_headers(request, "content-length") != 0) {
    return Refusal{400, "a request has Content-Length or Transfer-Encoding, not both"};
  }
  const std::string_view value = request.header("transfer-encoding");
  if (equals_ignoring_case(value, "chunked")) return std::nullopt;
  return refuse_coding(value);
}

std::optional<Refusal> read_length(const Request& request, std::size_t most, std::size_t* length) {
  *length = 0;
  if (count_headers(request, "content-length") == 0) return std::nullopt;
  std::string_view value = request.header("content-length");
  if (value.empty() || value.find_first_not_of("0123456789") != std::string_view::npos) {
    return Refusal{400, "the Content-Length '" + std::string(value) + "' is not a number of bytes"};
  }
  value.remove_prefix(std::min(value.find_first_not_of('0'), value.size() - 1));
  if (value.size() <= kMaxLengthDigits) {
    for (const char digit : value) *length = *length * 10 + static_cast<std::size_t>(digit - '0');
    if (*length <= most) return std::nullopt;
  }
  return Refusal{413, "the request body exceeds " + std::to_string(most) + " bytes"};
}

}  // namespace

RequestReader::RequestReader(const Limits& limits)
    : limits_(limits), scanner_(limits.max_header_bytes) {}

void RequestReader::restart() {
  std::exchange(scanner_, HeadScanner(limits_.max_header_bytes));  // assigned, it keeps its memory
  chunks_.reset();
  body_left_ = 0;
  std::exchange(request_, {});
  head_read_ = refused_ = keep_alive_ = expects_continue_ = false;
}

ReadState RequestReader::refuse(Refusal refusal) {
  refused_ = true;
  refusal_ = std::move(refusal);
  return ReadState::kRefused;
}

ReadState RequestReader::consume(std::string_view input, std::size_t* consumed) {
  *consumed = 0;
  if (refused_) return ReadState::kRefused;
  if (head_read_) return read_body(input, consumed);
  switch (scanner_.feed(input, consumed)) {
    case HeadScanner::State::kMore:
      return ReadState::kNeedMore;
    case HeadScanner::State::kRefused:
      return refuse(scanner_.refusal());
    case HeadScanner::State::kComplete:
      break;
  }
  return read_head();
}

ReadState RequestReader::read_head() {
  head_read_ = true;
  if (auto refusal = parse_head(scanner_.head(), &request_, &keep_alive_)) {
    return refuse(std::move(*refusal));
  }
  if (auto refusal = check_singles(request_)) return refuse(std::move(*refusal));
  if (auto refusal = check_coding(request_)) return refuse(std::move(*refusal));
  if (auto refusal = read_length(request_, limits_.max_body_bytes, &body_left_)) {
    return refuse(std::move(*refusal));
  }
  if (count_headers(request_, "transfer-encoding") != 0) {
    chunks_.emplace(limits_.max_body_bytes, limits_.max_header_bytes);
  }
  if (request_.minor_version == 1 && count_headers(request_, "expect") != 0) {
    if (!equals_ignoring_case(request_.header("expect"), "100-continue")) {
      return refuse({417, "the only supported expectation is 100-continue"});
    }
    expects_continue_ = chunks_.has_value() || body_left_ > 0;
  }
  return ReadState::kHead;
}

ReadState RequestReader::read_body(std::string_view input, std::size_t* consumed) {
  if (!chunks_) {
    const std::string_view part = input.substr(0, body_left_);
    request_.body.append(part);
    *consumed = part.size();
    body_left_ -= part.size();
    return body_left_ == 0 ? ReadState::kComplete : ReadState::kNeedMore;
  }
  switch (chunks_->feed(input, consumed, &request_.body)) {
    case ChunkDecoder::State::kMore:
      return ReadState::kNeedMore;
    case ChunkDecoder::State::kRefused:
      return refuse(chunks_->refusal());
    case ChunkDecoder::State::kComplete:
      break;
  }
  return ReadState::kComplete;
}

}  // namespace tandem::server::http
