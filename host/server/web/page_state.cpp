// SPDX-License-Identifier: Apache-2.0
//
// The parts are JSON already, so they are joined as text.
#include "server/web/page_state.h"

#include <algorithm>

namespace tandem::server {
namespace {

constexpr std::chrono::milliseconds kLife{500};
constexpr std::chrono::milliseconds kPerPage{50};  // 20 questions a second

}  // namespace

std::string SharedText::at(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (text_.empty() || now - made_ >= life_) {
    text_ = make_();
    made_ = now;
  }
  return text_;
}

std::chrono::milliseconds PagePace::ask(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (now - begun_ >= pause_) {
    pause_ = std::clamp(asked_ * kPerPage, kShortest, kLongest);
    begun_ = now;
    asked_ = 0;
  }
  ++asked_;
  return pause_;
}

PageState::PageState(const GenerationService& service, const Admin& admin)
    : status_(kLife, [&service] { return service.status_json(); }),
      sequences_(kLife, [&service] { return service.sequences_json(); }),
      clients_(kLife, [&admin] { return admin.requests().body; }) {}

std::string PageState::text(bool with_requests, bool is_operator,
                            SharedText::Clock::time_point now) {
  std::string result = "{\"next_ms\":" + std::to_string(pace_.ask(now).count());
  result += ",\"status\":" + status_.at(now);
  if (with_requests) result += ",\"sequences\":" + sequences_.at(now);
  if (with_requests && is_operator) result += ",\"clients\":" + clients_.at(now);
  return result + "}";
}

}  // namespace tandem::server
