// SPDX-License-Identifier: Apache-2.0
//
// PageState: what open pages ask for (GET /ui/state), in one answer.
//
// Many pages cost little more than one. The parts of the answer are made at most twice a second.
// Each answer says when its page asks again: after 2 s, or later if many pages are open. All pages
// together ask about 20 times a second. Threads: any.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "server/access/admin.h"
#include "server/generation_service.h"

namespace tandem::server {

// A text that several readers share. It is made again when it is older than `life`.
class SharedText {
 public:
  using Clock = std::chrono::steady_clock;

  SharedText(Clock::duration life, std::function<std::string()> make)
      : life_(life), make_(std::move(make)) {}

  // Returns the text. A reader waits while another one makes the text.
  std::string at(Clock::time_point now);

 private:
  const Clock::duration life_;
  const std::function<std::string()> make_;
  std::mutex mutex_;  // guards the members below
  Clock::time_point made_;
  std::string text_;  // empty: not made yet
};

// Computes the pause of a page between two requests from the number of open pages.
class PagePace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kShortest{2000}, kLongest{30000};

  // Counts a page that asks at `now`, and returns its pause.
  std::chrono::milliseconds ask(Clock::time_point now);

 private:
  std::mutex mutex_;  // guards the members below
  Clock::time_point begun_;
  std::chrono::milliseconds pause_ = kShortest;
  int asked_ = 0;  // requests since `begun_`; each page asks about once per pause
};

class PageState {
 public:
  PageState(const GenerationService& service, const Admin& admin);

  // {"next_ms": the page's pause, "status": as GET /status}; for the view of requests also
  // "sequences", as GET /status/requests, and for operators "clients", as GET /admin/requests.
  std::string text(bool with_requests, bool is_operator, SharedText::Clock::time_point now);

 private:
  PagePace pace_;
  SharedText status_, sequences_, clients_;
};

}  // namespace tandem::server
