// SPDX-License-Identifier: Apache-2.0
//
// The ranks exchange a letter and a text in rounds until no rank is working.
#include "training/trainer/run_with_heartbeat.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "collectives/collective.h"
#include "common/error.h"

namespace tandem::training {
namespace {

constexpr std::chrono::seconds kBetweenRounds{1};
constexpr std::string_view kModule = "[train] ";
constexpr char kAtWork = 'w', kDone = 'd', kFailed = 'f';

class Rounds {
 public:
  Rounds(collectives::Group& group, const Patience& patience)
      : group_(group),
        timeout_(std::max<std::chrono::milliseconds>(patience.timeout, 2 * kBetweenRounds)),
        at_work_(patience.at_work),
        thread_([this] { run(); }) {}
  ~Rounds() {
    end(kDone, {});
    if (thread_.joinable()) thread_.join();
  }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  void end(char letter, const std::string& text) {
    {
      const std::lock_guard lock(mutex_);
      if (word_.front() != kAtWork) return;
      word_ = letter + text;
    }
    ended_.notify_all();
  }

  // The last round's words, of every rank.
  const std::vector<std::string>& wait() {
    thread_.join();
    if (error_) std::rethrow_exception(error_);
    return words_;
  }

 private:
  void run() noexcept {
    try {
      do {
        exchange(next_word());
      } while (std::ranges::any_of(words_, [](const auto& word) { return word[0] == kAtWork; }));
    } catch (...) {
      error_ = std::current_exception();
      tell_without_the_group();
    }
  }

  void tell_without_the_group() {
    do {
      if (at_work_) at_work_();
    } while (next_word().front() == kAtWork);
  }

  std::string next_word() {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, kBetweenRounds, [&] { return word_.front() != kAtWork; });
    return word_;
  }

  void exchange(const std::string& word) {
    words_.clear();
    collectives::CallOptions options;
    options.timeout = timeout_;
    for (const auto& bytes :
         collectives::allgatherv(group_, std::as_bytes(std::span(word)), options)) {
      words_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }

  collectives::Group& group_;
  const std::chrono::milliseconds timeout_;
  const std::function<void()>& at_work_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::string word_{kAtWork};
  std::vector<std::string> words_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace

std::string run_with_heartbeat(collectives::Group* group, const Patience& patience,
                               const std::function<std::string()>& part) {
  if (group == nullptr || group->world() == 1) return part();
  Rounds rounds(*group, patience);
  try {
    rounds.end(kDone, part());
  } catch (const std::exception& error) {
    std::string text = error.what();
    if (text.starts_with(kModule)) text.erase(0, kModule.size());
    rounds.end(kFailed, text);
  }
  const std::vector<std::string>& words = rounds.wait();
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    if (words[rank].front() != kFailed) continue;
    throw Error("train", "rank " + std::to_string(rank) + ": " + words[rank].substr(1));
  }
  return words.front().substr(1);
}

}  // namespace tandem::training
