// SPDX-License-Identifier: Apache-2.0
//
// Fibers and the scheduler.
//
// ucontext starts a fiber once per program; _setjmp and _longjmp switch it, without system calls.
#include "gpu_kernels/simt/simt.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "gpu_kernels/simt/barriers.h"

uint3 threadIdx, blockIdx;
dim3 gridDim, blockDim;

namespace tandem::simt {

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
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  bool done = false;
  bool waited = false;  // for the kernel in front
  const Barrier* waits_for = nullptr;
  std::uint64_t waits_past = 0;
  const std::function<bool()>* waits_until = nullptr;
};

struct Warp {
  Barrier barrier;
  std::uint32_t lanes[32];
  LaneWords words[2];  // by the parity of the barrier's generation
};

// What runs a block; one for each kernel in flight.
struct Machine {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Warp> warps;
  Barrier block;
  Barrier named[16];
  Barrier previous;              // what wait_for_previous() waits at
  bool any[2] = {false, false};  // by the parity of the block's generation
  jmp_buf scheduler;
  unsigned current = 0;
  unsigned id = 0;
  dim3 place;  // of the block
  KernelRun* run = nullptr;
  const Kernel* kernel = nullptr;
};

namespace {

Order the_order = Order::kAscending;
std::mt19937 the_random{1};
Machine* running = nullptr;

Machine& machine() { return *running; }

// Machines are kept, for their stacks.
std::vector<std::unique_ptr<Machine>>& spare_machines() {
  static std::vector<std::unique_ptr<Machine>> machines;
  return machines;
}

std::unique_ptr<Machine> take_machine() {
  static unsigned num_machines = 0;
  auto& spare = spare_machines();
  if (spare.empty()) {
    spare.push_back(std::make_unique<Machine>());
    spare.back()->id = num_machines++;
  }
  std::unique_ptr<Machine> taken = std::move(spare.back());
  spare.pop_back();
  return taken;
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
    m.kernel->thread();
    if (!m.fibers[own]->waited) {
      std::fprintf(stderr, "simt: a thread ended without wait_for_previous()\n");
      std::abort();
    }
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
    fiber.done = fiber.waited = false;
    fiber.waits_for = nullptr;
    fiber.waits_until = nullptr;
  }
  std::fill(std::begin(m.named), std::end(m.named), Barrier{});
}

// Runs every fiber that can; true when any did.
bool run_once(Machine& m, const std::vector<unsigned>& order) {
  bool any = false;
  for (const unsigned thread : order) {
    Fiber& fiber = *m.fibers[thread];
    if (fiber.done) continue;
    if (fiber.waits_for != nullptr && fiber.waits_for->generation == fiber.waits_past) continue;
    if (fiber.waits_until != nullptr && !(*fiber.waits_until)()) continue;
    fiber.waits_for = nullptr;
    fiber.waits_until = nullptr;
    m.current = thread;
    threadIdx = {thread, 0, 0};
    resume(m, fiber);
    any = true;
  }
  return any;
}

std::vector<unsigned> order_of_threads(unsigned threads) {
  std::vector<unsigned> order(threads);
  std::iota(order.begin(), order.end(), 0u);
  if (the_order == Order::kDescending) std::reverse(order.begin(), order.end());
  return order;
}

// Runs the block until it has ended or all its threads wait.
void run_as_far_as_possible(Machine& m) {
  running = &m;
  blockIdx = {m.place.x, m.place.y, m.place.z};
  gridDim = m.kernel->grid;
  blockDim = dim3(m.kernel->threads);
  std::vector<unsigned> order = order_of_threads(m.kernel->threads);
  do {
    if (the_order == Order::kShuffled) {
      std::shuffle(order.begin(), order.end(), the_random);
      if (the_random() % 4 == 0) finish_copy();
    }
  } while (m.block.members > 0 && (run_once(m, order) || finish_copy()));
}

void start_block(Machine& m, unsigned block) {
  const dim3& grid = m.kernel->grid;
  m.place = dim3(block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y);
  make_ready(m, m.kernel->threads);
}

void end_block(Machine& m) {
  run_as_far_as_possible(m);
  if (m.block.members > 0) {
    report_barriers();
    std::fprintf(stderr, "simt: every thread of block %u waits\n", m.place.x);
    std::abort();
  }
  forget_barriers();
}

unsigned blocks_of(const Kernel& kernel) { return kernel.grid.x * kernel.grid.y * kernel.grid.z; }

constexpr unsigned kFence = 4;

}  // namespace

void set_order(Order order) { the_order = order; }
Order order() { return the_order; }

KernelRun::KernelRun(const Kernel& kernel)
    : kernel_(kernel),
      shared_((kernel.shared_bytes + sizeof(uint4) - 1) / sizeof(uint4) + kFence,
              uint4{~0u, ~0u, ~0u, ~0u}),
      machine_(take_machine()) {
  machine_->run = this;
  machine_->kernel = &kernel_;
  machine_->previous = Barrier{};
}

KernelRun::~KernelRun() = default;

void KernelRun::begin() {
  const unsigned blocks = blocks_of(kernel_);
  if (the_order == Order::kDescending) early_block_ = blocks - 1;
  if (the_order == Order::kShuffled) early_block_ = the_random() % blocks;
  has_begun_ = true;
  start_block(*machine_, early_block_);
  run_as_far_as_possible(*machine_);
}

void KernelRun::finish() {
  ++machine_->previous.generation;
  if (has_begun_) end_block(*machine_);
  for (unsigned block = 0; block < blocks_of(kernel_); ++block) {
    if (has_begun_ && block == early_block_) continue;
    start_block(*machine_, block);
    end_block(*machine_);
  }
  for (std::size_t i = shared_.size() - kFence; i < shared_.size(); ++i) {
    if (shared_[i].x != ~0u) std::abort();
  }
  spare_machines().push_back(std::move(machine_));
}

void wait_for_previous() {
  Machine& m = machine();
  Fiber& fiber = *m.fibers[m.current];
  fiber.waited = true;
  if (m.previous.generation > 0) return;
  fiber.waits_for = &m.previous;
  fiber.waits_past = 0;
  yield(m, fiber);
}

unsigned char* block_shared_memory() { return machine().run->shared(); }
std::size_t block_shared_bytes() { return machine().run->shared_bytes(); }
unsigned machine_id() { return machine().id; }

void block_barrier() { wait_at(machine().block); }

void named_barrier(unsigned id, unsigned threads) {
  Barrier& barrier = machine().named[id];
  if (barrier.arrived > 0 && barrier.members != threads) {
    std::fprintf(stderr, "simt: threads disagree about who waits at barrier %u\n", id);
    std::abort();
  }
  barrier.members = threads;
  wait_at(barrier);
}

void wait_until(const std::function<bool()>& holds) {
  Machine& m = machine();
  if (holds()) return;
  Fiber& fiber = *m.fibers[m.current];
  fiber.waits_until = &holds;
  yield(m, fiber);
}

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

}  // namespace tandem::simt
