// SPDX-License-Identifier: Apache-2.0
//
// The writing half of a connection: answers, streams and the bounded buffer of unsent bytes.
//
// Bytes that come while a write is in flight go out with the next write, so a burst of events costs
// one system call. The stall timer restarts with every byte that the client takes.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <exception>

#include "common/log_event.h"
#include "server/http/connection.h"

namespace tandem::server::http {
namespace asio = boost::asio;

Poster Connection::poster() {
  return [gate = gate_, weak = weak_from_this()](std::function<void()> work) {
    const PostGate::Guard guard = gate->enter();
    if (!guard) return;
    auto self = weak.lock();
    if (!self) return;
    Stream& stream = *self->stream_;
    asio::post(stream.get_executor(), [self = std::move(self), work = std::move(work)] {
      if (self->phase_ == Phase::kClosed) return;
      try {
        work();
      } catch (const std::exception& error) {
        spdlog::error("[server] {}: {}", printable(self->request_.path), printable(error.what()));
        self->close(ExchangeEnd::kFailed);
      }
    });
  };
}

void Connection::respond(Response response) {
  if (phase_ != Phase::kHandling || answer_begun_ || dropped_) return;
  answer_begun_ = true;
  hooks_->finalize(request_, response);
  held_ = std::move(response.held);
  const std::chrono::milliseconds delay = response.delay;
  if (delay > std::chrono::milliseconds(0) && !draining_) {
    return respond_after(delay, std::move(response));
  }
  append_response(std::move(response));
}

void Connection::append_response(Response response) {
  keep_alive_ = keep_alive_ && !draining_;
  output_ += response_head(response, Framing::kLength, keep_alive_);
  if (request_.method != "HEAD" && response.status != 204) append_body(std::move(response.body));
  complete_answer();
}

void Connection::respond_after(std::chrono::milliseconds delay, Response response) {
  pending_.reset();
  auto held_back = std::make_shared<Response>(std::move(response));
  delay_timer_.expires_after(delay);
  delay_timer_.async_wait([self = shared_from_this(), held_back](const ErrorCode& error) {
    if (!error && self->phase_ == Phase::kHandling) self->append_response(std::move(*held_back));
  });
}

// A long body is not copied, so that its memory is not taken twice.
void Connection::append_body(std::string body) {
  if (body.size() <= output_.size() || body.capacity() - body.size() < output_.size()) {
    output_ += body;
  } else {
    body.insert(0, output_);
    output_ = std::move(body);
  }
}

void Connection::begin_stream(Response head) {
  if (phase_ != Phase::kHandling || answer_begun_ || dropped_) return;
  answer_begun_ = true;
  framing_ = request_.minor_version == 0 ? Framing::kUntilClose : Framing::kChunked;
  keep_alive_ = keep_alive_ && !draining_ && framing_ == Framing::kChunked;
  hooks_->finalize(request_, head);
  output_ += response_head(head, framing_, keep_alive_);
  flush();
}

void Connection::write(std::string_view data) {
  if (phase_ != Phase::kHandling || !answer_begun_ || answer_complete_ || dropped_) return;
  if (data.empty()) return;
  if (framing_ == Framing::kChunked) {
    append_chunk(output_, data);
  } else {
    output_ += data;
  }
  // One large piece (an echoed prompt with log-probabilities) does not mean a slow client.
  largest_piece_bytes_ = std::max(largest_piece_bytes_, data.size());
  if (unsent_bytes() > hooks_->limits.max_stream_buffer_bytes + largest_piece_bytes_) {
    spdlog::warn("[server] dropping a client that left {} bytes of its stream unread",
                 unsent_bytes());
    dropped_ = true;
    return close_soon(ExchangeEnd::kClientSlow);
  }
  flush();
}

void Connection::end_stream() {
  if (phase_ != Phase::kHandling || !answer_begun_ || answer_complete_ || dropped_) return;
  if (framing_ == Framing::kChunked) output_ += kLastChunk;
  complete_answer();
}

void Connection::complete_answer() {
  answer_complete_ = true;
  pending_.reset();
  flush();
}

// A request whose head is here already is known, though its body is not complete.
void Connection::report_end(ExchangeEnd end) {
  const Request& request = phase_ == Phase::kReading ? reader_.request() : request_;
  if (hooks_->ended) hooks_->ended(request, answer_bytes_, end);
}

void Connection::finish_exchange() {
  report_end(ExchangeEnd::kComplete);
  if (!keep_alive_ || draining_) return linger();
  begin_request();
}

std::size_t Connection::unsent_bytes() const {
  return output_.size() + in_flight_.size() - sent_bytes_;
}

void Connection::flush() {
  if (write_in_flight_ || phase_ == Phase::kClosed) return;
  if (sent_bytes_ == in_flight_.size()) {
    in_flight_.clear();
    sent_bytes_ = 0;
    in_flight_.swap(output_);
  }
  if (in_flight_.empty()) {
    write_deadline_.clear();
    if (phase_ == Phase::kHandling && answer_complete_) finish_exchange();
    return;
  }
  write_in_flight_ = true;
  write_deadline_.set(hooks_->limits.stall_timeout, [self = shared_from_this()] {
    if (!self->write_in_flight_) return;
    spdlog::warn("[server] dropping a client that takes no bytes");
    self->close(ExchangeEnd::kClientSlow);
  });
  stream_->write_some(
      asio::buffer(in_flight_.data() + sent_bytes_, in_flight_.size() - sent_bytes_),
      [self = shared_from_this()](const ErrorCode& error, std::size_t size) {
        self->on_written(error, size);
      });
}

void Connection::on_written(const ErrorCode& error, std::size_t size) {
  write_in_flight_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error) return close(ExchangeEnd::kClientGone);
  sent_bytes_ += size;
  answer_bytes_ += size;
  flush();
}

}  // namespace tandem::server::http
