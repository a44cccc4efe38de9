// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: the bytes of a client -> the answers of a connection, over a real socket pair. The
// answers do not depend on how the bytes are cut into pieces, whether handlers answer at once,
// later, or as a stream. One thread; a piece is sent when the connection has nothing left to do.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>

#include "server/http/connection.h"
#include "support/fuzz_main.h"

namespace {

namespace asio = boost::asio;
using namespace tandem::server::http;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

void handle(Exchange& exchange) {
  const Request& request = exchange.request();
  Response response;
  response.body = request.method + " " + request.path + " " + request.body;
  if (request.path.size() % 3 == 0) return exchange.respond(response);
  const Poster post = exchange.poster();
  if (request.path.size() % 3 == 1) {
    return post([post, &exchange, response] {
      post([&exchange, response] { exchange.respond(response); });
    });
  }
  exchange.begin_stream({});
  post([post, &exchange, response] {
    exchange.write(response.body);
    post([&exchange] { exchange.end_stream(); });
  });
}

std::shared_ptr<const Hooks> make_hooks() {
  auto hooks = std::make_shared<Hooks>();
  hooks->limits.max_header_bytes = 1024;
  hooks->limits.max_body_bytes = 4096;
  hooks->admit = [](const Request&) { return std::nullopt; };
  hooks->is_probe = [](const Request&) { return false; };
  hooks->handle = handle;
  hooks->error_response = [](int status, const std::string& message) {
    Response response;
    response.status = status;
    response.body = message;
    return response;
  };
  hooks->finalize = [](const Request&, Response&) {};
  return hooks;
}

// The clock and the moment of "continue" are no part of what a client asked.
std::string without(std::string text, const std::string& begin, const std::string& end) {
  for (std::size_t at; (at = text.find(begin)) != std::string::npos;) {
    text.erase(at, text.find(end, at) + end.size() - at);
  }
  return text;
}

class Client {
 public:
  Client() : hooks_(make_hooks()) {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "socketpair");
    own_ = ends[0];
    Socket socket(io_, asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
    const auto connection = std::make_shared<Connection>(make_plain_stream(std::move(socket)),
                                                         hooks_, std::make_shared<PostGate>(),
                                                         Peer{}, "", [this] { gone_ = true; });
    connection->start();
    exchange_all();
  }
  ~Client() { ::close(own_); }

  void send(std::string_view piece) {
    while (!piece.empty()) {
      const ssize_t size = ::send(own_, piece.data(), piece.size(), MSG_NOSIGNAL);
      exchange_all();
      if (size < 0 && errno != EAGAIN) return;  // the server has closed
      if (size > 0) piece.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  std::string finish() {
    ::shutdown(own_, SHUT_WR);
    exchange_all();
    require(gone_, "a connection outlives its client");
    return without(without(answers_, "Date: ", "\r\n"), "HTTP/1.1 100 Continue", "\r\n\r\n");
  }

 private:
  void exchange_all() {
    for (bool busy = true; busy;) {
      io_.restart();
      busy = io_.poll() > 0;
      char buffer[4096];
      for (ssize_t size; (size = ::recv(own_, buffer, sizeof buffer, 0)) > 0; busy = true) {
        answers_.append(buffer, static_cast<std::size_t>(size));
      }
    }
  }

  std::shared_ptr<const Hooks> hooks_;
  asio::io_context io_;
  int own_ = -1;
  bool gone_ = false;
  std::string answers_;
};

std::string answers(std::string_view bytes, std::size_t step) {
  Client client;
  for (std::size_t at = 0; at < bytes.size(); at += step) client.send(bytes.substr(at, step));
  return client.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data),
                               std::min<std::size_t>(size, 3000));
  if (bytes.empty()) return 0;
  const std::string whole = answers(bytes, bytes.size());
  require(whole.empty() || whole.starts_with("HTTP/1.1 "), "an answer that is not HTTP");
  for (const std::size_t step : {std::size_t{1}, 2 + bytes.size() % 97}) {
    const std::string pieces = answers(bytes, step);
    if (pieces == whole) continue;
    std::fprintf(stderr, "fuzz: pieces of %zu bytes\n--- whole\n%s\n--- pieces\n%s\n", step,
                 whole.c_str(), pieces.c_str());
    std::abort();
  }
  return 0;
}
