// SPDX-License-Identifier: Apache-2.0
//
// Ranks in one folder: each is an object here, and dies with it or as a process of its own.
#include "apps/train/meeting_folder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "common/error.h"
#include "support/scratch_path.h"
#include "transport/transport_error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// Of calls that nothing holds up; and of calls that look once.
Deadline never() { return Deadline::never(); }
Deadline at_once() { return Deadline::after(std::chrono::seconds(0)); }

class MeetingFolderTest : public testing::Test {
 protected:
  std::string path() const { return scratch_.string(); }
  std::string path(const std::string& name) const { return path() + "/" + name; }

  std::vector<std::unique_ptr<MeetingFolder>> ranks(int world) {
    std::vector<std::unique_ptr<MeetingFolder>> all;
    std::vector<std::thread> threads;
    std::vector<std::string> prefixes(static_cast<std::size_t>(world));
    for (int rank = 0; rank < world; ++rank) {
      all.push_back(std::make_unique<MeetingFolder>(path()));
    }
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      threads.emplace_back(
          [&, rank] { prefixes[rank] = all[rank]->meet(static_cast<int>(rank), world, never()); });
    }
    for (std::thread& thread : threads) thread.join();
    group_.prefix = prefixes[0];
    group_.numbers.clear();
    for (int rank = 0; rank < world; ++rank) group_.numbers.push_back(rank);
    EXPECT_THAT(prefixes, testing::Each(prefixes[0]));
    return all;
  }

  // In a process that ends without a word.
  void die_after(const std::function<void(MeetingFolder&)>& work) const {
    const pid_t child = ::fork();
    if (child == 0) {
      MeetingFolder folder(path());
      work(folder);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  template <typename Call>
  static std::string refusal(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  test::ScratchPath scratch_{"meeting"};
  GroupMembers group_;
};

TEST_F(MeetingFolderTest, EveryMeetingHasAPrefixOfItsOwn) {
  ranks(3);
  const std::string first = group_.prefix;
  ranks(3);
  EXPECT_NE(group_.prefix, first);
  EXPECT_THAT(first, testing::StartsWith("train-"));
}

TEST_F(MeetingFolderTest, ARankThatDoesNotComeIsNamed) {
  MeetingFolder folder(path());
  try {
    folder.meet(0, 2, at_once());
    FAIL();
  } catch (const transport::TransportError& error) {
    EXPECT_EQ(error.peer(), 1);
    EXPECT_THAT(error.what(), HasSubstr("rank 1 has not come to"));
  }
}

TEST_F(MeetingFolderTest, ARunThatIsAtWorkThereIsNamed) {
  const auto running = ranks(1);
  MeetingFolder other(path());
  EXPECT_THAT(refusal([&] { other.meet(0, 1, at_once()); }),
              HasSubstr("rank 0 of another run is at work in"));
}

TEST_F(MeetingFolderTest, WhatADeadRunLeftIsTakenOver) {
  die_after([](MeetingFolder& folder) { folder.meet(0, 1, never()); });
  EXPECT_TRUE(fs::exists(path("rank-0")));
  MeetingFolder folder(path());
  EXPECT_FALSE(folder.rank_is_alive(0));
  folder.meet(0, 1, at_once());
  EXPECT_TRUE(folder.rank_is_alive(0));
}

TEST_F(MeetingFolderTest, ARankThatEndsTakesItsFileWithIt) {
  MeetingFolder other(path());
  {
    const auto all = ranks(2);
    EXPECT_TRUE(other.rank_is_alive(1));
  }
  EXPECT_FALSE(other.rank_is_alive(1));
  EXPECT_FALSE(fs::exists(path("rank-1")));
}

TEST_F(MeetingFolderTest, AFolderThatCannotBeMadeIsNamed) {
  fs::create_directories(path());
  std::ofstream(path("file")) << "x";
  EXPECT_THAT(refusal([&] { MeetingFolder folder(path("file")); }),
              testing::AllOf(HasSubstr("cannot make the folder '" + path("file")),
                             HasSubstr("name a folder that all ranks can write by --store")));
}

TEST_F(MeetingFolderTest, AProcessThatWaitsGetsAPlace) {
  auto all = ranks(2);
  GroupPlace place;
  auto joining = std::make_unique<MeetingFolder>(path());
  std::thread waits([&] { place = joining->wait_for_place(); });
  std::vector<std::string> names;
  while ((names = all[0]->waiting()).empty()) std::this_thread::yield();
  EXPECT_EQ(names.size(), 1u);
  all[0]->give(names[0], {"joined-7", 2, 3, 5});
  waits.join();
  EXPECT_EQ(place.prefix, "joined-7");
  EXPECT_EQ((std::vector<int>{place.rank, place.world, place.number}), (std::vector<int>{2, 3, 5}));
  EXPECT_THAT(all[0]->waiting(), IsEmpty());
  EXPECT_TRUE(all[0]->rank_is_alive(5));
  joining.reset();
  EXPECT_FALSE(all[0]->rank_is_alive(5));
  EXPECT_FALSE(fs::exists(path("rank-5")));
}

// Its first group has not come about.
TEST_F(MeetingFolderTest, APlaceCanBeAskedForAgain) {
  auto all = ranks(1);
  MeetingFolder joining(path());
  for (int number : {1, 2}) {
    GroupPlace place;
    std::thread waits([&] { place = joining.wait_for_place(); });
    std::vector<std::string> names;
    while ((names = all[0]->waiting()).empty()) std::this_thread::yield();
    all[0]->give(names[0], {"joined", 1, 2, number});
    waits.join();
    EXPECT_EQ(place.number, number);
  }
  EXPECT_FALSE(all[0]->rank_is_alive(1));
  EXPECT_TRUE(all[0]->rank_is_alive(2));
}

TEST_F(MeetingFolderTest, NobodyJoinsWhereNoRankLives) {
  die_after([](MeetingFolder& folder) { folder.meet(0, 1, never()); });
  MeetingFolder joining(path());
  EXPECT_THAT(refusal([&] { joining.wait_for_place(); }), HasSubstr("no run with --elastic"));
}

TEST_F(MeetingFolderTest, AProcessThatDiedWaitsNoMore) {
  const auto all = ranks(1);
  std::ofstream(path("new-0123456789abcdef")) << "0123456789abcdef";  // without a lock
  EXPECT_THAT(all[0]->waiting(), IsEmpty());
  EXPECT_FALSE(fs::exists(path("new-0123456789abcdef")));
  all[0]->give("new-0123456789abcdef", {"joined", 1, 2, 1});
  EXPECT_FALSE(fs::exists(path("place-0123456789abcdef")));
}

TEST_F(MeetingFolderTest, ReportsNameTheDead) {
  auto all = ranks(3);
  all[2].reset();
  FailureReports first;
  std::thread other([&] { first = all[0]->collect_reports(group_, 0, "", Deadline::never()); });
  const FailureReports second = all[1]->collect_reports(group_, 1, "", Deadline::never());
  other.join();
  for (const FailureReports& reports : {first, second}) {
    EXPECT_THAT(reports.absent, ElementsAre(2));
    EXPECT_THAT(reports.failures, IsEmpty());
  }
}

// Its file is there, but no lock that this process sees: of another host, or of a dead process.
TEST_F(MeetingFolderTest, ARankWhoseLockIsNotSeenIsToldApart) {
  MeetingFolder folder(path());
  std::ofstream(path("rank-1")) << "0123456789abcdef";
  EXPECT_THAT(refusal([&] { folder.meet(0, 2, at_once()); }),
              testing::AllOf(HasSubstr("rank 1 has not come to"),
                             HasSubstr("its file is there without a lock"),
                             HasSubstr("keeps locks (flock) to one host"), HasSubstr("--store")));
}

// Ranks that talk already find out without waiting.
TEST_F(MeetingFolderTest, RanksThatTalkSeeAtOnceThatLocksStayOnAHost) {
  MeetingFolder folder(path());
  const std::string own = folder.enter(0, never());
  std::ofstream(path("rank-1")) << "0123456789abcdef";
  EXPECT_THAT(refusal([&] {
                folder.start(0, {own, "0123456789abcdef"}, never());
              }),
              HasSubstr("rank-1' has no lock that rank 0 sees"));
}

TEST_F(MeetingFolderTest, RanksThatTalkStartARunInParts) {
  MeetingFolder first(path()), second(path());
  const std::vector<std::string> words = {first.enter(0, never()), second.enter(1, never())};
  EXPECT_THAT(refusal([&] { second.start(1, words, at_once()); }),
              HasSubstr("rank 0 has not come to"));
  const std::string prefix = first.start(0, words, never());
  EXPECT_EQ(second.start(1, words, never()), prefix);
}

// It was stopped, and wakes in the folder of a run that does without it.
TEST_F(MeetingFolderTest, ARankOfAnOlderRunActsNoMore) {
  auto older = ranks(3);
  const GroupMembers group = group_;
  older[0].reset();
  older[1].reset();
  const auto newer = ranks(2);
  MeetingFolder& woken = *older[2];
  const auto joins = std::make_unique<MeetingFolder>(path());
  std::thread waits([&] { joins->wait_for_place(); });
  std::vector<std::string> names;
  while ((names = newer[0]->waiting()).empty()) std::this_thread::yield();
  const std::string words = "a newer run has begun in '" + path() + "', so rank 2";
  for (const std::function<void()>& act : std::vector<std::function<void()>>{
           [&] { woken.agree(group, 2, never()); },
           [&] { woken.collect_reports(group, 2, "", never()); },
           [&] { woken.report_failure(group, 2, ""); },
           [&] { woken.send_heartbeat(group, 2); },
           [&] { woken.decide("list-x", "yes"); },
           [&] {
             woken.give(names[0], {"x", 1, 2, 7});
           },
           [&] { woken.require_newest(); },
       }) {
    EXPECT_THAT(refusal(act), HasSubstr(words));
  }
  EXPECT_FALSE(fs::exists(path("list-" + group.prefix)));
  EXPECT_FALSE(fs::exists(path("report-" + group.prefix + "-2")));
  newer[0]->give(names[0], {"joined", 2, 3, 7});
  waits.join();
  joins->require_newest();  // a rank that has joined is of the newest
}

TEST_F(MeetingFolderTest, ANumberIsGivenOnce) {
  const auto all = ranks(2);
  EXPECT_EQ(all[0]->reserve_number(2), 2);
  EXPECT_EQ(all[1]->reserve_number(2), 3);
  EXPECT_EQ(all[0]->reserve_number(3), 4);
  const auto next = [&] {
    MeetingFolder folder(path());
    return folder.reserve_number(2);
  };
  EXPECT_EQ(next(), 2);  // of another run
}

TEST_F(MeetingFolderTest, ReportsAreAwaitedFromThoseThatLiveUntilTheDeadline) {
  auto all = ranks(2);
  const FailureReports reports = all[0]->collect_reports(group_, 0, "", at_once());
  EXPECT_THAT(reports.absent, ElementsAre(1));
  EXPECT_TRUE(all[0]->rank_is_alive(1));
}

TEST_F(MeetingFolderTest, ARankThatSignedIsNotAbsentWhenItEnds) {
  auto all = ranks(3);
  all[1]->report_failure(group_, 1, "the disk is full");
  all[2]->report_failure(group_, 2, "");
  all[1].reset();
  all[2].reset();
  const FailureReports reports = all[0]->collect_reports(group_, 0, "", Deadline::never());
  EXPECT_THAT(reports.absent, IsEmpty());
  EXPECT_THAT(reports.failures, ElementsAre(Pair(1, "the disk is full")));
}

// Without heartbeats the wait ends at the deadline, and the rank counts as absent. Each is a synced
// file: where a busy disk holds one up, the ranks meet again.
TEST_F(MeetingFolderTest, ReportsAreAwaitedLongerFromARankThatIsAtWork) {
  using Time = std::chrono::steady_clock;
  int meetings = 0;
  for (bool is_steady = false; !is_steady;) {
    if (++meetings > 20) GTEST_SKIP() << "the disk takes seconds for a file";
    auto all = ranks(2);
    std::atomic<bool> over = false;
    Time::time_point last = Time::now();
    Time::duration longest_silence{};
    std::thread works([&, end = last + std::chrono::seconds(5)] {
      while (last < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        all[1]->send_heartbeat(group_, 1);
        longest_silence = std::max(longest_silence, Time::now() - last);
        last = Time::now();
      }
      over = true;
      all[1]->report_failure(group_, 1, "");
      longest_silence = std::max(longest_silence, Time::now() - last);
    });
    const FailureReports reports =
        all[0]->collect_reports(group_, 0, "", Deadline::after(std::chrono::seconds(3)));
    const bool has_waited = over;
    works.join();
    is_steady = longest_silence < std::chrono::seconds(1);
    if (!is_steady) continue;
    EXPECT_TRUE(has_waited);
    EXPECT_THAT(reports.absent, IsEmpty());
  }
}

TEST_F(MeetingFolderTest, ARankThatEndsByAnErrorOfItsOwnIsNotLeft) {
  auto all = ranks(3);
  all[1]->report_failure(group_, 1, "the disk is full");
  all[2]->report_failure(group_, 2, "");
  EXPECT_THAT(all[0]->agree(group_, 0, never()).numbers, ElementsAre(0, 2));
}

TEST_F(MeetingFolderTest, WhatIsDecidedIsNotWaitedFor) {
  auto all = ranks(3);
  all[1]->decide("list-" + group_.prefix, "train-next 0 1");
  EXPECT_THAT(all[0]->agree(group_, 0, never()).numbers, ElementsAre(0, 1));
}

TEST_F(MeetingFolderTest, ThoseThatLiveAgree) {
  auto all = ranks(4);
  all[1].reset();
  all[2]->report_failure(group_, 2, "");  // it dies while the others agree
  all[2].reset();
  GroupMembers first;
  std::thread other([&] { first = all[0]->agree(group_, 0, Deadline::never()); });
  const GroupMembers second = all[3]->agree(group_, 3, Deadline::never());
  other.join();
  EXPECT_THAT(first.numbers, ElementsAre(0, 3));
  EXPECT_EQ(first.numbers, second.numbers);
  EXPECT_EQ(first.prefix, second.prefix);
  EXPECT_NE(first.prefix, group_.prefix);
}

TEST_F(MeetingFolderTest, ARankThatComesTooLateIsTold) {
  auto all = ranks(3);
  all[1]->report_failure(group_, 1, "");
  EXPECT_THAT(all[0]->agree(group_, 0, at_once()).numbers, ElementsAre(0, 1));
  EXPECT_THAT(all[1]->agree(group_, 1, never()).numbers, ElementsAre(0, 1));
  EXPECT_THAT(refusal([&] { all[2]->agree(group_, 2, at_once()); }),
              HasSubstr("the smaller group was formed without rank 2"));
}

TEST_F(MeetingFolderTest, TheFirstWordDecides) {
  const auto all = ranks(2);
  EXPECT_FALSE(all[0]->decided("list-x"));
  EXPECT_EQ(all[1]->decide("list-x", "yes"), "yes");
  EXPECT_EQ(all[0]->decide("list-x", "no"), "yes");
  EXPECT_EQ(all[0]->decided("list-x"), "yes");
}

TEST_F(MeetingFolderTest, AMeetingRemovesWhatEarlierRunsSaid) {
  {
    auto all = ranks(2);
    all[0]->report_failure(group_, 0, "");
    all[1]->decide("list-" + group_.prefix, "x");
  }
  const std::string old = group_.prefix;
  EXPECT_TRUE(fs::exists(path("list-" + old)));
  const auto all = ranks(1);
  all[0]->report_failure(group_, 0, "");
  EXPECT_FALSE(fs::exists(path("list-" + old)));
  EXPECT_FALSE(fs::exists(path("report-" + old + "-0")));
  EXPECT_TRUE(fs::exists(path("report-" + group_.prefix + "-0")));
}

}  // namespace
}  // namespace tandem::apps
