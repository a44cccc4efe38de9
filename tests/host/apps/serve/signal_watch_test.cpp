// SPDX-License-Identifier: Apache-2.0
//
// Stop signals by their times, and signals to a process of its own. tests/system sends them to the
// program.
#include "apps/serve/signal_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

namespace tandem::apps {
namespace {

using std::chrono::milliseconds;
using Wish = StopCount::Wish;

TEST(StopCount, TheFirstSignalAsksToDrain) {
  StopCount count;
  EXPECT_EQ(count.add({}), Wish::kStop);
}

TEST(StopCount, SignalsWithinASecondAreOne) {
  StopCount count;
  const StopCount::Time start{};
  count.add(start);
  EXPECT_EQ(count.add(start), Wish::kSame);
  EXPECT_EQ(count.add(start + milliseconds(999)), Wish::kSame);
  EXPECT_EQ(count.add(start + milliseconds(1000)), Wish::kStopNow);
}

TEST(StopCount, TheThirdSignalKillsAndItsRepetitionDoesNot) {
  StopCount count;
  const StopCount::Time start{};
  count.add(start);
  count.add(start + milliseconds(2000));
  EXPECT_EQ(count.add(start + milliseconds(2500)), Wish::kSame);
  EXPECT_EQ(count.add(start + milliseconds(3000)), Wish::kKill);
}

// What follows runs in a child process. One that hangs ends by SIGALRM.

void send(int signal) { kill(getpid(), signal); }

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

[[noreturn]] void load_and_get(int signal) {
  alarm(20);
  const SignalWatch signals;
  send(signal);
  wait_for_the_end();
}

TEST(SignalWatch, ASignalDuringTheLoadEndsTheProcessByThatSignal) {
  EXPECT_EXIT(load_and_get(SIGTERM), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(load_and_get(SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_IGN);  // as shells start what runs in the background
        load_and_get(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

// Serves until it has got a first stop signal.
struct Stopped {
  explicit Stopped(int signal) {
    alarm(20);
    signals.begin_to_serve();
    send(signal);
    stopped_by = signals.wait_for_stop([] { _exit(1); });
  }

  // A repetition later than a second is another signal.
  void stop_again() {
    std::this_thread::sleep_for(milliseconds(1100));
    send(SIGTERM);
    while (!signals.stops_now()) std::this_thread::sleep_for(milliseconds(1));
  }

  SignalWatch signals;
  int stopped_by = 0;
};

[[noreturn]] void drain_by(int signal) {
  const Stopped process(signal);
  _exit(process.stopped_by == signal && !process.signals.stops_now() ? 0 : 1);
}

[[noreturn]] void stop_twice_at_once() {
  const Stopped process(SIGTERM);
  send(SIGINT);
  std::this_thread::sleep_for(milliseconds(100));
  _exit(process.signals.stops_now() ? 1 : 0);
}

[[noreturn]] void stop_twice_and_end() {
  Stopped process(SIGTERM);
  process.stop_again();
  _exit(0);
}

[[noreturn]] void stop_twice_and_hang() {
  Stopped process(SIGINT);
  process.stop_again();
  wait_for_the_end();
}

TEST(SignalWatch, TheFirstSignalOfOneThatServesAsksToDrain) {
  EXPECT_EXIT(drain_by(SIGTERM), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(drain_by(SIGINT), testing::ExitedWithCode(0), "");
}

TEST(SignalWatch, ASecondSignalStopsAtOnceUnlessItIsTheSame) {
  EXPECT_EXIT(stop_twice_at_once(), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(stop_twice_and_end(), testing::ExitedWithCode(0), "");
}

TEST(SignalWatch, AProcessThatHangsAfterASecondSignalIsEnded) {
  EXPECT_EXIT(stop_twice_and_hang(), testing::KilledBySignal(SIGTERM), "");
}

[[noreturn]] void reload_once() {
  alarm(20);
  SignalWatch signals;
  signals.begin_to_serve();
  send(SIGHUP);
  int num_reloads = 0;
  std::thread stopping;
  const int stopped_by = signals.wait_for_stop([&] {
    if (++num_reloads > 1) _exit(1);
    stopping = std::thread([] {
      std::this_thread::sleep_for(milliseconds(100));
      send(SIGTERM);
    });
  });
  stopping.join();
  _exit(stopped_by == SIGTERM && num_reloads == 1 ? 0 : 1);
}

TEST(SignalWatch, AHangupReloadsOnceAndEndsNothing) {
  EXPECT_EXIT(reload_once(), testing::ExitedWithCode(0), "");
}

[[noreturn]] void write_to_nobody() {
  const SignalWatch signals;
  int ends[2];
  if (pipe(ends) != 0 || close(ends[0]) != 0) _exit(2);
  _exit(write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 1);
}

TEST(SignalWatch, AClientThatIsGoneEndsNothing) {
  EXPECT_EXIT(write_to_nobody(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tandem::apps
