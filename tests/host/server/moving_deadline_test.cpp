// SPDX-License-Identifier: Apache-2.0
//
// A deadline that is moved, cleared or closed. Timers of one context fire in the order of their
// times, however late they are looked at, so another one tells what has not passed.
#include "server/http/moving_deadline.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

namespace tandem::server::http {
namespace {

using namespace std::chrono_literals;

class MovingDeadlineTest : public testing::Test {
 protected:
  // The deadline leaves an 'A', the other timer a 'B'.
  std::function<void()> mark(char letter) {
    return [this, letter] { passed_ += letter; };
  }
  void look_after(std::chrono::milliseconds time) {
    other_.expires_after(time);
    other_.async_wait([this](const auto&) { passed_ += 'B'; });
  }

  boost::asio::io_context io_;
  boost::asio::steady_timer other_{io_};
  MovingDeadline deadline_{io_.get_executor()};
  std::string passed_;
};

TEST_F(MovingDeadlineTest, PassesOnce) {
  deadline_.set(1ms, mark('A'));
  io_.run();
  EXPECT_EQ(passed_, "A");
  deadline_.set(1ms, mark('A'));
  io_.restart();
  io_.run();
  EXPECT_EQ(passed_, "AA");
}

TEST_F(MovingDeadlineTest, IsMovedLater) {
  deadline_.set(1ms, mark('A'));
  deadline_.set(1h, mark('A'));
  other_.expires_after(20ms);
  other_.async_wait([this](const auto&) {
    passed_ += 'B';
    deadline_.close();
  });
  io_.run();
  EXPECT_EQ(passed_, "B");
}

TEST_F(MovingDeadlineTest, PassesAfterItWasMoved) {
  deadline_.set(1ms, mark('A'));
  deadline_.set(5ms, mark('A'));
  io_.run();
  EXPECT_EQ(passed_, "A");
}

TEST_F(MovingDeadlineTest, IsMovedEarlier) {
  deadline_.set(1h, mark('A'));
  deadline_.set(1ms, mark('A'));
  look_after(1s);  // set last, so it is the later one however slow this machine is
  io_.run();
  EXPECT_EQ(passed_, "AB");
}

TEST_F(MovingDeadlineTest, IsClearedAndSetAgain) {
  deadline_.set(1ms, mark('A'));
  deadline_.clear();
  look_after(20ms);
  io_.run();
  EXPECT_EQ(passed_, "B");
  deadline_.set(1ms, mark('A'));
  io_.restart();
  io_.run();
  EXPECT_EQ(passed_, "BA");
}

TEST_F(MovingDeadlineTest, ThatIsClosedHoldsNothing) {
  const auto held = std::make_shared<int>();
  deadline_.set(1h, [held] {});
  EXPECT_GT(held.use_count(), 1);
  deadline_.close();
  io_.run();
  EXPECT_EQ(held.use_count(), 1);
}

// Every request sets it: the timer is not asked each time, so no handler is left behind.
TEST_F(MovingDeadlineTest, MovesWithoutHandlers) {
  for (int i = 0; i < 100; ++i) deadline_.set(1h + std::chrono::milliseconds(i), mark('A'));
  EXPECT_EQ(io_.poll(), 0u);
  deadline_.close();
  EXPECT_EQ(io_.poll(), 1u);
}

}  // namespace
}  // namespace tandem::server::http
