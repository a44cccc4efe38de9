// SPDX-License-Identifier: Apache-2.0
//
// Ranks over gloo that are threads here: losses, a loss while the others agree, new ranks.
#include "apps/train/ranks.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <numeric>
#include <sstream>
#include <thread>

#include "collectives/collective.h"
#include "common/error.h"
#include "support/scratch_path.h"
#include "transport/gloo/gloo.h"
#include "transport/gloo/store.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using transport::TransportError;

class RanksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!transport::gloo::available()) GTEST_SKIP() << "this build has no gloo";
    options_.transport = "gloo";
    options_.store = scratch_.string();
    options_.address = "127.0.0.1";
    options_.timeout_s = 600;  // who waits for it fails this test by the time limit
    options_.elastic = true;
  }

  using Work = std::function<void(Ranks&)>;

  // A thread per rank.
  void run(int world, const std::vector<std::function<void()>>& others, const Work& work) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world - static_cast<int>(others.size()); ++rank) {
      threads.emplace_back([&, rank] {
        Ranks ranks({rank, world, world, false}, options_);
        work(ranks);
      });
    }
    for (const auto& other : others) threads.emplace_back(other);
    for (std::thread& thread : threads) thread.join();
  }
  void run(int world, const Work& work) { run(world, {}, work); }

  static int sum_over(collectives::Group& group) {
    std::vector<double> one = {1};
    collectives::allreduce(group, collectives::DenseView::of(one));
    return static_cast<int>(one[0]);
  }

  // A rank that leaves at once could break the call of one that is not through.
  static int sum_over(collectives::Group& group, std::latch& all) {
    const int sum = sum_over(group);
    all.arrive_and_wait();
    return sum;
  }

  static TransportError neighbours_error() {
    return {TransportError::Kind::kPeerLost, 0, "rank 0 has left the group or died"};
  }

  test::ScratchPath scratch_{"ranks"};
  MeetingOptions options_;
};

TEST_F(RanksTest, TheRanksThatAreLeftKeepTheirNumbers) {
  std::latch four(4), three(3), two(2);
  run(4, [&](Ranks& ranks) {
    EXPECT_EQ(sum_over(*ranks.group(), four), 4);
    const int number = ranks.group()->rank();
    if (number == 1) return;
    EXPECT_THROW(sum_over(*ranks.group()), TransportError);
    EXPECT_THAT(ranks.shrink(), ElementsAre(1));
    EXPECT_EQ(sum_over(*ranks.group(), three), 3);
    EXPECT_EQ(ranks.group()->rank(), number == 0 ? 0 : number - 1);
    if (number == 2) return;
    EXPECT_THROW(sum_over(*ranks.group()), TransportError);
    EXPECT_THAT(ranks.shrink(), ElementsAre(2));
    EXPECT_EQ(sum_over(*ranks.group(), two), 2);
    if (number == 3) return;
    EXPECT_THROW(sum_over(*ranks.group()), TransportError);
    EXPECT_THAT(ranks.shrink(), ElementsAre(3));
    EXPECT_EQ(sum_over(*ranks.group()), 1);
  });
}

// Rank 3 dies; then rank 2, after it has agreed with the others on who is left.
class TwoLossesTest : public RanksTest {
 protected:
  // With the prefix of the group that is left, and an address that rank 2 of four had.
  using Death = std::function<void(const std::string& prefix, const std::string& address)>;

  void run_with(const Death& death) {
    const auto connects_to = [&](MeetingFolder& folder, int rank) {
      transport::gloo::Options gloo;
      gloo.rank = rank;
      gloo.world = 4;
      gloo.store_directory = options_.store;
      gloo.address = options_.address;
      gloo.prefix = folder.meet(rank, 4, Deadline::never());
      gloo.deadline = Deadline::never();
      return std::pair(gloo.prefix, transport::gloo::connect(gloo));
    };
    const auto dies_second = [&] {
      MeetingFolder folder(options_.store);
      std::string prefix, address;
      {
        const auto [found, transport] = connects_to(folder, 2);
        prefix = found;
        std::ostringstream own;  // "4", a line's end, an address for each rank
        own << std::ifstream(options_.store + "/" + prefix + ".0.rank-2").rdbuf();
        const std::size_t bytes = (own.str().size() - 2) / 4;
        address = own.str().substr(2, bytes);
      }
      const GroupMembers left = folder.agree({prefix, {0, 1, 2, 3}}, 2, Deadline::never());
      EXPECT_THAT(left.numbers, ElementsAre(0, 1, 2));
      death(left.prefix, address);
    };
    const auto dies_first = [&] {
      MeetingFolder folder(options_.store);
      connects_to(folder, 3);
    };
    std::latch two(2);
    run(4, {dies_second, dies_first}, [&](Ranks& ranks) {
      EXPECT_THROW(sum_over(*ranks.group()), TransportError);
      EXPECT_THAT(ranks.shrink(), ElementsAre(2, 3));
      EXPECT_EQ(sum_over(*ranks.group(), two), 2);
    });
  }
};

