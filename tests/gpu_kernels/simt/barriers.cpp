// SPDX-License-Identifier: Apache-2.0
//
// Barriers by address, and copies on their way, of the blocks in flight.
#include "gpu_kernels/simt/barriers.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "gpu_kernels/simt/simt.h"

namespace tandem::simt {
namespace {

constexpr std::int64_t kMostBytes = (1 << 20) - 1;  // that a phase can count

struct BarrierState {
  unsigned count = 0, arrived = 0;
  std::int64_t bytes = 0;  // expected and not come; negative: come before they were expected
  std::uint64_t phase = 0;
  unsigned owner = 0;
  bool is_published = false;
};

struct Copy {
  const void* barrier;
  std::size_t bytes;
  std::function<void()> write;
};

struct BlockBarriers {
  std::map<const void*, BarrierState> barriers;
  std::vector<Copy> copies;
};

std::mt19937 the_random{7};

BlockBarriers& own() {
  static std::map<unsigned, BlockBarriers> of_machines;
  return of_machines[machine_id()];
}

BarrierState& state_of(const void* barrier) {
  const auto found = own().barriers.find(barrier);
  if (found == own().barriers.end()) fail_copy("a barrier is used before init_barrier()");
  return found->second;
}

void end_phase_if_complete(BarrierState& state) {
  if (state.arrived < state.count || state.bytes != 0) return;
  state.arrived = 0;
  ++state.phase;
}

void let_arrive(std::size_t index) {
  std::vector<Copy>& copies = own().copies;
  const Copy copy = std::move(copies[index]);
  copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(index));
  copy.write();
  BarrierState& state = state_of(copy.barrier);
  state.bytes -= static_cast<std::int64_t>(copy.bytes);
  end_phase_if_complete(state);
}

}  // namespace

void fail_copy(const char* reason) {
  std::fprintf(stderr, "simt: %s (thread %u of block %u)\n", reason, threadIdx.x, blockIdx.x);
  std::abort();
}

void init_barrier(const void* barrier, unsigned count) {
  if (reinterpret_cast<std::uintptr_t>(barrier) % 8 != 0) fail_copy("a barrier is not aligned");
  if (count == 0 || count >= (1u << 20)) fail_copy("a barrier's count is out of range");
  BarrierState state;
  state.count = count;
  state.owner = threadIdx.x;
  if (!own().barriers.emplace(barrier, state).second) fail_copy("a barrier is made twice");
}

void publish_barriers() {
  for (auto& [barrier, state] : own().barriers) {
    if (state.owner == threadIdx.x) state.is_published = true;
  }
}

void arrive(const void* barrier, std::size_t expected_bytes) {
  BarrierState& state = state_of(barrier);
  if (state.arrived == state.count) fail_copy("more arrivals at a barrier than it counts");
  state.bytes += static_cast<std::int64_t>(expected_bytes);
  if (state.bytes > kMostBytes) fail_copy("a barrier cannot count so many bytes");
  ++state.arrived;
  end_phase_if_complete(state);
}

void wait_phase(const void* barrier, unsigned parity) {
  if (parity > 1) fail_copy("a parity is 0 or 1");
  const BarrierState& state = state_of(barrier);
  wait_until([&state, parity] { return state.phase % 2 != parity; });
}

void start_copy(const void* barrier, std::size_t bytes, std::function<void()> write) {
  if (!state_of(barrier).is_published) fail_copy("a copy's barrier was never published");
  own().copies.push_back({barrier, bytes, std::move(write)});
  if (order() == Order::kShuffled && the_random() % 4 == 0) let_arrive(own().copies.size() - 1);
}

bool finish_copy() {
  const std::size_t count = own().copies.size();
  if (count == 0) return false;
  let_arrive(order() == Order::kAscending    ? 0
             : order() == Order::kDescending ? count - 1
                                             : the_random() % count);
  return true;
}

void report_barriers() {
  for (const auto& [barrier, state] : own().barriers) {
    std::fprintf(stderr, "simt: barrier %p, phase %llu: %u arrivals of %u, %lld bytes to come\n",
                 barrier, static_cast<unsigned long long>(state.phase), state.arrived, state.count,
                 static_cast<long long>(state.bytes));
  }
}

void forget_barriers() {
  if (!own().copies.empty()) fail_copy("a block ends while copies are on their way");
  own().barriers.clear();
}

}  // namespace tandem::simt
