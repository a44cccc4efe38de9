// SPDX-License-Identifier: Apache-2.0
//
// A deliberately plain HTTP client on a blocking loopback socket, for tests that must control every
// byte. Reads give up (and fail the test by throwing) after a generous while.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/server/json.h"

namespace tandem::test {

struct ClosedByServer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined

  Json json() const { return Json::parse(body); }
};

// A connected socket, of any family, that a client takes over.
struct ConnectedSocket {
  int descriptor;
};

class HttpClient {
 public:
  explicit HttpClient(ConnectedSocket socket);
  // receive_buffer_bytes: 0 leaves the system's choice; small ones make a slow client.
  explicit HttpClient(std::uint16_t port, int receive_buffer_bytes = 0);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(const std::string& bytes);
  // Sends `piece` again and again until the server takes no byte for a while or has `most` bytes;
  // returns how many it took.
  std::size_t flood(const std::string& piece, std::size_t most);
  void finish_sending();
  int descriptor() const { return socket_; }
  void close();

  Reply read_reply(bool head_only = false);
  Reply read_head();  // then read_chunk() until it is empty
  std::string read_chunk();
  bool closed_by_server();  // waits for the end of the connection; false when bytes come

  Reply get(const std::string& path, const std::string& extra_headers = {});
  Reply post(const std::string& path, const std::string& body,
             const std::string& extra_headers = {});
  Reply post(const std::string& path, const Json& body) { return post(path, body.dump()); }

 private:
  std::string read_line();
  std::string read_exactly(std::size_t size);
  bool receive();

  int socket_ = -1;
  std::string input_;
};

std::string get_request(const std::string& path, const std::string& extra_headers = {});
std::string post_request(const std::string& path, const std::string& body,
                         const std::string& extra_headers = {});

// The "data: " payloads of an event stream; fails when there is anything else in it.
std::vector<std::string> sse_payloads(const std::string& body);

// The JSON objects of a stream; it must end with [DONE].
std::vector<Json> sse_objects(const std::string& body);

}  // namespace tandem::test