TEST_F(TwoLossesTest, ALossWhileTheOthersAgreeIsAnotherLoss) {
  run_with([](const std::string&, const std::string&) {});
}

// gloo connects from the higher address to the lower one, so the others wait for 127.0.0.2.
TEST_F(TwoLossesTest, ALossWhileTheOthersConnectIsAnotherLoss) {
  run_with([&](const std::string& prefix, std::string address) {
    ASSERT_EQ(address.substr(4, 4), std::string("\x7f\0\0\1", 4));
    address[7] = 2;
    transport::gloo::Options gloo;
    gloo.store_directory = options_.store;
    const auto store = transport::gloo::open_store(gloo, Deadline::never());
    store->put(prefix + ".0.rank-2", "3\n" + address + address + address);
    while (!store->get(prefix + ".0.rank-0") || !store->get(prefix + ".0.rank-1")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most often they wait by now
  });
}

TEST_F(RanksTest, EveryRankNamesTheOneThatDied) {
  run(3, [&](Ranks& ranks) {
    if (ranks.group()->rank() == 2) return;
    const TransportError error = ranks.with_lost_ranks(neighbours_error());
    EXPECT_EQ(error.peer(), 2);
    EXPECT_THAT(error.what(), HasSubstr("rank 2 is lost: its process has ended; --resume"));
  });
}

TEST_F(RanksTest, RanksThatDiedTogetherAreAllNamed) {
  run(3, [&](Ranks& ranks) {
    if (ranks.group()->rank() != 1) return;
    EXPECT_THAT(ranks.with_lost_ranks(neighbours_error()).what(),
                HasSubstr("ranks 0, 2 are lost: their processes have ended"));
  });
}

TEST_F(RanksTest, ARankThatIsSilentIsNamed) {
  options_.timeout_s = 4;
  std::latch ended(2);
  run(2, [&](Ranks& ranks) {
    if (ranks.group()->rank() == 0) {
      EXPECT_THAT(ranks.with_lost_ranks(neighbours_error()).what(),
                  HasSubstr("rank 1 is lost: no word for 4000 ms"));
    }
    ended.arrive_and_wait();
  });
}

TEST_F(RanksTest, EveryRankTellsTheErrorOfTheOneThatFailed) {
  run(3, [&](Ranks& ranks) {
    if (ranks.group()->rank() == 2) return ranks.abort("the disk is full");
    const TransportError error = ranks.with_lost_ranks(neighbours_error());
    EXPECT_EQ(error.peer(), 2);
    EXPECT_THAT(error.what(), HasSubstr("rank 2 ended: the disk is full"));
  });
}

// The group hears of it first, so a folder that is gone hides nothing.
TEST_F(RanksTest, AFolderThatCannotBeWrittenDoesNotHideTheError) {
  std::latch met(3), gone(3), ended(3);
  run(3, [&](Ranks& ranks) {
    met.arrive_and_wait();
    if (ranks.group()->rank() == 2) fs::remove_all(options_.store);
    gone.arrive_and_wait();
    if (ranks.group()->rank() == 2) {
      ranks.abort("the disk is full");
      ranks.send_heartbeat();
    } else {
      try {
        sum_over(*ranks.group());
        ADD_FAILURE();
      } catch (const TransportError& error) {
        EXPECT_THAT(ranks.with_lost_ranks(error).what(),
                    HasSubstr("rank 2 aborted: the disk is full"));
      }
    }
    ended.arrive_and_wait();
  });
}

TEST_F(RanksTest, ARankThatEndsBehindItsAbortIsQuoted) {
  run(3, [&](Ranks& ranks) {
    if (ranks.group()->rank() == 2) return ranks.group()->abort("the disk is full");
    try {
      sum_over(*ranks.group());
      ADD_FAILURE();
    } catch (const TransportError& error) {
      EXPECT_THAT(ranks.with_lost_ranks(error).what(),
                  HasSubstr("rank 2 aborted: the disk is full"));
    }
  });
}

TEST_F(RanksTest, ARankWhoseGroupIsBrokenTellsItsErrorToo) {
  run(2, [&](Ranks& ranks) {
    if (ranks.group()->rank() == 1) {
      EXPECT_THROW(sum_over(*ranks.group()), TransportError);
      return ranks.abort("the disk is full");
    }
    ranks.group()->abort("a neighbour is lost");
    EXPECT_THAT(ranks.with_lost_ranks(neighbours_error()).what(),
                HasSubstr("rank 1 ended: the disk is full"));
  });
}

// It may be late by the timeout: it computes, and hears of the loss when it is done.
TEST_F(RanksTest, ABusyRankIsNotLeftOut) {
  options_.timeout_s = 16;
  std::latch three(3), two(2);
  run(3, [&](Ranks& ranks) {
    sum_over(*ranks.group(), three);
    if (ranks.group()->rank() == 2) return;
    if (ranks.group()->rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(11));
    EXPECT_THAT(ranks.shrink(), ElementsAre(2));
    EXPECT_EQ(sum_over(*ranks.group(), two), 2);
  });
}

TEST_F(RanksTest, WithoutALossTheErrorStays) {
  run(2, [&](Ranks& ranks) {
    EXPECT_STREQ(ranks.with_lost_ranks(neighbours_error()).what(), neighbours_error().what());
  });
}

TEST_F(RanksTest, ANewRankIsTakenInAndNumbered) {
  std::latch met(2), three(3), left(2);
  const auto joins = [&] {
    MeetingOptions options = options_;
    options.join = true;
    Ranks ranks({}, options);
    EXPECT_EQ(ranks.group()->rank(), 2);
    sum_over(*ranks.group());  // the check of the others
    ranks.confirm();
    EXPECT_EQ(sum_over(*ranks.group(), three), 3);
  };
  std::thread joining;
  run(2, [&](Ranks& ranks) {
    met.arrive_and_wait();
    const bool first = ranks.group()->rank() == 0;
    EXPECT_FALSE(ranks.grow({}));  // nobody waits
    if (first) joining = std::thread(joins);
    while (first && !ranks.ranks_wait()) std::this_thread::yield();
    EXPECT_TRUE(ranks.grow([&](collectives::Group& group) { sum_over(group); }));
    EXPECT_EQ(sum_over(*ranks.group(), three), 3);
    if (first) joining.join();
    EXPECT_THROW(sum_over(*ranks.group()), TransportError);
    EXPECT_THAT(ranks.shrink(), ElementsAre(2));
    left.arrive_and_wait();
  });
}

TEST_F(RanksTest, ANewRankThatIsRefusedIsTold) {
  const auto joins = [&] {
    MeetingOptions options = options_;
    options.join = true;
    Ranks ranks({}, options);
    try {
      ranks.confirm();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("the run continues without this rank ([test] too slow)"));
    }
  };
  std::thread joining;
  std::latch two(2);
  run(2, [&](Ranks& ranks) {
    const bool first = ranks.group()->rank() == 0;
    if (first) joining = std::thread(joins);
    while (first && !ranks.ranks_wait()) std::this_thread::yield();
    EXPECT_FALSE(ranks.grow([&](collectives::Group& group) {
      if (group.rank() == 1) throw Error("test", "too slow");
    }));
    EXPECT_EQ(sum_over(*ranks.group(), two), 2);  // the group is as before
    if (first) joining.join();
  });
}

