// SPDX-License-Identifier: Apache-2.0
//
// Processes of one unit: order, feedback, bounds, deadlocks, stopping.
#include "fpga_hls/runtime/scheduler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "hls_stream.h"
#include "unit.h"

namespace tandem::hls_runtime_test {
namespace {

void produce(hls::stream<int>& out, int count) {
  for (int i = 0; i < count; ++i) out.write(i);
}
void increment(hls::stream<int>& in, hls::stream<int>& out, int count) {
  for (int i = 0; i < count; ++i) out.write(in.read() + 1);
}
void collect(hls::stream<int>& in, std::vector<int>& values, int count) {
  for (int i = 0; i < count; ++i) values.push_back(in.read());
}

TEST(Process, RunsAtItsPlaceInTheText) {
  std::vector<int> order;
  Unit unit;
  const Outcome outcome = unit.run([&] {
    Region region;
    int scalar = 0;
    region.start("first", [&] { order.push_back(scalar = 1); });
    order.push_back(2);
    region.start("second", [&] { order.push_back(scalar + 2); });
    region.join();
    order.push_back(4);
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
}

// As sequential C does, whatever the stream's depth.
TEST(Process, EndsBeforeTheNextStartsWhenNothingHoldsIt) {
  Unit unit;
  std::vector<int> values;
  int count = 0;
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream<int, 2> narrow("narrow");
    region.start("writer", [&] {
      produce(narrow, 5000);
      count = 5000;
    });
    region.start("reader", [&] { collect(narrow, values, count); });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(values.size(), 5000u);
}

TEST(Process, MayReadBeforeItsWriterStarts) {
  for (int pass = 0; pass < 3; ++pass) {
    Unit unit;
    std::vector<int> values;
    const Outcome outcome = unit.run([&] {
      Region region;
      hls::stream<int, 2> a("a"), b("b");
      region.start("collect", [&] { collect(b, values, 1000); });
      region.start("increment", [&] { increment(a, b, 1000); });
      region.start("produce", [&] { produce(a, 1000); });
      region.join();
    });
    EXPECT_EQ(outcome.end, End::kDone);
    ASSERT_EQ(values.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], i + 1);
  }
}

TEST(Process, WaitsForAReaderThatRunsBeforeItExceedsTheDepth) {
  Unit unit;
  size_t most = 0;
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream<int, 3> narrow("narrow");
    region.start("reader", [&] {
      for (int i = 0; i < 100; ++i) {
        (void)narrow.read();
        most = std::max(most, narrow.size());
      }
    });
    region.start("writer", [&] { produce(narrow, 100); });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_LE(most, 3u);
}

TEST(Process, MayFeedAnEarlierOne) {
  Unit unit;
  int last = 0;
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream<int, 2> forth("forth"), back("back");
    region.start("control", [&] {
      int value = 0;
      for (int i = 0; i < 10000; ++i) {
        forth.write(value);
        value = back.read();
      }
      last = value;
    });
    region.start("worker", [&] { increment(forth, back, 10000); });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(last, 10000);
}

TEST(Process, MayPollAnotherOne) {
  Unit unit;
  int sum = 0, polls = 0;
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream<int, 2> a("a");
    region.start("poller", [&] {
      for (int received = 0; received < 100; ++polls) {
        int value;
        if (!a.read_nb(value)) continue;
        sum += value;
        ++received;
      }
    });
    region.start("writer", [&] {
      for (int i = 0; i < 100;) {
        if (a.write_nb(i)) ++i;
      }
    });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(sum, 4950);
}

TEST(Process, MayOpenRegionsOfItsOwn) {
  Unit unit;
  std::vector<int> values;
  const Outcome outcome = unit.run([&] {
    Region outer;
    hls::stream<int, 2> a("a"), c("c");
    outer.start("collect", [&] { collect(c, values, 300); });
    outer.start("inner", [&] {
      Region inner;
      hls::stream<int, 2> b("b");
      inner.start("second", [&] { increment(b, c, 300); });
      inner.start("first", [&] { increment(a, b, 300); });
      inner.join();
    });
    outer.start("produce", [&] { produce(a, 300); });
    outer.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  ASSERT_EQ(values.size(), 300u);
  EXPECT_EQ(values.back(), 301);
}

TEST(Process, IsOneOfManyHundreds) {
  Unit unit;
  constexpr int kStages = 700;
  std::vector<int> values;
  const Outcome outcome = unit.run([&] {
    Region region;
    std::vector<std::unique_ptr<hls::stream<int>>> streams;
    for (int i = 0; i <= kStages; ++i) streams.push_back(std::make_unique<hls::stream<int>>());
    region.start("collect", [&] { collect(*streams[kStages], values, 20); });
    for (int i = kStages; i-- > 0;) {
      hls::stream<int>&in = *streams[static_cast<size_t>(i)],
      &out = *streams[static_cast<size_t>(i + 1)];
      region.start("stage", [&in, &out] { increment(in, out, 20); });
    }
    region.start("produce", [&] { produce(*streams[0], 20); });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  ASSERT_EQ(values.size(), 20u);
  EXPECT_EQ(values[3], 3 + kStages);
}

TEST(Process, HasAStackForLargeLocalArrays) {
  Unit unit;
  int sum = 0;
  const Outcome outcome = unit.run([&] {
    Region region;
    region.start("large", [&] {
      volatile char memory[32 << 20];
      for (size_t at = 0; at < sizeof(memory); at += 4096) memory[at] = 1;
      for (size_t at = 0; at < sizeof(memory); at += 4096) sum += memory[at];
    });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(sum, 8192);
}

TEST(Deadlock, NamesProcessesAndStreams) {
  Unit unit;
  bool unwound = false;
  struct Mark {
    bool& set;
    ~Mark() { set = true; }
  };
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream<int> a("ping"), b("pong");
    region.start("left", [&] {
      const Mark mark{unwound};
      increment(a, b, 1);
    });
    region.start("right", [&] { increment(b, a, 1); });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDeadlock);
  EXPECT_NE(outcome.message.find("process 'left' waits for data in stream 'ping'"),
            std::string::npos)
      << outcome.message;
  EXPECT_NE(outcome.message.find("process 'right' waits for data in stream 'pong'"),
            std::string::npos);
  EXPECT_TRUE(unwound);
}

TEST(Deadlock, LeavesTheUnitUsable) {
  Unit unit;
  std::vector<int> values;
  int call = 0;
  const auto kernel = [&] {
    hls::stream<int> a("a");
    if (call++ == 1) (void)a.read();
    Region region;
    region.start("produce", [&] { produce(a, 10); });
    region.start("collect", [&] { collect(a, values, 10); });
    region.join();
  };
  EXPECT_EQ(unit.run(kernel).end, End::kDone);
  EXPECT_EQ(unit.run(kernel).end, End::kDeadlock);
  EXPECT_EQ(unit.run(kernel).end, End::kDone);
  EXPECT_EQ(values.size(), 20u);
}

// Two writers that fill their streams in an order the reader does not follow: the second grows.
TEST(Deadlock, IsNoneWhenAFullStreamCanGrow) {
  Unit unit;
  int sum = 0;
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream<int, 2> a("a"), b("b"), go("go");
    region.start("reader", [&] {
      (void)go.read();
      for (int i = 0; i < 50; ++i) sum += b.read();
      for (int i = 0; i < 50; ++i) sum += a.read();
    });
    region.start("opener", [&] { go.write(1); });
    region.start("writer", [&] {
      produce(a, 50);
      produce(b, 50);
    });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(sum, 2 * 1225);
}

TEST(Stopping, EndsAWaitAndUnwindsChildrenFirst) {
  UnitGroup group;
  Unit unit("unit_1", &group), idle("unit_2", &group);
  hls::stream<int> link_in("link");
  link(link_in, idle, unit);
  std::vector<std::string> order;
  struct Mark {
    std::vector<std::string>& order;
    const char* name;
    ~Mark() { order.push_back(name); }
  };
  auto outcome = unit.start([&] {
    const Mark kernel{order, "kernel"};
    Region region;
    region.start("child", [&] {
      const Mark child{order, "child"};
      (void)link_in.read();
    });
    region.join();
  });
  while (!unit.scheduler().asleep()) std::this_thread::yield();
  EXPECT_TRUE(unit.scheduler().active());
  unit.scheduler().stop();
  EXPECT_EQ(outcome.get().end, End::kStopped);
  EXPECT_EQ(order, (std::vector<std::string>{"child", "kernel"}));
}

TEST(Stopping, HappensWhenTheCommandIsCancelled) {
  UnitGroup group;
  Unit unit("unit_1", &group), idle("unit_2", &group);
  hls::stream<int> link_in("link");
  link(link_in, idle, unit);
  auto outcome = unit.start([&] { (void)link_in.read(); });
  while (!unit.scheduler().asleep()) std::this_thread::yield();
  unit.cancelled = true;
  EXPECT_EQ(outcome.get().end, End::kStopped);
}

TEST(Stopping, ReachesAProcessThatPolls) {
  Unit unit;
  hls::stream<int> never("never");
  auto outcome = unit.start([&] {
    while (never.empty()) {
    }
  });
  unit.cancelled = true;
  EXPECT_EQ(outcome.get().end, End::kStopped);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
using ProcessDeathTest = testing::Test;

TEST(ProcessDeathTest, AnExceptionEndsTheProgramAsInAKernelWithoutProcesses) {
  EXPECT_EXIT(Unit().run([] {
    Region region;
    region.start("thrower", [] { throw std::runtime_error("what it was"); });
    region.join();
  }),
              testing::KilledBySignal(SIGABRT), "what it was");
}

volatile char* sink;
volatile int deepest = 1 << 30;
int recurse(int depth) {
  volatile char local[4096];
  local[0] = static_cast<char>(depth);
  sink = local;
  return depth == deepest ? 0 : recurse(depth + 1) + local[0];
}

TEST(ProcessDeathTest, AStackThatRunsOverHitsItsGuard) {
  const auto overflow = [] {
    static char signal_stack[1 << 16];
    Unit().run([] {
      stack_t stack{};
      stack.ss_sp = signal_stack;
      stack.ss_size = sizeof(signal_stack);
      sigaltstack(&stack, nullptr);
      struct sigaction action {};
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      action.sa_sigaction = [](int, siginfo_t* info, void*) {
        _exit(Scheduler::current()->overflowed(info->si_addr) ? 42 : 43);
      };
      sigaction(SIGSEGV, &action, nullptr);
      Region region;
      region.start("deep", [] { recurse(0); });
      region.join();
    });
  };
  EXPECT_EXIT(overflow(), testing::ExitedWithCode(42), "");
}
#endif

// Both wait for the same side of one stream.
TEST(Process, ShareAStreamWithoutLoss) {
  Unit unit("shared_1", nullptr, false, 1 << 24, true);
  std::vector<int> values;
  int left = -1;
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream<int, 2> given("given"), taken("taken");
    region.start("first", [&] { produce(given, 20); });
    region.start("second", [&] { produce(given, 20); });
    region.start("one", [&] { increment(given, taken, 20); });
    region.start("other", [&] { increment(given, taken, 20); });
    region.start("reader", [&] { collect(taken, values, 40); });
    region.join();
    left = static_cast<int>(given.size() + taken.size());
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(left, 0);
  std::vector<int> wanted;
  for (int i = 0; i < 40; ++i) wanted.push_back(1 + i / 2);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, wanted);
}

}  // namespace
}  // namespace tandem::hls_runtime_test
