// SPDX-License-Identifier: Apache-2.0
//
// Bytes as they are on the socket.
#include <poll.h>

#include <array>

#include "server/http/stream.h"

namespace tandem::server::http {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kPieceBytes = 16 * 1024;

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {
    ErrorCode ignored;
    socket_.non_blocking(true, ignored);
  }

  asio::any_io_executor get_executor() override { return socket_.get_executor(); }

  void handshake(std::function<void(const ErrorCode&)> done) override { done({}); }

  void read_some(std::string& into, Handler done) override {
    socket_.async_wait(Socket::wait_read,
                       [this, &into, done = std::move(done)](const ErrorCode& failed) mutable {
                         if (failed) return done(failed, 0);
                         thread_local std::array<char, kPieceBytes> piece;
                         ErrorCode error;
                         const std::size_t size = socket_.read_some(asio::buffer(piece), error);
                         if (error == asio::error::would_block) {
                           return read_some(into, std::move(done));
                         }
                         into.append(piece.data(), size);
                         done(error, size);
                       });
  }

  void write_some(asio::const_buffer data, Handler done) override {
    socket_.async_write_some(data, std::move(done));
  }

  bool peer_left() override { return http::peer_left(socket_); }

  void finish() override {
    ErrorCode ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  void close() override {
    ErrorCode ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
};

}  // namespace

bool peer_left(Socket& socket) {
  pollfd state{socket.native_handle(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) == 1;  // poll() always reports errors and hang-ups
}

std::unique_ptr<Stream> make_plain_stream(Socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace tandem::server::http
