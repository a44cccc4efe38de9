// SPDX-License-Identifier: Apache-2.0
//
// Exchange: one HTTP request and its answer, as a handler sees it.
//
// A handler calls respond() at once, or keeps a PendingAnswer on the exchange and answers later:
// respond(), or begin_stream(), any number of write(), end_stream(). Nothing here blocks.
// Threads: all calls on the connection's strand, where the handler runs. Any thread may call the
// Poster, which runs work on that strand. Errors: when the client closes or reads too slowly,
// PendingAnswer::abandon() is called once, and later calls on the exchange do nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::server {
class RequestRecord;  // access/request_record.h
}

namespace tandem::server::http {

struct Header {
  std::string name;  // lower case in requests
  std::string value;
};

// The client at the other end of the connection.
struct Peer {
  std::string text;       // its address, without port; empty: a Unix socket
  bool is_local = false;  // on this machine
};

struct Request {
  std::string method;
  std::string path;   // percent-decoded, without query
  std::string query;  // as sent, without '?'
  std::vector<Header> headers;
  std::string body;
  int minor_version = 1;  // of HTTP/1.x
  Peer peer;
  std::shared_ptr<RequestRecord>
      record;  // the server's record of the request, from Hooks::admit on

  // The first header with this (lower-case) name; empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<Header> headers;
  std::string body;
  std::string error;                   // of a refusal: its machine-readable word, for the log
  std::shared_ptr<const void> held;    // destroyed when the client has taken the answer or is gone
  std::chrono::milliseconds delay{0};  // respond() sends the answer after this time
};

// The end of an exchange as the connection sees it.
enum class ExchangeEnd {
  kComplete,      // the client has taken all of the answer
  kClientGone,    // the client closed, or its machine does not answer
  kClientSlow,    // the client left too many bytes unread, or took none for too long
  kServerClosed,  // the server stops, or needs a reserved connection for another client
  kFailed,        // an error of the server in the middle of the answer
};

// Runs work on the connection's strand, in order; drops it when the connection is closed.
using Poster = std::function<void(std::function<void()>)>;

class PendingAnswer {
 public:
  virtual ~PendingAnswer() = default;
  virtual void abandon() = 0;  // the client has closed
  // The server's time is over: end the answer at once with an error. Called on the strand.
  virtual void server_stops() = 0;
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;

  // Moves the body out of the request, for work on another thread.
  virtual std::string take_body() = 0;

  virtual Poster poster() = 0;

  // Keeps the answer until it is complete or abandoned.
  virtual void keep(std::shared_ptr<PendingAnswer> answer) = 0;

  virtual void respond(Response response) = 0;

  // Sends the head at once; ignores the body of `head`. The stream is chunked, or ends with the
  // connection for HTTP/1.0.
  virtual void begin_stream(Response head) = 0;
  virtual void write(std::string_view data) = 0;
  virtual void end_stream() = 0;
};

}  // namespace tandem::server::http
