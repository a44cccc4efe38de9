// SPDX-License-Identifier: Apache-2.0
//
// RequestReader: the bytes of a connection -> requests, one after the other, within limits.
//
// It knows no socket, so that tests and the fuzz target can split bytes anywhere. It reports the
// head before it reads the body, so that a request can be refused (and 100-continue decided)
// without its body. Threads: one. Cost: one copy of the body. Source: RFC 9112; the grammar is
// Boost.Beast's parser.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "server/http/limits.h"

namespace tandem::server::http {

enum class ReadState {
  kNeedMore,  // nothing more can be consumed before further input
  kHead,      // the head is complete; call consume() again for the body
  kComplete,  // the request is complete; restart() before the next
  kRefused,   // see refusal(); nothing more can be read from the connection
};

struct Refusal {
  int status = 400;
  std::string message;
};

class RequestReader {
 public:
  explicit RequestReader(const Limits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // `consumed`: how many bytes at the front of `input` were used; pass the others again.
  ReadState consume(std::string_view input, std::size_t* consumed);
  void restart();

  bool started() const;                                // some byte of the request has been consumed
  const Request& request() const { return request_; }  // valid from kHead; the body from kComplete
  Request& request() { return request_; }
  Request take() { return std::move(request_); }
  const Refusal& refusal() const { return refusal_; }

  // From kHead on.
  bool keep_alive() const;
  bool expects_continue() const { return expects_continue_; }

 private:
  struct Parser;

  ReadState refuse(int status, std::string message);
  ReadState read_head();

  Limits limits_;
  std::unique_ptr<Parser> parser_;
  Request request_;
  Refusal refusal_;
  bool head_read_ = false;
  bool refused_ = false;
  bool started_ = false;
  bool expects_continue_ = false;
};

}  // namespace tandem::server::http
