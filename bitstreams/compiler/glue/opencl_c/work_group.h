// SPDX-License-Identifier: Apache-2.0
//
// Runs one work-group of an OpenCL C kernel: its work-items in order, with barriers.
//
// Items run one after another on the caller's stack, as in a plain loop. An item that reaches a
// barrier keeps its stack, and a new fiber continues the loop. When every item has started and
// waits or has ended, the waiting ones resume in order. So a kernel without barriers needs no
// switch; with barriers it costs a few dozen nanoseconds per item and barrier. An exception of the
// card ends the group and leaves run() on the caller's stack. C++14. Threads: a library runs one
// group at a time, as a compute unit does.
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_unpoison_memory_region(const volatile void* begin, std::size_t size);
#endif

namespace tandem_opencl {

// Mirrors tandem_cl_group of work_item.h.
struct Group {
  std::uint64_t work_dim;
  std::uint64_t group_id[3];
  std::uint64_t global_offset[3];
  std::uint64_t global_size[3];
  std::uint64_t local_size[3];
  std::uint64_t local_id[3];
};

// The stacks of work-items, each above a gap as large as itself; committed page by page as used.
//
// A process may have 65,530 mappings, and a guard page divides a mapping. So only the gaps below
// the first kGuarded stacks are protected and fault on an overflow; the other gaps only keep an
// overflow away from the next stack. All items run the same code, so an overflow usually happens in
// an early item.
class StackArena {
 public:
  static constexpr std::size_t kBytes = std::size_t{16} << 20;

  StackArena() = default;
  ~StackArena() {
    for (unsigned char* const part : parts_) munmap(part, kPartBytes);
  }
  StackArena(const StackArena&) = delete;
  StackArena& operator=(const StackArena&) = delete;

  // Returns the low end of a new stack.
  void* take() {
    if (taken_ % kStacksPerPart == 0) parts_.push_back(reserve());
    unsigned char* const gap = parts_.back() + taken_ % kStacksPerPart * 2 * kBytes;
    if (taken_ < kGuarded && mprotect(gap, kBytes, PROT_NONE) != 0) throw std::bad_alloc();
    ++taken_;
    return gap + kBytes;
  }

 private:
  static constexpr std::size_t kStacksPerPart = 64;
  static constexpr std::size_t kPartBytes = kStacksPerPart * 2 * kBytes;
  static constexpr std::size_t kGuarded = 256;

  static unsigned char* reserve() {
    void* const part = mmap(nullptr, kPartBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (part == MAP_FAILED) throw std::bad_alloc();
#if defined(__SANITIZE_ADDRESS__)
    // clears marks of earlier frames that never returned
    __asan_unpoison_memory_region(part, kPartBytes);
#endif
    madvise(part, kPartBytes, MADV_NOHUGEPAGE);  // most stacks need a page or two
    return static_cast<unsigned char*>(part);
  }

  std::vector<unsigned char*> parts_;
  std::size_t taken_ = 0;
};

// What a checked copy wants to know of a group; `item` counts from 0.
struct GroupWatch {
  void (*item)(std::uint64_t item);  // it runs from here on
  void (*interval)();                // all items have passed a barrier
  // A barrier at `first` that not all items have reached; `other`: where another one waits, or
  // null.
  void (*uneven)(const void* first, const void* other, std::uint64_t reached, std::uint64_t items);
};

// The execution state of an item, or of the loop over items.
struct Fiber {
  jmp_buf place;
  std::uint64_t item = 0;
  const void* barrier = nullptr;  // the code that waits
  std::uint64_t local_id[3];
  void* stack = nullptr;  // low end of the stack; null: the caller's stack
  bool begun = false;
};

class WorkGroup {
 public:
  using Body = void (*)(void* argument);

  Group group = {};
  const GroupWatch* watch = nullptr;

  // Calls body(argument) once per work-item of `group`.
  void run(Body body, void* argument) {
    if (failed_) forget_all();
    body_ = body;
    argument_ = argument;
    started_ = 0;
    items_ = group.local_size[0] * group.local_size[1] * group.local_size[2];
    running_ = &caller_;
    failed_ = true;  // reset when all items have ended
    run_items();
    while (Fiber* const next = next_waiting()) switch_to(next);
    failed_ = false;
  }

