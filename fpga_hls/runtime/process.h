// SPDX-License-Identifier: Apache-2.0
//
// A process of a kernel: the kernel itself, a call in a dataflow region, or a task.
//
// The kernel's own process runs on its thread's stack, the others on stacks of the pool. A process
// records what it waits for, so that a deadlock can be explained.
#pragma once

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "fpga_hls/include/tandem_channel.h"
#include "fpga_hls/runtime/depth_trial.h"
#include "fpga_hls/runtime/run_findings.h"
#include "fpga_hls/runtime/stack_pool.h"

// Memory that a process uses, and whether the process may write it. begin is null at the end of a
// list.
extern "C" struct tandem_use {
  const void* begin;
  std::size_t bytes;
  int writes;
};

namespace tandem::hls_runtime {

using tandem_hls::Channel;

struct Wait {
  Channel* channel;
  int side;
};

struct Process;

// The processes of one dataflow region during one pass.
struct Region {
  uint32_t live = 0;
};

// The exceptions that a process has thrown or caught. The C++ runtime keeps them per thread, in
// this layout (Itanium C++ ABI, __cxa_eh_globals).
struct Exceptions {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

enum class Blocked { kNo, kChannels, kJoin, kTurn, kForever };

struct Process {
  uint64_t id = 0;
  std::string name;
  Process* parent = nullptr;
  Region* region = nullptr;
  uint32_t live_children = 0;
  bool task = false;
  bool dropped = false;  // a task whose object is destroyed
  Blocked blocked = Blocked::kNo;
  std::vector<Wait> waits;
  const Region* joining = nullptr;
  std::vector<tandem_use> uses;
  std::vector<const Process*> behind;  // processes that must end before this one begins
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
  Stack stack;
  boost::context::fiber context;
  Exceptions exceptions;  // stored here while another process runs
  void* sanitizer = nullptr;
};

// Thrown from the wait of a process whose command has ended, to unwind the process.
struct Stopped {};

// The bound of a channel without a stated depth. The bound of a link is larger: its two units may
// share a processor and then run in turns of milliseconds.
constexpr uint64_t kRoom = 1024;
// The depth of such a channel in a region on hardware (config_dataflow -fifo_depth).
constexpr uint64_t kDefaultDepth = 2;
constexpr uint64_t kLinkRoomBytes = uint64_t{512} << 10;

inline bool is_link(const Channel& channel) { return channel.unit[0] != nullptr; }

inline uint64_t room_of(const Channel& channel) {
  uint64_t room = channel.depth;
  if (room == 0) {
    room = is_link(channel) && channel.element_bytes != 0
               ? std::max(kRoom, kLinkRoomBytes / channel.element_bytes)
               : kRoom;
  }
  return room + channel.extra.load(std::memory_order_relaxed);
}

inline bool is_ready(const Wait& wait) {
  const Channel& channel = *wait.channel;
  return wait.side == tandem_hls::kReader ? channel.held() != 0 : channel.held() < room_of(channel);
}

// A full stream grows when no process can continue, up to this bound.
inline bool can_grow(const Wait& wait) {
  return wait.side == tandem_hls::kWriter && room_of(*wait.channel) < wait.channel->most();
}

// The number of values by which a stream with a stated depth grows one at a time, to show the depth
// that it needs. A stream whose depth is tried always grows one at a time.
constexpr uint64_t kExactGrowth = 1 << 16;

// `exact`: grow by one value, if that can show the depth.
inline uint64_t growth_of(const Channel& channel, bool exact) {
  const uint64_t room = room_of(channel);
  const bool counts = exact && channel.extra.load(std::memory_order_relaxed) < kExactGrowth;
  const bool is_tried = channel.trial == kGrowingTrial || channel.trial == kFixedTrial;
  const bool exactly = channel.depth != 0 && !is_link(channel) && (is_tried || counts);
  return std::min(exactly ? 1 : std::max<uint64_t>(room, 64), channel.most() - room);
}
inline void grow(Channel& channel, bool exact) {
  channel.extra.fetch_add(growth_of(channel, exact));
}

}  // namespace tandem::hls_runtime
