// SPDX-License-Identifier: Apache-2.0
//
// Everything ends, whatever a kernel does: streams that fill, tasks that never stop, waits for
// threads, old verdicts. Exceptions in flight stay with their process.
#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <stdexcept>
#include <vector>

#include "hls_stream.h"
#include "hls_task.h"
#include "unit.h"

namespace tandem::hls_runtime_test {
namespace {

struct WideBlock {
  std::array<char, 64 << 10> bytes;
};

TEST(FullStream, StopsGrowingWhenThatHelpsNobody) {
  Unit unit;
  const Outcome outcome = unit.run([] {
    hls::stream<WideBlock> endless("endless");
    hls::stream<int> never("never");
    hls::task source([](hls::stream<WideBlock>& out) { out.write(WideBlock()); }, endless);
    (void)never.read();
  });
  EXPECT_EQ(outcome.end, End::kDeadlock);
  EXPECT_NE(outcome.message.find("waits for data in stream 'never'"), std::string::npos)
      << outcome.message;
  EXPECT_NE(outcome.message.find("waits for space in stream 'endless' (4096 held)"),
            std::string::npos)
      << outcome.message;
}

TEST(FullStream, OfAFreeRunningUnitHidesNoDeadlockOfOthers) {
  UnitGroup group;
  Unit left("left_1", &group), right("right_1", &group), source("source_1", &group, true);
  hls::stream<int> forth("forth"), back("back"), more("more");
  link(forth, left, right);
  link(back, right, left);
  link(more, source, right);
  auto endless = source.start([&] {
    for (int i = 0;; ++i) more.write(i);
  });
  while (!source.scheduler().asleep()) std::this_thread::yield();
  auto first = left.start([&] { forth.write(back.read()); });
  auto second = right.start([&] { back.write(forth.read() + more.read()); });
  EXPECT_EQ(first.get().end, End::kDeadlock);
  EXPECT_EQ(second.get().end, End::kDeadlock);
  source.scheduler().stop();
  EXPECT_EQ(endless.get().end, End::kStopped);
}

TEST(FullStream, IsFullToANonBlockingWriterAlthoughNoDepthIsStated) {
  hls::stream<WideBlock> stream("stream");
  const WideBlock block{};
  int written = 0;
  while (written < 5000 && stream.write_nb(block)) ++written;
  EXPECT_EQ(written, 4096);
  EXPECT_TRUE(stream.full());
  (void)stream.read();
  EXPECT_FALSE(stream.full());
}

TEST(Task, IsDroppedWhileItWaitsInARegion) {
  Unit unit;
  int unwound = 0;
  const Outcome outcome = unit.run([&] {
    hls::stream<int> in("in"), between("between");
    hls::task task(
        [&unwound](hls::stream<int>& from, hls::stream<int>& to) {
          struct Mark {
            int& count;
            ~Mark() { ++count; }
          };
          Region region;
          region.start("first", [&] {
            const Mark mark{unwound};
            to.write(from.read());
          });
          region.start("second", [&] {
            const Mark mark{unwound};
            (void)to.read();
          });
          region.join();
        },
        in, between);
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(unwound, 2);
}

// Two tasks pass a value round for ever.
void go_round(const std::function<void()>& kernel_end) {
  hls_thread_local hls::stream<int, 2> forth("forth"), back("back");
  hls_thread_local hls::task first([](auto& in, auto& out) { out.write(in.read()); }, forth, back);
  hls_thread_local hls::task second([](auto& in, auto& out) { out.write(in.read()); }, back, forth);
  forth.write(1);
  kernel_end();
}

TEST(Task, ThatNeverRestsDoesNotHoldTheKernelsEnd) {
  Unit unit("unit_1", nullptr, false, 10'000);
  EXPECT_EQ(unit.run([] { go_round([] {}); }).end, End::kDone);
}

TEST(Task, ThatNeverRestsLetsACommandBeCancelled) {
  Unit unit;
  hls::stream<int> never("never");
  auto outcome = unit.start([&] { go_round([&] { (void)never.read(); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  unit.cancelled = true;
  EXPECT_EQ(outcome.get().end, End::kStopped);
}

TEST(Deadlock, IsNoneWhileAThreadOfTheKernelWorks) {
  Unit unit;
  int sum = 0;
  const Outcome outcome = unit.run([&] {
    hls::stream<int> values("values");
    std::thread helper([&values] {
      for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        values.write(i);
      }
    });
    for (int i = 0; i < 3; ++i) sum += values.read();
    helper.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(sum, 3);
}

TEST(Deadlock, BetweenUnitsIsNoneWhileAThreadOfAKernelWorks) {
  UnitGroup group;
  Unit left("left_1", &group), right("right_1", &group);
  hls::stream<int> forth("forth"), back("back");
  link(forth, left, right);
  link(back, right, left);
  auto first = left.start([&] {
    std::thread helper([&forth] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      forth.write(7);
    });
    EXPECT_EQ(back.read(), 8);
    helper.join();
  });
  auto second = right.start([&] { back.write(forth.read() + 1); });
  EXPECT_EQ(first.get().end, End::kDone);
  EXPECT_EQ(second.get().end, End::kDone);
}

TEST(Deadlock, IsFoundAlthoughAThreadOfTheKernelRuns) {
  Unit unit;
  std::promise<void> end;
  std::thread helper;
  const Outcome outcome = unit.run([&] {
    hls::stream<int> values("values");
    helper = std::thread([&end] { end.get_future().wait(); });
    (void)values.read();
  });
  EXPECT_EQ(outcome.end, End::kDeadlock);
  end.set_value();
  helper.join();
}

TEST(Deadlock, OfAnEarlierCommandIsForgotten) {
  Unit unit;
  unit.scheduler().end_in_deadlock("of an earlier command", {});
  const Outcome outcome = unit.run([] {
    Region region;
    region.start("process", [] {});
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone) << outcome.message;
}

// Both wait in the middle of a handler; the first that goes on is the first that waited.
TEST(Process, KeepsItsExceptionsWhileOthersRun) {
  Unit unit;
  std::vector<std::string> rethrown;
  const auto handler = [&rethrown](const char* what, hls::stream<int>& go) {
    try {
      try {
        throw std::runtime_error(what);
      } catch (const std::runtime_error&) {
        (void)go.read();
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        throw;
      }
    } catch (const std::runtime_error& error) {
      rethrown.push_back(error.what());
    }
  };
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream<int> a("a"), b("b");
    region.start("first", [&] { handler("first", a); });
    region.start("second", [&] { handler("second", b); });
    EXPECT_EQ(std::current_exception(), nullptr);
    a.write(1);
    b.write(1);
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(rethrown, (std::vector<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace tandem::hls_runtime_test
