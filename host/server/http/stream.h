// SPDX-License-Identifier: Apache-2.0
//
// Stream: the bytes of one connection, over TCP, a Unix socket or TLS.
//
// At most one read and one write are in flight. Handlers run on the socket's executor, a strand;
// all calls must come from it too. The stream must outlive its handlers, so they hold its owner.
// Errors of close() are ignored; operations in flight then end with an error.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>

namespace tandem::server::http {

using Socket = boost::asio::generic::stream_protocol::socket;

class Stream {
 public:
  using ErrorCode = boost::system::error_code;
  using Handler = std::function<void(const ErrorCode&, std::size_t)>;

  virtual ~Stream() = default;

  virtual boost::asio::any_io_executor get_executor() = 0;

  // Call it before the first read. A plain stream does nothing and calls back at once.
  virtual void handshake(std::function<void(const ErrorCode&)> done) = 0;

  // Appends bytes to `into`, which must not move until the handler is called.
  virtual void read_some(std::string& into, Handler done) = 0;
  virtual void write_some(boost::asio::const_buffer data, Handler done) = 0;

  // Whether the peer has closed or will send nothing more, even if earlier bytes are unread.
  virtual bool peer_left() = 0;

  // Tells the peer that no more data follows; reading may continue.
  virtual void finish() = 0;
  virtual void close() = 0;
};

bool peer_left(Socket& socket);

// An idle connection holds no buffer: it waits for bytes and then reads them.
std::unique_ptr<Stream> make_plain_stream(Socket socket);

}  // namespace tandem::server::http
