// SPDX-License-Identifier: Apache-2.0
//
// POSIX sockets only, so that the tests do not share a bug with the server's library.
#include "host/server/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>

namespace tandem::test {
namespace {
constexpr int kPatienceSeconds = 20;
}  // namespace

HttpClient::HttpClient(std::uint16_t port, int receive_buffer_bytes) {
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  if (receive_buffer_bytes > 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof receive_buffer_bytes);
  }
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw ClosedByServer("cannot connect");
  }
}

HttpClient::HttpClient(ConnectedSocket socket) : socket_(socket.descriptor) {
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void HttpClient::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t size = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) throw ClosedByServer("the server closed while we sent");
    sent += static_cast<std::size_t>(size);
  }
}

std::size_t HttpClient::flood(const std::string& piece, std::size_t most) {
  constexpr int kBlockedMs = 500;
  std::size_t sent = 0;
  while (sent < most) {
    pollfd writable{socket_, POLLOUT, 0};
    if (::poll(&writable, 1, kBlockedMs) == 0) break;
    const std::size_t at = sent % piece.size();
    const ssize_t size =
        ::send(socket_, piece.data() + at, piece.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    if (size <= 0) throw ClosedByServer("the server closed while we sent");
    sent += static_cast<std::size_t>(size);
  }
  return sent;
}

void HttpClient::finish_sending() { ::shutdown(socket_, SHUT_WR); }

bool HttpClient::receive() {
  char buffer[4096];
  const ssize_t size = ::recv(socket_, buffer, sizeof buffer, 0);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    throw std::runtime_error("the server is silent");
  }
  if (size <= 0) return false;
  input_.append(buffer, static_cast<std::size_t>(size));
  return true;
}

std::string HttpClient::read_line() {
  std::size_t end;
  while ((end = input_.find("\r\n")) == std::string::npos) {
    if (!receive()) throw ClosedByServer("the server closed in a line");
  }
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 2);
  return line;
}

std::string HttpClient::read_exactly(std::size_t size) {
  while (input_.size() < size) {
    if (!receive()) throw ClosedByServer("the server closed in a body");
  }
  std::string bytes = input_.substr(0, size);
  input_.erase(0, size);
  if (input_.empty()) input_.shrink_to_fit();  // a test counts what idle connections hold
  return bytes;
}

Reply HttpClient::read_head() {
  Reply reply;
  const std::string status_line = read_line();
  if (status_line.rfind("HTTP/1.1 ", 0) != 0) throw std::runtime_error("not HTTP: " + status_line);
  reply.status = std::stoi(status_line.substr(9));
  for (std::string line = read_line(); !line.empty(); line = read_line()) {
    const std::size_t colon = line.find(": ");
    std::string name = line.substr(0, colon);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string& value = reply.headers[name];
    value += (value.empty() ? "" : ", ") + line.substr(colon + 2);  // a header sent twice shows
  }
  return reply;
}

std::string HttpClient::read_chunk() {
  const std::size_t size = std::stoul(read_line(), nullptr, 16);
  std::string data = read_exactly(size);
  if (!read_line().empty()) throw std::runtime_error("a chunk does not end where it says");
  return data;
}

Reply HttpClient::read_reply(bool head_only) {
  Reply reply = read_head();
  if (head_only || reply.status == 204 || reply.status == 100) return reply;
  if (reply.headers.contains("content-length")) {
    reply.body = read_exactly(std::stoul(reply.headers["content-length"]));
  } else if (reply.headers.contains("transfer-encoding")) {
    for (std::string chunk = read_chunk(); !chunk.empty(); chunk = read_chunk())
      reply.body += chunk;
  } else {
    while (receive()) {
    }
    reply.body = std::exchange(input_, {});
  }
  return reply;
}

bool HttpClient::closed_by_server() { return input_.empty() && !receive(); }

Reply HttpClient::get(const std::string& path, const std::string& extra_headers) {
  send(get_request(path, extra_headers));
  return read_reply();
}

Reply HttpClient::post(const std::string& path, const std::string& body,
                       const std::string& extra_headers) {
  send(post_request(path, body, extra_headers));
  return read_reply();
}

std::string get_request(const std::string& path, const std::string& extra_headers) {
  return "GET " + path + " HTTP/1.1\r\nHost: test\r\n" + extra_headers + "\r\n";
}

std::string post_request(const std::string& path, const std::string& body,
                         const std::string& extra_headers) {
  return "POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n" +
         extra_headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::vector<std::string> sse_payloads(const std::string& body) {
  std::vector<std::string> payloads;
  std::size_t at = 0;
  while (at < body.size()) {
    const std::size_t end = body.find("\n\n", at);
    if (end == std::string::npos || body.compare(at, 6, "data: ") != 0) {
      throw std::runtime_error("not an event: " + body.substr(at, 100));
    }
    payloads.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return payloads;
}

std::vector<Json> sse_objects(const std::string& body) {
  std::vector<std::string> payloads = sse_payloads(body);
  if (payloads.empty() || payloads.back() != "[DONE]") throw std::runtime_error("no [DONE]");
  payloads.pop_back();
  std::vector<Json> objects;
  for (const std::string& payload : payloads) objects.push_back(Json::parse(payload));
  return objects;
}

}  // namespace tandem::test
