// SPDX-License-Identifier: Apache-2.0
//
// Gloo ranks as processes over loopback: conformance with both stores, ranks that are killed or
// stopped amid large messages, and the groups of those that remain.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "host/transport/child_process.h"
#include "host/transport/gloo_world.h"

namespace tandem::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::ChildProcess;

#define SKIP_WITHOUT_GLOO() \
  if (!gloo::available()) GTEST_SKIP() << "this build has no libgloo"

using Ranks = std::vector<std::unique_ptr<ChildProcess>>;

std::unique_ptr<ChildProcess> start_rank(const std::string& scenario, int rank, int world,
                                         const std::string& store, int step_ms = 30000,
                                         int shrink_ms = 20000) {
  return std::make_unique<ChildProcess>(
      std::vector<std::string>{GLOO_RANK, scenario, std::to_string(rank), std::to_string(world),
                               store, std::to_string(step_ms), std::to_string(shrink_ms)});
}

Ranks start_ranks(const std::string& scenario, int world, const std::string& store,
                  int step_ms = 30000, int shrink_ms = 20000) {
  Ranks ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.push_back(start_rank(scenario, rank, world, store, step_ms, shrink_ms));
  }
  return ranks;
}

void expect_line(ChildProcess& rank, const std::string& start) {
  const auto line = rank.line();
  ASSERT_TRUE(line.has_value()) << "instead of " << start;
  EXPECT_TRUE(line->starts_with(start)) << *line << " instead of " << start;
}

// A Redis server of this test's own, on a free port of loopback.
class RedisServer {
 public:
  // Another program may take the port between the probe and the server.
  RedisServer() {
    for (int attempt = 0; attempt < 20; ++attempt) {
      port_ = free_port();
      server_ = std::make_unique<ChildProcess>(std::vector<std::string>{
          "/usr/bin/redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1", "--save",
          "", "--appendonly", "no", "--daemonize", "no"});
      while (const auto line = server_->line(Deadline::after(seconds(240)))) {
        if (line->find("accept connections") != std::string::npos) return;
      }
    }
    throw std::runtime_error("redis-server did not start");
  }
  static bool installed() { return std::filesystem::exists("/usr/bin/redis-server"); }
  int port() const { return port_; }
  std::string name() const { return "127.0.0.1:" + std::to_string(port_); }
  void signal(int number) const { server_->signal(number); }

 private:
  static int free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    ::bind(probe, reinterpret_cast<sockaddr*>(&address), length);
    ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length);
    ::close(probe);
    return ntohs(address.sin_port);
  }

  int port_ = 0;
  std::unique_ptr<ChildProcess> server_;
};

TEST(GlooProcesses, ConformWhenTheyMeetInADirectory) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  for (auto& rank : start_ranks("conform", 4, store.path())) {
    expect_line(*rank, "ok");
    EXPECT_EQ(rank->wait(), 0);
  }
}

TEST(GlooProcesses, ConformWhenTheyMeetInRedis) {
  SKIP_WITHOUT_GLOO();
  if (!RedisServer::installed()) GTEST_SKIP() << "redis-server is not installed";
  const RedisServer server;
  for (auto& rank : start_ranks("conform", 3, server.name())) {
    expect_line(*rank, "ok");
    EXPECT_EQ(rank->wait(), 0);
  }
  // The same prefix again: its keys are there.
  const auto again = start_rank("conform", 0, 3, server.name());
  const auto line = again->line();
  ASSERT_TRUE(line.has_value());
  EXPECT_NE(line->find("rank 0 of prefix 'tandem' is taken"), std::string::npos) << *line;
}

TEST(GlooProcesses, ALateProcessIsWaitedFor) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  const auto early = start_rank("conform", 0, 2, store.path());
  std::this_thread::sleep_for(milliseconds(300));
  const auto late = start_rank("conform", 1, 2, store.path());
  expect_line(*early, "ok");
  expect_line(*late, "ok");
}

void kill_one_amid_messages(const std::string& store) {
  auto ranks = start_ranks("stream", 4, store);
  for (auto& rank : ranks) expect_line(*rank, "streaming");
  ranks[1]->signal(SIGKILL);
  EXPECT_EQ(ranks[1]->wait(), -SIGKILL);
  int seen_the_death = 0;
  for (const int old_rank : {0, 2, 3}) {
    auto& rank = *ranks[static_cast<std::size_t>(old_rank)];
    const auto error = rank.line();
    ASSERT_TRUE(error.has_value());
    // The first to see it aborts; others may hear of that first. Nobody waits for a deadline.
    seen_the_death += error->starts_with("error lost 1 ");
    EXPECT_TRUE(error->starts_with("error lost ") || error->starts_with("error aborted "))
        << *error;
    expect_line(rank, "shrunk " + std::to_string(old_rank == 0 ? 0 : old_rank - 1) + " 3");
    EXPECT_EQ(rank.wait(), 0);
  }
  EXPECT_GE(seen_the_death, 1);
}

TEST(GlooProcesses, SurviveTheDeathOfOneAmidLargeMessages) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  kill_one_amid_messages(store.path());
}

TEST(GlooProcesses, SurviveTheDeathOfOneMeetingInRedis) {
  SKIP_WITHOUT_GLOO();
  if (!RedisServer::installed()) GTEST_SKIP() << "redis-server is not installed";
  const RedisServer server;
  kill_one_amid_messages(server.name());
}

TEST(GlooProcesses, LeaveAStoppedOneBehindWhichIsToldSoLater) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  // A loaded machine may hold a healthy rank up for some seconds: 5 were seen.
  auto ranks = start_ranks("stream", 3, store.path(), 15000, 20000);
  for (auto& rank : ranks) expect_line(*rank, "streaming");
  ranks[2]->signal(SIGSTOP);
  for (const int old_rank : {0, 1}) {
    auto& rank = *ranks[static_cast<std::size_t>(old_rank)];
    expect_line(rank, "error ");  // a timeout naming 2, or the other's abort because of it
    expect_line(rank, "shrunk " + std::to_string(old_rank) + " 2");
    EXPECT_EQ(rank.wait(), 0);
  }
  ranks[2]->signal(SIGCONT);
  expect_line(*ranks[2], "error ");
  const auto line = ranks[2]->line();
  ASSERT_TRUE(line.has_value());
  EXPECT_NE(line->find("formed without rank 2"), std::string::npos) << *line;
  EXPECT_EQ(ranks[2]->wait(), 1);
}

TEST(GlooProcesses, SayThatARedisServerIsAbsentOrSilent) {
  SKIP_WITHOUT_GLOO();
  if (!RedisServer::installed()) GTEST_SKIP() << "redis-server is not installed";
  gloo::Options options;
  options.world = 2;
  options.address = "127.0.0.1";
  options.redis_host = "127.0.0.1";
  const auto error_of = [&] {
    options.deadline = Deadline::after(milliseconds(300));
    try {
      gloo::connect(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  {
    const RedisServer server;
    options.redis_port = server.port();
    server.signal(SIGSTOP);
    EXPECT_NE(error_of().find("does not answer"), std::string::npos);
  }
  EXPECT_NE(error_of().find("is it running?"), std::string::npos);
}

}  // namespace
}  // namespace tandem::transport
