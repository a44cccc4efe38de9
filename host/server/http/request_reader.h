// SPDX-License-Identifier: Apache-2.0
//
// RequestReader: reads requests from the bytes of a connection, one after the other, within limits.
//
// It uses no socket, so tests and the fuzz target can split bytes anywhere. Its results do not
// depend on how the bytes arrive. It reports the head before it reads the body, so a request can be
// refused (and 100-continue decided) without its body. Threads: one. Cost: one copy of the bytes.
// Source: RFC 9112. HeadScanner and ChunkDecoder check the grammar; Boost.Beast's parser lists the
// fields.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/chunk_decoder.h"
#include "server/http/exchange.h"
#include "server/http/head_scanner.h"
#include "server/http/limits.h"
#include "server/http/refusal.h"

namespace tandem::server::http {

enum class ReadState {
  kNeedMore,  // nothing more can be consumed before further input
  kHead,      // the head is complete; call consume() again for the body
  kComplete,  // the request is complete; restart() before the next
  kRefused,   // see refusal(); nothing more can be read from the connection
};

class RequestReader {
 public:
  explicit RequestReader(const Limits& limits);

  // `consumed`: the number of bytes used at the front of `input`; pass the remaining bytes again.
  ReadState consume(std::string_view input, std::size_t* consumed);
  void restart();

  bool started() const {
    return scanner_.started();
  }  // true once a byte of the request is consumed
  const Request& request() const { return request_; }  // valid from kHead; the body from kComplete
  Request& request() { return request_; }
  Request take() { return std::move(request_); }
  const Refusal& refusal() const { return refusal_; }

  // Valid from kHead on.
  bool keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_; }

 private:
  ReadState refuse(Refusal refusal);
  ReadState read_head();
  ReadState read_body(std::string_view input, std::size_t* consumed);

  Limits limits_;
  HeadScanner scanner_;
  std::optional<ChunkDecoder> chunks_;
  std::size_t body_left_ = 0;  // remaining bytes of a body with a length
  Request request_;
  Refusal refusal_;
  bool head_read_ = false;
  bool refused_ = false;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
};

}  // namespace tandem::server::http
