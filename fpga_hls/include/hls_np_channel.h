// SPDX-License-Identifier: Apache-2.0
//
// Channels between one process and several: hls::split and hls::merge, in turn (round_robin) or by
// readiness (load_balance).
//
// A separate task moves the values of a channel. split: `in`, `out[N]`; merge: `in[N]`, `out`.
// load_balance gives a value to the next consumer with room, and takes one from the next producer
// that has any. In a plain program consumers may run one after the other; there it gives the value
// to the next consumer that reads. Source: UG1399, "N-Port Channels in Split and Merge". C++11.
#pragma once

#include "hls_stream.h"
#include "tandem_task.h"

#include "tandem_macros_begin.h"

namespace tandem_hls {

// Waits for a port that is ready at `side`, and returns the first one from `turn` on. For a writer
// in a plain program, a port is ready when its reader waits for a value.
template <typename Stream, int kPorts>
int ready_port(Stream (&ports)[kPorts], int side, int turn) {
  const bool plain = !tandem_channel_await_any;
  if (plain && side == kWriter) side = kAsked;
  Channel* channels[kPorts];
  int sides[kPorts];
  for (int port = 0; port < kPorts; ++port) {
    channels[port] = &ports[port].tandem_channel();
    sides[port] = side;
  }
  while (true) {
    for (int step = 0; step < kPorts; ++step) {
      const int port = (turn + step) % kPorts;
      Channel& channel = *channels[port];
      const bool ready = side == kWriter ? channel.held() < channel.depth + channel.extra.load()
                                         : is_ready(channel, side);
      if (ready) {
        channel.asked.store(0);
        return port;
      }
    }
    await_any(channels, sides, kPorts);
  }
}

// Chooses the next port.
struct ByTurns {
  template <typename Ports>
  static int port(Ports&, int, int turn) {
    return turn;
  }
};
struct ByReadiness {
  template <typename Ports>
  static int port(Ports& ports, int side, int turn) {
    return ready_port(ports, side, turn);
  }
};

template <typename Choice, typename T, int kPorts, int kDepth, int kPortDepth>
class Split {
 public:
  Split() = default;
  explicit Split(const char*) {}
  hls::stream<T, kDepth> in;
  hls::stream<T, kPortDepth> out[kPorts];

 private:
  int turn_ = 0;
  hls::task mover_{[this] {
    const T value = in.read();
    const int port = Choice::port(out, kWriter, turn_);
    out[port].write(value);
    turn_ = (port + 1) % kPorts;
  }};
};

template <typename Choice, typename T, int kPorts, int kDepth, int kPortDepth>
class Merge {
 public:
  Merge() = default;
  explicit Merge(const char*) {}
  hls::stream<T, kPortDepth> in[kPorts];
  hls::stream<T, kDepth> out;

 private:
  int turn_ = 0;
  hls::task mover_{[this] {
    const int port = Choice::port(in, kReader, turn_);
    out.write(in[port].read());
    turn_ = (port + 1) % kPorts;
  }};
};

}  // namespace tandem_hls

namespace hls {
namespace split {

template <typename T, int kPorts, int kDepth = 2, int kPortDepth = 2>
using round_robin = tandem_hls::Split<tandem_hls::ByTurns, T, kPorts, kDepth, kPortDepth>;
template <typename T, int kPorts, int kDepth = 2, int kPortDepth = 2>
using load_balance = tandem_hls::Split<tandem_hls::ByReadiness, T, kPorts, kDepth, kPortDepth>;

}  // namespace split

namespace merge {

template <typename T, int kPorts, int kDepth = 2, int kPortDepth = 2>
using round_robin = tandem_hls::Merge<tandem_hls::ByTurns, T, kPorts, kDepth, kPortDepth>;
template <typename T, int kPorts, int kDepth = 2, int kPortDepth = 2>
using load_balance = tandem_hls::Merge<tandem_hls::ByReadiness, T, kPorts, kDepth, kPortDepth>;

}  // namespace merge
}  // namespace hls

#include "tandem_macros_end.h"
