// SPDX-License-Identifier: Apache-2.0
//
// RequestReader: bytes of a connection -> requests, one after the other, within limits.
//
// Knows no socket, so that tests and the fuzz target can feed it any split of any bytes. The head
// is reported before the body is read, so that a request can be refused (and 100-continue decided)
// without its body. Threads: one thread. Cost: one copy of the body. Source: RFC 9112; the grammar
// is Boost.Beast's parser.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "server/http/limits.h"

namespace tandem::server::http {

enum class ReadState {
  kNeedMore,  // all input that can be used has been consumed
  kHead,      // the head is complete; call consume() again for the body
  kComplete,  // the request is complete; restart() before the next
  kRefused,   // see refusal(); the connection cannot be read any further
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

  // `consumed`: how many bytes of the front of `input` are used up; hand the rest in again.
  ReadState consume(std::string_view input, std::size_t* consumed);
  void restart();

  bool started() const;                                // some byte of the request has been consumed
  const Request& request() const { return request_; }  // valid from kHead; the body from kComplete
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
