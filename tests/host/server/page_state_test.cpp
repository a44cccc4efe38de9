// SPDX-License-Identifier: Apache-2.0
//
// What the page asks for all the time: its parts, who gets them, and that many pages cost one.
#include "server/web/page_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "host/server/fake_service.h"
#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::HttpClient;
using test::Reply;
using test::RunningServer;
using namespace std::chrono_literals;

ServerOptions page_and_operators() {
  ServerOptions options;
  options.routes.serves_page = true;
  options.routes.admin_from_loopback = true;
  return options;
}

TEST(SharedText, IsMadeOnceForAllUntilItsLifeHasPassed) {
  int made = 0;
  SharedText text(500ms, [&] { return std::to_string(++made); });
  const SharedText::Clock::time_point begin{};
  EXPECT_EQ(text.at(begin), "1");
  EXPECT_EQ(text.at(begin + 499ms), "1");
  EXPECT_EQ(text.at(begin + 500ms), "2");
  EXPECT_EQ(text.at(begin + 999ms), "2");
  EXPECT_EQ(made, 2);
}

// Pages that begin within two seconds. Each asks again after the pause that it was told.
struct Pages {
  Pages(PagePace& pace, int count) : pace(pace), next(count) {
    for (int page = 0; page < count; ++page) next[page] = 1ms * (page * 2000 / count);
  }

  // Goes on for `seconds`, and returns how many questions came in the last of them.
  int run(int seconds) {
    int in_last_second = 0;
    for (int ms = 0; ms < 1000 * seconds; ++ms, ++now) {
      for (std::chrono::milliseconds& at : next) {
        if (at != now) continue;
        last = pace.ask(PagePace::Clock::time_point{} + now);
        at += last;
        in_last_second += ms >= 1000 * (seconds - 1);
      }
    }
    return in_last_second;
  }

  PagePace& pace;
  std::vector<std::chrono::milliseconds> next;
  std::chrono::milliseconds now{0}, last{0};
};

TEST(PagePace, AFewPagesAskEveryTwoSeconds) {
  PagePace pace;
  Pages pages(pace, 40);
  EXPECT_EQ(pages.run(60), 20);
  EXPECT_EQ(pages.last, 2s);
}

TEST(PagePace, ManyPagesTogetherAskTwentyTimesASecond) {
  PagePace pace;
  Pages pages(pace, 100);
  pages.run(60);
  EXPECT_GE(pages.last, 4500ms);
  EXPECT_LE(pages.last, 5500ms);
  int asked = 0;
  for (int second = 0; second < 60; ++second) asked += pages.run(1);
  EXPECT_NEAR(asked, 60 * 20, 60 * 2);
}

TEST(PagePace, AThousandPagesWaitHalfAMinute) {
  PagePace pace;
  Pages pages(pace, 1000);
  pages.run(120);
  EXPECT_EQ(pages.last, PagePace::kLongest);
}

TEST(PagePace, IsShortAgainWhenPagesHaveClosed) {
  PagePace pace;
  Pages pages(pace, 100);
  pages.run(60);
  pages.next.resize(10);
  pages.run(30);
  EXPECT_EQ(pages.last, 2s);
}

// Counts how often the engine is asked.
struct CountingService : test::FakeService {
  std::string status_json() const override { return "{\"asked\":" + std::to_string(++asked) + "}"; }
  std::string sequences_json() const override {
    return "{\"listed\":" + std::to_string(++listed) + "}";
  }
  mutable int asked = 0, listed = 0;
};

TEST(PageState, AsksTheEngineTwiceASecondAtMost) {
  CountingService service;
  const RequestLedger ledger(nullptr);
  const Admin admin(service, ledger, nullptr);
  PageState state(service, admin);
  const SharedText::Clock::time_point begin{};
  for (int page = 0; page < 100; ++page) {
    EXPECT_EQ(state.text(false, true, begin), R"({"next_ms":2000,"status":{"asked":1}})");
    EXPECT_EQ(state.text(true, false, begin + 499ms),
              R"({"next_ms":2000,"status":{"asked":1},"sequences":{"listed":1}})");
  }
  EXPECT_EQ(
      state.text(true, true, begin + 1000ms),
      R"({"next_ms":2000,"status":{"asked":2},"sequences":{"listed":2},"clients":{"requests":[]}})");
}

TEST(PageState, HasWhatTheViewShows) {
  RunningServer running({}, page_and_operators());
  HttpClient client(running.port());
  EXPECT_EQ(client.get("/ui/state").body, R"({"next_ms":2000,"status":{"devices":[]}})");
  const std::string sequences = client.get("/status/requests").body;
  const std::string body = client.get("/ui/state?requests").body;
  EXPECT_EQ(body, R"({"next_ms":2000,"status":{"devices":[]},"sequences":)" + sequences +
                      R"(,"clients":{"requests":[]}})")
      << "not even itself";
}

TEST(PageState, OfOperatorsIsNotForPagesOfOtherSites) {
  RunningServer running({}, page_and_operators());
  const Reply reply =
      HttpClient(running.port()).get("/ui/state?requests", "Origin: http://other.example\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, testing::HasSubstr("sequences"));
  EXPECT_THAT(reply.body, testing::Not(testing::HasSubstr("clients")));
}

TEST(PageState, NeedsTheRoleOfMetricsAndLeavesOutWhatOperatorsSee) {
  ServerOptions options = page_and_operators();
  ApiKey user("chat"), watcher("watch");
  user.roles = static_cast<unsigned>(Role::kUse);
  watcher.roles = static_cast<unsigned>(Role::kMetrics);
  options.routes.api_keys = {user, watcher};
  RunningServer running({}, options);
  HttpClient client(running.port());
  EXPECT_EQ(client.get("/ui/state").status, 401);
  EXPECT_EQ(client.get("/ui/state", "Authorization: Bearer chat\r\n").status, 403);
  const Reply reply = client.get("/ui/state?requests", "Authorization: Bearer watch\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, testing::Not(testing::HasSubstr("clients")));
  EXPECT_EQ(reply.headers.at("cache-control"), "no-store") << "keys see different parts";
}

TEST(PageState, IsOffWithThePage) {
  RunningServer running;
  EXPECT_EQ(HttpClient(running.port()).get("/ui/state").status, 404);
}

}  // namespace
}  // namespace tandem::server
