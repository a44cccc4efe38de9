// SPDX-License-Identifier: Apache-2.0
//
// Connection: one client's stream. It reads requests, handles one at a time and sends the answers.
//
// Phases: handshake -> idle -> reading -> handling -> (idle | lingering | closed). While it handles
// a request it continues to read, up to max_header_bytes, and keeps the bytes for the next
// (pipelined) request. End of file means that the client has closed, and its answer is abandoned. A
// client that waits for an answer must therefore not shut down its sending side. Unsent bytes are
// limited. A client that takes no byte for stall_timeout, or reaches the limit, is dropped.
// Threads: start, drain, end_exchange, abort and poster from any thread; all else on the socket's
// strand. Ownership: pending socket operations and a handled request keep the connection alive.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/http/exchange.h"
#include "server/http/limits.h"
#include "server/http/moving_deadline.h"
#include "server/http/post_gate.h"
#include "server/http/request_reader.h"
#include "server/http/stream.h"
#include "server/http/wire.h"

namespace tandem::server::http {

// What a server does with requests; shared by all of its connections, immutable.
struct Hooks {
  Limits limits;
  // Gets the head before the body is read. If it returns an answer, the request is refused.
  std::function<std::optional<Response>(Request&)> admit;
  // Whether the request is a probe (asks if the server is alive). Probes are also answered on
  // reserved connections.
  std::function<bool(const Request&)> is_probe;
  std::function<void(Exchange&)> handle;
  // The answer for an error of the server (malformed HTTP, a limit, an exception of a handler).
  std::function<Response(int status, const std::string& message)> error_response;
  // Gets every answer before its head is sent; may add headers.
  std::function<void(Request&, Response&)> finalize;
  // Called when the exchange is over. May be called twice; the first call counts.
  std::function<void(const Request&, std::uint64_t sent_bytes, ExchangeEnd)> ended;
  std::function<void()> opened, closed;  // a connection
};

class Connection final : public Exchange, public std::enable_shared_from_this<Connection> {
 public:
  // `turned_away`: not empty if only probes are answered; other requests get 503 with this text.
  // The connection then closes after its first answer.
  Connection(std::unique_ptr<Stream> stream, std::shared_ptr<const Hooks> hooks,
             std::shared_ptr<PostGate> gate, Peer peer, std::string turned_away,
             std::function<void()> on_destroyed);
  ~Connection() override;

  void start();
  void drain();         // close when the exchange in progress, if any, is done
  void end_exchange();  // as drain(), and the exchange in progress is answered with an error now
  void abort();         // close now; the exchange ends as kServerClosed

  const Request& request() const override { return request_; }
  std::string take_body() override { return std::exchange(request_.body, {}); }
  Poster poster() override;
  void keep(std::shared_ptr<PendingAnswer> answer) override { pending_ = std::move(answer); }
  void respond(Response response) override;
  void begin_stream(Response head) override;
  void write(std::string_view data) override;
  void end_stream() override;

 private:
  enum class Phase { kHandshake, kIdle, kReading, kHandling, kLingering, kClosed };
  using ErrorCode = boost::system::error_code;

  void begin_handling();
  void on_handshake(const ErrorCode& error);
  void begin_request();
  void process_input();
  bool on_head();  // false when the request has been refused
  void on_complete();
  void refuse(Response response, bool may_keep_alive);
  void append_response(Response response);
  void respond_after(std::chrono::milliseconds delay, Response response);
  void complete_answer();
  void finish_exchange();
  void report_end(ExchangeEnd end);
  void append_body(std::string body);
  void release_buffers();

  void read_more();
  void on_read(const ErrorCode& error);
  void on_end_of_input();
  std::chrono::milliseconds idle_timeout() const;
  void arm_read_timer(std::chrono::milliseconds timeout);
  void on_read_timeout();

  void flush();
  void on_written(const ErrorCode& error, std::size_t size);
  std::size_t unsent_bytes() const;

  void linger();
  void close(ExchangeEnd end);
  void close_soon(ExchangeEnd end);  // from any thread, and from inside a handler's call

  std::unique_ptr<Stream> stream_;
  std::shared_ptr<const Hooks> hooks_;
  std::shared_ptr<PostGate> gate_;
  const Peer peer_;
  const std::string turned_away_;
  std::function<void()> on_destroyed_;
  RequestReader reader_;
  MovingDeadline read_deadline_, write_deadline_;
  boost::asio::steady_timer delay_timer_;

  Phase phase_ = Phase::kHandshake;
  bool is_new_ = true;  // nothing has been answered yet
  bool draining_ = false;
  bool end_of_input_ = false;

  std::string input_;  // bytes received but not yet consumed
  bool read_in_flight_ = false;

  // Keeps the object alive while it handles a request: nothing is pending while the input buffer is
  // full.
  std::shared_ptr<Connection> self_;
  Request request_;
  std::shared_ptr<PendingAnswer> pending_;
  std::shared_ptr<const void> held_;  // kept for the answer
  Framing framing_ = Framing::kLength;
  bool keep_alive_ = true;
  bool answer_begun_ = false;
  bool answer_complete_ = false;

  std::string output_;     // to be sent after in_flight_
  std::string in_flight_;  // being sent
  std::size_t sent_bytes_ = 0;
  std::uint64_t answer_bytes_ = 0;  // bytes of this exchange that the client has taken
  bool write_in_flight_ = false;
  std::size_t largest_piece_bytes_ = 0;  // of the stream
  bool dropped_ = false;
};

}  // namespace tandem::server::http
