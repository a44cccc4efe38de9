// SPDX-License-Identifier: Apache-2.0
//
// The reading half and the phases of a connection; answers are in connection_answer.cpp.
//
// At most one read and one write are in flight.
#include "server/http/connection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "common/log_event.h"

namespace tandem::server::http {
namespace asio = boost::asio;

namespace {
constexpr std::chrono::milliseconds kReservedPatience{2'000};  // of a reserved connection
// Between two checks whether a client whose input is not read has gone.
constexpr std::chrono::milliseconds kUnreadPause{500};
}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, std::shared_ptr<const Hooks> hooks,
                       std::shared_ptr<PostGate> gate, Peer peer, std::string turned_away,
                       std::function<void()> on_destroyed)
    : stream_(std::move(stream)),
      hooks_(std::move(hooks)),
      gate_(std::move(gate)),
      peer_(std::move(peer)),
      turned_away_(std::move(turned_away)),
      on_destroyed_(std::move(on_destroyed)),
      reader_(hooks_->limits),
      read_deadline_(stream_->get_executor()),
      write_deadline_(stream_->get_executor()),
      delay_timer_(stream_->get_executor()) {}

Connection::~Connection() { on_destroyed_(); }

void Connection::start() {
  asio::dispatch(stream_->get_executor(), [self = shared_from_this()] {
    if (self->phase_ == Phase::kClosed) return;
    self->arm_read_timer(self->idle_timeout());
    self->stream_->handshake([self](const ErrorCode& error) { self->on_handshake(error); });
  });
}

void Connection::on_handshake(const ErrorCode& error) {
  if (phase_ == Phase::kClosed) return;
  if (error) {
    spdlog::debug("[server] TLS handshake: {}", error.message());
    return close(ExchangeEnd::kClientGone);
  }
  begin_request();
}

void Connection::drain() {
  asio::post(stream_->get_executor(), [self = shared_from_this()] {
    self->draining_ = true;
    if (self->phase_ <= Phase::kIdle) self->close(ExchangeEnd::kServerClosed);
  });
}

void Connection::end_exchange() {
  asio::post(stream_->get_executor(), [self = shared_from_this()] {
    self->draining_ = true;
    if (self->phase_ <= Phase::kIdle) return self->close(ExchangeEnd::kServerClosed);
    if (self->phase_ == Phase::kReading) {
      return self->refuse(self->hooks_->error_response(503, "the server is stopping"), false);
    }
    if (const auto pending = self->pending_) pending->server_stops();
  });
}

void Connection::abort() { close_soon(ExchangeEnd::kServerClosed); }

std::chrono::milliseconds Connection::idle_timeout() const {
  const Limits& limits = hooks_->limits;
  if (!is_new_) return limits.idle_timeout;
  const auto patience = std::min(limits.first_byte_timeout, limits.idle_timeout);
  return turned_away_.empty() ? patience : std::min(patience, kReservedPatience);
}

void Connection::begin_handling() {
  is_new_ = false;
  phase_ = Phase::kHandling;
  self_ = shared_from_this();
  read_deadline_.clear();
}

// A string that is emptied or assigned an empty one keeps its memory; one that is moved out does
// not.
void Connection::release_buffers() {
  std::exchange(request_, {});
  std::exchange(output_, {});
  std::exchange(in_flight_, {});
  sent_bytes_ = 0;
  if (input_.empty()) std::exchange(input_, {});
}

void Connection::begin_request() {
  phase_ = Phase::kIdle;
  const auto self = std::exchange(self_, nullptr);
  reader_.restart();
  release_buffers();
  pending_.reset();
  held_.reset();
  framing_ = Framing::kLength;
  keep_alive_ = true;
  answer_begun_ = answer_complete_ = false;
  largest_piece_bytes_ = 0;
  answer_bytes_ = 0;
  if (end_of_input_ && input_.empty()) return close(ExchangeEnd::kClientGone);
  arm_read_timer(idle_timeout());
  if (input_.empty()) {
    read_more();
  } else {
    process_input();
  }
}

void Connection::process_input() {
  std::size_t consumed = 0;
  for (;;) {
    const ReadState state = reader_.consume(input_, &consumed);
    input_.erase(0, consumed);
    if (phase_ == Phase::kIdle && reader_.started()) {
      phase_ = Phase::kReading;
      arm_read_timer(hooks_->limits.read_timeout);
    }
    if (state == ReadState::kComplete) return on_complete();
    if (state == ReadState::kHead && on_head()) continue;
    if (state == ReadState::kHead) return;
    if (state == ReadState::kRefused) {
      const Refusal& refusal = reader_.refusal();
      return refuse(hooks_->error_response(refusal.status, refusal.message), false);
    }
    return end_of_input_ ? close(ExchangeEnd::kClientGone) : read_more();
  }
}

bool Connection::on_head() {
  std::optional<Response> refusal;
  reader_.request().peer = peer_;
  if (!turned_away_.empty() && !hooks_->is_probe(reader_.request())) {
    refusal = hooks_->error_response(503, turned_away_);
  } else {
    refusal = hooks_->admit(reader_.request());
  }
  if (!refusal) {
    if (reader_.expects_continue() && input_.empty()) {
      output_ += "HTTP/1.1 100 Continue\r\n\r\n";
      flush();
    }
    return true;
  }
  // The connection stays open only if the whole body is here already: it is skipped.
  std::size_t consumed = 0;
  const bool complete = reader_.consume(input_, &consumed) == ReadState::kComplete;
  input_.erase(0, consumed);
  refuse(std::move(*refusal), complete);
  return false;
}

void Connection::refuse(Response response, bool may_keep_alive) {
  begin_handling();
  keep_alive_ = may_keep_alive && reader_.keep_alive() && turned_away_.empty();
  request_ = reader_.take();
  request_.peer = peer_;
  respond(std::move(response));
}

void Connection::on_complete() {
  begin_handling();
  keep_alive_ = reader_.keep_alive() && turned_away_.empty();
  request_ = reader_.take();
  try {
    hooks_->handle(*this);
  } catch (const std::exception& error) {
    spdlog::error("[server] {} {}: {}", request_.method, printable(request_.path),
                  printable(error.what()));
    if (answer_begun_) return close(ExchangeEnd::kFailed);
    respond(hooks_->error_response(500, "the server failed to handle this request"));
  }
  read_more();
}

void Connection::read_more() {
  if (read_in_flight_ || phase_ == Phase::kClosed || end_of_input_) return;
  if (phase_ == Phase::kHandling && input_.size() >= hooks_->limits.max_header_bytes) {
    return arm_read_timer(kUnreadPause);
  }
  read_in_flight_ = true;
  stream_->read_some(input_, [self = shared_from_this()](const ErrorCode& error, std::size_t) {
    self->on_read(error);
  });
}

void Connection::on_read(const ErrorCode& error) {
  read_in_flight_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error == asio::error::eof) return on_end_of_input();
  if (error) return close(ExchangeEnd::kClientGone);
  if (phase_ == Phase::kLingering) {
    input_.clear();
    return read_more();
  }
  if (phase_ == Phase::kHandling) return read_more();
  process_input();
}

