// SPDX-License-Identifier: Apache-2.0
//
// The C functions by which kernels call their unit's scheduler (fpga_hls/include/tandem_channel.h,
// and the prefix of rewritten dataflow regions).
//
// A thread without a scheduler, such as one that a kernel started, behaves as a plain program:
// streams wait, calls of a region run in order, and a task is refused.
#include <stdexcept>
#include <thread>

#include "fpga_hls/runtime/scheduler.h"

using tandem::hls_runtime::Region;
using tandem::hls_runtime::Scheduler;
using tandem_hls::Channel;

extern "C" {

#define TANDEM_KERNEL_FUNCTION __attribute__((visibility("default"), used))

TANDEM_KERNEL_FUNCTION std::uint64_t tandem_channel_await_data(Channel* channel) {
  if (Scheduler* unit = Scheduler::current()) return unit->await_data(*channel);
  while (channel->held() == 0) std::this_thread::yield();
  return channel->written.load(std::memory_order_acquire);
}

TANDEM_KERNEL_FUNCTION std::uint64_t tandem_channel_await_space(Channel* channel) {
  if (Scheduler* unit = Scheduler::current()) return unit->await_space(*channel);
  if (channel->depth == 0) return ~std::uint64_t{0};
  while (channel->held() >= channel->depth) std::this_thread::yield();
  return channel->read.load(std::memory_order_acquire) + channel->depth;
}

TANDEM_KERNEL_FUNCTION void tandem_channel_await_any(Channel* const* channels, const int* sides,
                                                     std::size_t count) {
  std::vector<tandem::hls_runtime::Wait> waits;
  for (std::size_t i = 0; i < count; ++i) waits.push_back({channels[i], sides[i]});
  const auto ready = [&waits] {
    for (const auto& wait : waits) {
      if (tandem::hls_runtime::is_ready(wait)) return true;
    }
    return false;
  };
  Scheduler* const unit = Scheduler::current();
  while (!ready()) {
    if (unit != nullptr) {
      unit->await_any(waits);
    } else {
      std::this_thread::yield();
    }
  }
}

TANDEM_KERNEL_FUNCTION void tandem_channel_moved(Channel* channel, int side) {
  if (Scheduler* unit = Scheduler::current()) unit->moved(*channel, side);
}

TANDEM_KERNEL_FUNCTION void tandem_channel_left(Channel* channel) {
  if (Scheduler* unit = Scheduler::current()) unit->left(*channel);
}

TANDEM_KERNEL_FUNCTION void tandem_channel_idle(Channel* channel) {
  if (Scheduler* unit = Scheduler::current()) unit->idle(*channel);
}

TANDEM_KERNEL_FUNCTION std::uint64_t tandem_task_start(const char* name, void (*body)(void*),
                                                       void* argument) {
  Scheduler* const unit = Scheduler::current();
  if (unit == nullptr) throw std::logic_error("a task is started outside a kernel's own thread");
  return unit->start_task(name, body, argument);
}

TANDEM_KERNEL_FUNCTION void tandem_task_drop(std::uint64_t task) {
  if (Scheduler* unit = Scheduler::current()) unit->drop_task(task);
}

TANDEM_KERNEL_FUNCTION void* tandem_region_open() {
  Scheduler* const unit = Scheduler::current();
  return unit == nullptr ? nullptr : unit->open_region();
}

TANDEM_KERNEL_FUNCTION void tandem_region_start(void* region, const char* name, void (*body)(void*),
                                                void* argument) {
  Scheduler::current()->start(static_cast<Region*>(region), name, body, argument);
}

TANDEM_KERNEL_FUNCTION void tandem_region_start_using(void* region, const char* name,
                                                      void (*body)(void*), void* argument,
                                                      const tandem_use* uses, std::size_t count) {
  std::vector<tandem_use> used;
  for (std::size_t i = 0; i < count; ++i) {
    if (uses[i].begin != nullptr) used.push_back(uses[i]);
  }
  Scheduler::current()->start(static_cast<Region*>(region), name, body, argument, std::move(used));
}

TANDEM_KERNEL_FUNCTION void tandem_region_await_turn() {
  if (Scheduler* unit = Scheduler::current()) unit->await_turn();
}

TANDEM_KERNEL_FUNCTION void tandem_region_join(void* region) {
  Scheduler::current()->join(static_cast<Region*>(region));
}

TANDEM_KERNEL_FUNCTION void tandem_region_drop(void* region) {
  delete static_cast<Region*>(region);
}
}