  // `code`: the address that calls it.
  void barrier(const void* code = nullptr) {
    Fiber* const self = running_;
    self->item = item_;
    self->barrier = code;
    std::memcpy(self->local_id, group.local_id, sizeof(group.local_id));
    waiting_.push_back(self);
    Fiber* const next = started_ < items_ ? idle_fiber() : next_waiting();
    if (next != self) switch_to(next);
    std::memcpy(group.local_id, self->local_id, sizeof(group.local_id));
    item_ = self->item;
    if (watch != nullptr) watch->item(item_);
  }

 private:
  // Runs items in order, beginning with the first one that has not started.
  void run_items() {
    while (started_ < items_) {
      const std::uint64_t item = item_ = started_++;
      if (watch != nullptr) watch->item(item);
      group.local_id[0] = item % group.local_size[0];
      group.local_id[1] = item / group.local_size[0] % group.local_size[1];
      group.local_id[2] = item / group.local_size[0] / group.local_size[1];
      body_(argument_);
    }
  }

  // The first item that a barrier has released; releases all waiting ones when there is none.
  Fiber* next_waiting() {
    if (ready_.empty()) release_all();
    if (ready_.empty()) return nullptr;
    Fiber* const next = ready_.front();
    ready_.pop_front();
    return next;
  }

  void release_all() {
    if (watch != nullptr && !waiting_.empty()) {
      look_at_barrier();
      watch->interval();
    }
    ready_.swap(waiting_);
  }

  void look_at_barrier() const {
    const Fiber& first = *waiting_.front();
    const void* other = nullptr;
    for (const Fiber* const fiber : waiting_) {
      if (fiber->barrier != first.barrier) other = fiber->barrier;
    }
    if (other != nullptr || waiting_.size() != items_) {
      watch->uneven(first.barrier, other, waiting_.size(), items_);
    }
  }

  // A fiber that continues the loop over items.
  Fiber* idle_fiber() {
    if (idle_.empty()) {
      fibers_.push_back(std::unique_ptr<Fiber>(new Fiber()));
      fibers_.back()->stack = stacks_.take();
      idle_.push_back(fibers_.back().get());
    }
    Fiber* const fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }

  // Returns when a fiber switches back; on the caller's stack it throws the failure of another
  // fiber.
  void switch_to(Fiber* next) {
    Fiber* const self = running_;
    running_ = next;
    if (_setjmp(self->place) == 0) enter(next);
    if (self == &caller_ && failure_ != nullptr) {
      const std::exception_ptr failure = failure_;
      failure_ = nullptr;
      std::rethrow_exception(failure);
    }
  }

  [[noreturn]] void enter(Fiber* next) {
    if (next->begun || next == &caller_) _longjmp(next->place, 1);
    next->begun = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_link = nullptr;
    context.uc_stack.ss_sp = next->stack;
    context.uc_stack.ss_size = StackArena::kBytes;
    starting() = this;
    makecontext(&context, &WorkGroup::start_fiber, 0);
    setcontext(&context);
    std::terminate();
  }

  static WorkGroup*& starting() {
    static WorkGroup* group = nullptr;
    return group;
  }
  static void start_fiber() { starting()->run_fiber(); }

  [[noreturn]] void run_fiber() {
    for (;;) {
      try {
        run_items();
      } catch (...) {
        // The group ends: only the caller continues.
        failure_ = std::current_exception();
        ready_.clear();
        waiting_.clear();
      }
      idle_.push_back(running_);
      Fiber* const next = next_waiting();
      switch_to(next != nullptr ? next : &caller_);
    }
  }

  // After a failure: the fibers are abandoned and their stacks reused.
  void forget_all() {
    ready_.clear();
    waiting_.clear();
    idle_.clear();
    for (const std::unique_ptr<Fiber>& fiber : fibers_) {
      fiber->begun = false;
      idle_.push_back(fiber.get());
    }
  }

  Body body_ = nullptr;
  void* argument_ = nullptr;
  std::uint64_t started_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t item_ = 0;  // that runs
  Fiber caller_;
  Fiber* running_ = nullptr;
  std::deque<Fiber*> waiting_;
  std::deque<Fiber*> ready_;
  std::vector<Fiber*> idle_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  StackArena stacks_;
  std::exception_ptr failure_;
  bool failed_ = false;
};

inline WorkGroup& work_group() {
  static WorkGroup* const group = new WorkGroup();
  return *group;
}

}  // namespace tandem_opencl