void Connection::on_end_of_input() {
  end_of_input_ = true;
  // A complete answer is still sent.
  if (phase_ == Phase::kHandling && answer_complete_) return;
  close(ExchangeEnd::kClientGone);
}

void Connection::arm_read_timer(std::chrono::milliseconds timeout) {
  read_deadline_.set(timeout, [self = shared_from_this()] { self->on_read_timeout(); });
}

void Connection::on_read_timeout() {
  if (phase_ == Phase::kReading) {
    refuse(hooks_->error_response(408, "the request did not arrive in time"), false);
  } else if (phase_ != Phase::kHandling || (!answer_complete_ && stream_->peer_left())) {
    close(ExchangeEnd::kClientGone);
  } else {
    read_more();
  }
}

void Connection::linger() {
  // A close with unread input resets the connection, and the client may lose the answer.
  phase_ = Phase::kLingering;
  const auto self = std::exchange(self_, nullptr);
  held_.reset();
  input_.clear();
  stream_->finish();
  if (end_of_input_) return close(ExchangeEnd::kComplete);
  arm_read_timer(hooks_->limits.linger_timeout);
  read_more();
}

void Connection::close(ExchangeEnd end) {
  if (phase_ == Phase::kClosed) return;
  report_end(end);
  phase_ = Phase::kClosed;
  const auto self = std::exchange(self_, nullptr);
  stream_->close();
  read_deadline_.close();
  write_deadline_.close();
  delay_timer_.cancel();
  held_.reset();
  if (const auto pending = std::exchange(pending_, nullptr)) pending->abandon();
}

void Connection::close_soon(ExchangeEnd end) {
  asio::post(stream_->get_executor(), [self = shared_from_this(), end] { self->close(end); });
}

}  // namespace tandem::server::http
