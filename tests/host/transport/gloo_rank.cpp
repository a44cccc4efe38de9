// SPDX-License-Identifier: Apache-2.0
//
// One rank of gloo_process_test, a process that the test starts, stops and kills.
//
// gloo_rank SCENARIO RANK WORLD STORE STEP_MS SHRINK_MS, where STORE is a directory or host:port of
// a Redis server. Writes a line per event to standard output, unbuffered. Scenarios: `conform` runs
// the conformance checks; `stream` exchanges large messages with everyone until a peer fails, says
// what it was told, and forms the smaller group.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "host/transport/conformance.h"
#include "transport/gloo/gloo.h"

namespace {

using namespace std::chrono;
using tandem::Deadline;
using tandem::transport::ByteBuffer;
using tandem::transport::Outgoing;
using tandem::transport::Payload;
using tandem::transport::Source;
using tandem::transport::Transport;
using tandem::transport::TransportError;

constexpr std::size_t kStreamBytes = std::size_t{6} << 20;

void exchange_with_all(Transport& transport, std::uint32_t tag, Deadline deadline) {
  const Payload payload{ByteBuffer(kStreamBytes, std::byte{7})};
  std::vector<Outgoing> sends;
  std::vector<Source> sources;
  for (int peer = 0; peer < transport.world(); ++peer) {
    if (peer == transport.rank()) continue;
    sends.push_back({peer, payload, tag});
    sources.push_back({peer, tag});
  }
  const auto exchange = transport.start(std::move(sends), std::move(sources));
  while (exchange->next(deadline)) {
  }
  exchange->finish(deadline);
}

void stream(Transport& transport, milliseconds step, milliseconds shrinking) {
  try {
    for (std::uint32_t tag = 0;; ++tag) {
      exchange_with_all(transport, tag, Deadline::after(step));
      if (tag == 2) std::puts("streaming");
    }
  } catch (const TransportError& error) {
    const char* kinds[] = {"timeout", "lost", "aborted", "garbage"};
    std::printf("error %s %d %s\n", kinds[static_cast<int>(error.kind())], error.peer(),
                error.what());
    transport.abort(error.what());
  }
  const auto smaller = transport.shrink(Deadline::after(shrinking));
  tandem::test::Conformance(*smaller).everything(std::size_t{1} << 20);
  std::printf("shrunk %d %d\n", smaller->rank(), smaller->world());
}

}  // namespace

int main(int num_arguments, char** arguments) {
  if (num_arguments != 7) return 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string scenario = arguments[1];
  tandem::transport::gloo::Options options;
  options.rank = std::atoi(arguments[2]);
  options.world = std::atoi(arguments[3]);
  const std::string store = arguments[4];
  options.address = "127.0.0.1";
  const auto colon = store.rfind(':');
  if (colon == std::string::npos) {
    options.store_directory = store;
  } else {
    options.redis_host = store.substr(0, colon);
    options.redis_port = std::atoi(store.c_str() + colon + 1);
  }
  try {
    const auto transport = tandem::transport::gloo::connect(options);
    if (scenario == "conform") {
      tandem::test::Conformance(*transport).everything(std::size_t{2} << 20);
      std::puts("ok");
    } else {
      stream(*transport, milliseconds(std::atoi(arguments[5])),
             milliseconds(std::atoi(arguments[6])));
    }
  } catch (const std::exception& error) {
    std::printf("failed %s\n", error.what());
    return 1;
  }
  return 0;
}
