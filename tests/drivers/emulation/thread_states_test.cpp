// SPDX-License-Identifier: Apache-2.0
//
// Which threads sleep, read from a folder laid out like /proc/self/task, and the wait for that.
#include "emulation/opencl_layer/thread_states.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/scratch_path.h"

namespace tandem::emulation {
namespace {

constexpr pid_t kSelf = 100;

// The folder of a process whose thread 100 asks.
class Tasks {
 public:
  Tasks() {
    std::filesystem::create_directory(folder_.path());
    add(kSelf, "application", 'R');
  }

  void add(pid_t thread, const std::string& name, char state) {
    const std::filesystem::path task = folder_.path() / std::to_string(thread);
    std::filesystem::create_directory(task);
    std::ofstream(task / "stat") << thread << " (" << name << ") " << state << " 1 100 100 0 -1\n";
  }
  // The folder of a thread that ended after the folders were listed has no files.
  void add_ended(pid_t thread) {
    std::filesystem::create_directory(folder_.path() / std::to_string(thread));
  }

  bool others_asleep() const { return emulation::others_asleep(folder_.path(), kSelf); }

 private:
  test::ScratchPath folder_{"tasks"};
};

TEST(ThreadStates, TheThreadThatAsksDoesNotCount) { EXPECT_TRUE(Tasks().others_asleep()); }

TEST(ThreadStates, SleepingAndEndedThreadsSleep) {
  Tasks tasks;
  tasks.add(101, "command", 'S');
  tasks.add_ended(102);
  EXPECT_TRUE(tasks.others_asleep());
}

TEST(ThreadStates, ARunningThreadIsFoundAmongSleepingOnes) {
  for (const pid_t running : {101, 102, 103}) {
    Tasks tasks;
    for (pid_t thread = 101; thread <= 103; ++thread) {
      tasks.add(thread, "command", thread == running ? 'R' : 'S');
    }
    EXPECT_FALSE(tasks.others_asleep()) << running;
  }
}

TEST(ThreadStates, AThreadThatWaitsForADiskDoesNotSleep) {
  Tasks tasks;
  tasks.add(101, "command", 'D');
  EXPECT_FALSE(tasks.others_asleep());
}

TEST(ThreadStates, TheStateIsReadBehindANameWithBracketsAndBlanks) {
  Tasks running, sleeping;
  running.add(101, "a) S (b", 'R');
  sleeping.add(101, "a) R (b", 'S');
  EXPECT_FALSE(running.others_asleep());
  EXPECT_TRUE(sleeping.others_asleep());
}

TEST(ThreadStates, AThreadWhoseNumberStartsLikeTheAskersCounts) {
  Tasks tasks;
  tasks.add(1001, "command", 'R');
  EXPECT_FALSE(tasks.others_asleep());
}

TEST(ThreadStates, WithoutTheFolderNothingIsWaitedFor) {
  EXPECT_TRUE(others_asleep("/nowhere/task", kSelf));
}

TEST(ThreadStates, ThisProcessHasARunningThreadWhileOneRuns) {
  std::atomic<bool> started = false, run = true;
  std::thread running([&] {
    for (started = true; run;) {
    }
  });
  while (!started) std::this_thread::yield();
  EXPECT_FALSE(others_asleep("/proc/self/task", gettid()));
  run = false;
  running.join();
}

// Gives the answers in turn, and the last one for ever. The other threads use a millisecond between
// two answers, unless they sleep.
struct Answers {
  std::vector<bool> list;
  int asked = 0, paused = 0;
  bool threads_work = true;

  bool wait(const SleepWait& limits) {
    SleepCalls calls;
    calls.asleep = [this] { return list[std::min<size_t>(asked++, list.size() - 1)]; };
    calls.used = [this] { return std::chrono::milliseconds(1000 + (threads_work ? asked : 0)); };
    calls.pause = [this] { ++paused; };
    return wait_until_asleep(limits, calls);
  }
};

constexpr std::chrono::seconds kLong{10};

TEST(ThreadStates, TheWaitEndsWhenAllSleptSeveralTimesInARow) {
  Answers answers{{false, true, true, false, true}};
  EXPECT_TRUE(answers.wait({.confirmations = 3, .max_used = kLong, .max_polls = 100}));
  EXPECT_EQ(answers.asked, 7);
  EXPECT_EQ(answers.paused, 7);
}

TEST(ThreadStates, TheWaitEndsWhenAThreadThatNeverSleepsHasUsedItsTime) {
  Answers answers{{false}};
  const std::chrono::milliseconds used{20};
  EXPECT_FALSE(answers.wait({.confirmations = 3, .max_used = used, .max_polls = 100}));
  EXPECT_EQ(answers.asked, 20);
  EXPECT_EQ(answers.paused, 20);
}

TEST(ThreadStates, TheWaitEndsThoughAThreadNeitherSleepsNorWorks) {
  Answers answers{{false}};
  answers.threads_work = false;
  EXPECT_FALSE(answers.wait({.confirmations = 3, .max_used = kLong, .max_polls = 30}));
  EXPECT_EQ(answers.asked, 30);
}

TEST(ThreadStates, TheTimeOfOthersIsWithoutThatOfTheCallingThread) {
  const auto work = [](long nanoseconds) {
    timespec begin{}, now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec <
             nanoseconds);
  };
  constexpr std::chrono::milliseconds kOwn{50}, kOthers{20};
  const auto before = used_by_others();
  work(std::chrono::nanoseconds(kOwn).count());
  EXPECT_LT(used_by_others() - before, kOwn);
  std::thread(work, std::chrono::nanoseconds(kOthers).count()).join();
  EXPECT_GE(used_by_others() - before, kOthers);
}

}  // namespace
}  // namespace tandem::emulation
