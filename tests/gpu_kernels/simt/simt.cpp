// SPDX-License-Identifier: Apache-2.0
//
// Fibers and the scheduler.
//
// A fiber starts by ucontext, once in the program's life, and is switched by _setjmp and _longjmp,
// which cost no system call.
#include "gpu_kernels/simt/simt.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 gridDim, blockDim;

namespace tandem::simt {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;

struct Barrier {
  unsigned members = 0;  // alive
  unsigned arrived = 0;
  std::uint64_t generation = 0;

  void release_if_complete() {
    if (arrived > 0 && arrived == members) {
      arrived = 0;
      ++generation;
    }
  }
};

struct Fiber {
  ucontext_t start;
  jmp_buf place;
  bool started = false;
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  bool done = false;
  const Barrier* waits_for = nullptr;
  std::uint64_t waits_past = 0;
};

struct Warp {
  Barrier barrier;
  std::uint32_t lanes[32];
  LaneWords words[2];  // by the parity of the barrier's generation
};

struct Machine {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Warp> warps;
  Barrier block;
  bool any[2] = {false, false};  // by the parity of the block's generation
  jmp_buf scheduler;
  unsigned current = 0;
  const std::function<void()>* thread = nullptr;
  Order order = Order::kAscending;
  std::mt19937 random{1};
};

Machine& machine() {
  static Machine the_machine;
  return the_machine;
}

void yield(Machine& m, Fiber& fiber) {
  if (_setjmp(fiber.place) == 0) _longjmp(m.scheduler, 1);
}

void resume(Machine& m, Fiber& fiber) {
  if (_setjmp(m.scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.place, 1);
  fiber.started = true;
  setcontext(&fiber.start);
}

// One CUDA thread after another, for ever.
void fiber_main() {
  for (;;) {
    Machine& m = machine();
    const unsigned own = m.current;
    (*m.thread)();
    m.fibers[own]->done = true;
    Barrier& warp = m.warps[own / 32].barrier;
    --warp.members;
    --m.block.members;
    warp.release_if_complete();
    m.block.release_if_complete();
    yield(m, *m.fibers[own]);
  }
}

void wait_at(Barrier& barrier) {
  Machine& m = machine();
  Fiber& fiber = *m.fibers[m.current];
  fiber.waits_for = &barrier;
  fiber.waits_past = barrier.generation;
  ++barrier.arrived;
  barrier.release_if_complete();
  yield(m, fiber);
}

void make_ready(Machine& m, unsigned threads) {
  while (m.fibers.size() < threads) {
    m.fibers.push_back(std::make_unique<Fiber>());
    Fiber& fiber = *m.fibers.back();
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = kStackBytes;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, fiber_main, 0);
  }
  m.warps.assign((threads + 31) / 32, Warp{});
  m.block = Barrier{.members = threads};
  for (unsigned thread = 0; thread < threads; ++thread) {
    ++m.warps[thread / 32].barrier.members;
    Fiber& fiber = *m.fibers[thread];
    fiber.done = false;
    fiber.waits_for = nullptr;
  }
}

// Runs every fiber that can; true when any did.
bool run_once(Machine& m, const std::vector<unsigned>& order) {
  bool any = false;
  for (const unsigned thread : order) {
    Fiber& fiber = *m.fibers[thread];
    if (fiber.done) continue;
    if (fiber.waits_for != nullptr && fiber.waits_for->generation == fiber.waits_past) continue;
    fiber.waits_for = nullptr;
    m.current = thread;
    threadIdx = {thread, 0, 0};
    resume(m, fiber);
    any = true;
  }
  return any;
}

void run_block(Machine& m, unsigned threads) {
  make_ready(m, threads);
  std::vector<unsigned> order(threads);
  std::iota(order.begin(), order.end(), 0u);
  if (m.order == Order::kDescending) std::reverse(order.begin(), order.end());
  while (m.block.members > 0) {
    if (m.order == Order::kShuffled) std::shuffle(order.begin(), order.end(), m.random);
    if (!run_once(m, order)) {
      std::fprintf(stderr, "simt: every thread of block %u waits\n", blockIdx.x);
      std::abort();
    }
  }
}

}  // namespace

void set_order(Order order) { machine().order = order; }
Order order() { return machine().order; }

void block_barrier() { wait_at(machine().block); }

// Two places take turns, as in exchange_words(); the first to arrive clears its own.
bool block_any(bool value) {
  Machine& m = machine();
  bool& any = m.any[m.block.generation % 2];
  any = (m.block.arrived > 0 && any) || value;
  wait_at(m.block);
  return any;
}

void warp_barrier() { wait_at(machine().warps[machine().current / 32].barrier); }

void exchange(std::uint32_t value, std::uint32_t (&lanes)[32]) {
  Warp& warp = machine().warps[machine().current / 32];
  warp.lanes[machine().current % 32] = value;
  warp_barrier();
  std::copy(std::begin(warp.lanes), std::end(warp.lanes), lanes);
  warp_barrier();
}

// Two stores take turns: a lane that is one collective ahead writes the other one, and none is two
// ahead.
const LaneWords& exchange_words(const std::uint32_t* values, unsigned count) {
  Warp& warp = machine().warps[machine().current / 32];
  LaneWords& store = warp.words[warp.barrier.generation % 2];
  std::copy_n(values, count, store.words[machine().current % 32]);
  warp_barrier();
  return store;
}

void run_grid(dim3 grid, unsigned threads, const std::function<void()>& thread) {
  Machine& m = machine();
  m.thread = &thread;
  gridDim = grid;
  blockDim = dim3(threads);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block(m, threads);
      }
    }
  }
}

}  // namespace tandem::simt
