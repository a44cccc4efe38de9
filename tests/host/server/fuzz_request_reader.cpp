// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: bytes of a connection -> HTTP requests. The requests and the refusal do not depend
// on how the bytes are cut into pieces, and stay within the limits.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "server/http/request_reader.h"
#include "support/fuzz_main.h"

namespace {

using tandem::server::http::Header;
using tandem::server::http::Limits;
using tandem::server::http::ReadState;
using tandem::server::http::Request;
using tandem::server::http::RequestReader;

Limits small_limits() {
  Limits limits;
  limits.max_header_bytes = 1024;
  limits.max_body_bytes = 4096;
  return limits;
}

// What the requests in the bytes say, and the refusal, as text.
std::string transcript(std::string_view bytes, std::size_t step) {
  const Limits limits = small_limits();
  RequestReader reader(limits);
  std::string result, input;
  for (std::size_t at = 0; at < bytes.size();) {
    input += bytes.substr(at, step);
    at += std::min(step, bytes.size() - at);
    for (;;) {
      std::size_t consumed = 0;
      const ReadState state = reader.consume(input, &consumed);
      input.erase(0, consumed);
      if (state == ReadState::kNeedMore) break;
      if (state == ReadState::kHead) continue;
      if (state == ReadState::kRefused) {
        if (reader.refusal().status < 400 || reader.refusal().message.empty()) std::abort();
        return result + std::to_string(reader.refusal().status) + reader.refusal().message;
      }
      const Request request = reader.take();
      if (request.body.size() > limits.max_body_bytes) std::abort();
      result += request.method + " " + request.path + "?" + request.query + "\n";
      for (const Header& header : request.headers) {
        result += header.name + "=" + header.value + "\n";
      }
      result += request.body + "\n";
      reader.restart();
    }
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data),
                               std::min<std::size_t>(size, 16384));
  if (bytes.empty()) return 0;
  const std::string whole = transcript(bytes, bytes.size());
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, 1 + bytes.size() / 2}) {
    if (transcript(bytes, step) == whole) continue;
    std::fprintf(stderr,
                 "fuzz: pieces of %zu bytes read differently\n--- whole\n%s\n--- pieces\n%s\n",
                 step, whole.c_str(), transcript(bytes, step).c_str());
    std::abort();
  }
  return 0;
}