TEST_F(RanksTest, OnlyElasticRunsTakeRanksIn) {
  options_.elastic = false;
  std::latch met(3);
  std::thread joins([&] {
    met.arrive_and_wait();
    MeetingFolder joining(options_.store);
    EXPECT_THROW(joining.wait_for_place(), Error);  // once the run has ended
  });
  run(2, [&](Ranks& ranks) {
    met.arrive_and_wait();
    if (ranks.group()->rank() != 0) return;
    MeetingFolder watches(options_.store);
    while (watches.waiting().empty()) std::this_thread::yield();
    EXPECT_FALSE(ranks.ranks_wait());
  });
  joins.join();
}

TEST(RankPlace, EnvironmentsThatDoNotFitAreNamed) {
  const auto refusal = [](const char* rank, const char* world) -> std::string {
    ::setenv("RANK", rank, 1);
    ::unsetenv("WORLD_SIZE");
    if (*world != 0) ::setenv("WORLD_SIZE", world, 1);
    try {
      find_rank_place();
    } catch (const Error& error) {
      ::unsetenv("RANK");
      ::unsetenv("WORLD_SIZE");
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(refusal("2", "2"), HasSubstr("RANK = 2 and WORLD_SIZE = 2 do not fit each other"));
  EXPECT_THAT(refusal("1", ""), HasSubstr("RANK = 1 and WORLD_SIZE (not set) do not fit"));
  for (const char* text : {"-1", "1x", ""}) {
    EXPECT_THAT(refusal(text, "2"), HasSubstr("RANK is '" + std::string(text) + "', not a number"));
  }
}

TEST_F(RanksTest, GlooNeedsAFolder) {
  options_.store.clear();
  try {
    Ranks ranks({0, 2, 2, false}, options_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("name one by --store or --out"));
  }
}

}  // namespace
}  // namespace tandem::apps
