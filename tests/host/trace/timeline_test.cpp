// SPDX-License-Identifier: Apache-2.0
//
// What a timeline leaves in its file.
#include "trace/timeline.h"

#include <gmock/gmock.h>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "common/error.h"
#include "support/scratch_path.h"
#include "support/timeline_check.h"

namespace tandem::trace {
namespace {

using namespace std::chrono_literals;

class TimelineFile : public testing::Test {
 protected:
  const test::ScratchPath scratch_{"timeline.json"};
  const std::string path_ = scratch_.string();
};

TEST_F(TimelineFile, HoldsSpansByDeviceAndTrack) {
  const auto start = Timeline::Clock::now();
  {
    Timeline timeline(path_);
    const TrackId steps = timeline.track("engine", "steps"),
                  ops = timeline.track("cpu \"0\"", "ops");
    EXPECT_EQ(timeline.track("engine", "steps").track, steps.track) << "made once";
    EXPECT_NE(timeline.track("engine", "other").track, steps.track);
    timeline.span(steps, "step", start + 1ms, start + 3ms);
    timeline.span(ops, "linear", start + 1500us, start + 2500us, {3, 1, 8, 4096});
    EXPECT_TRUE(timeline.close());
  }
  const auto tracks = test::read_timeline(path_);
  const auto& step = tracks.at({"engine", "steps"}).at(0);
  EXPECT_EQ(step.name, "step");
  EXPECT_NEAR(step.end - step.begin, 2000, 0.01);
  const auto& linear = tracks.at({"cpu \"0\"", "ops"}).at(0);
  EXPECT_NEAR(linear.begin - step.begin, 500, 0.01);
  EXPECT_EQ(linear.args,
            (nlohmann::json{{"layer", 3}, {"sub_batch", 1}, {"rows", 8}, {"bytes", 4096}}));
  test::expect_nested(tracks);
}

TEST_F(TimelineFile, TakesSpansFromSeveralThreads) {
  {
    Timeline timeline(path_);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&timeline, i] {
        const TrackId track = timeline.track("device", std::to_string(i));
        for (int n = 0; n < 500; ++n) {
          const Span outer(&timeline, track, "outer");
          const Span inner(&timeline, track, "inner");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const auto tracks = test::read_timeline(path_);
  EXPECT_EQ(tracks.size(), 4u);
  for (const auto& [id, spans] : tracks) EXPECT_EQ(spans.size(), 1000u);
  test::expect_nested(tracks);
}

TEST_F(TimelineFile, EndsAtItsLimitWithAnEventThatSaysSo) {
  constexpr std::size_t kLimit = 4000;
  {
    Timeline timeline(path_, kLimit);
    const TrackId steps = timeline.track("engine", "steps");
    timeline.span(steps, "step", Timeline::Clock::now(), Timeline::Clock::now());
    EXPECT_FALSE(timeline.is_full());
    for (int i = 0; i < 1000; ++i) timeline.span(steps, "step", {}, {});
    timeline.track("engine", "later");
    EXPECT_TRUE(timeline.is_full());
    EXPECT_TRUE(timeline.close()) << "what was to be written is";
  }
  EXPECT_LT(std::filesystem::file_size(path_), kLimit + 400);
  const auto events = nlohmann::json::parse(std::ifstream(path_)).at("traceEvents");
  EXPECT_GT(events.size(), 10u);
  EXPECT_THAT(events.back().at("name").get<std::string>(), testing::HasSubstr("ends here"));
}

TEST_F(TimelineFile, SaysWhyItCannotBeWritten) {
  try {
    Timeline timeline("/nonexistent/timeline.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'/nonexistent/timeline.json': No such file"));
  }
}

TEST_F(TimelineFile, DropsSpansWhenTheDiskIsFull) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_THROW(Timeline("/dev/full"), Error);
}

TEST_F(TimelineFile, SaysInTheEndThatItCouldNotBeWritten) {
  {
    Timeline whole(path_);
    EXPECT_TRUE(whole.close());
    whole.span(whole.track("engine", "steps"), "late", {}, {});
    EXPECT_TRUE(whole.close()) << "once closed, it takes no more";
  }
  EXPECT_NO_THROW(test::read_timeline(path_));
  Timeline timeline(path_);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const TrackId track = timeline.track("engine", "steps");
  for (int i = 0; i < 10; ++i) timeline.span(track, "step", {}, {});
  const bool complete = timeline.close();  // what is still in the buffer counts too
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(complete);
}

TEST(Span, DoesNothingWithoutATimeline) { const Span span(nullptr, {}, "nothing"); }

}  // namespace
}  // namespace tandem::trace
