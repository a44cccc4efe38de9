// SPDX-License-Identifier: Apache-2.0
//
// Writes the line at the end: [server] request id=... key=... route=... status=... and counts.
#include "server/access/request_record.h"

#include <openssl/rand.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/log_event.h"

namespace tandem::server {
namespace {

constexpr std::size_t kMaxIdBytes = 128;

bool is_request_id(std::string_view text) {
  constexpr std::string_view kMarks = "._:/+=@-";
  const auto fits = [&](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kMaxIdBytes && std::all_of(text.begin(), text.end(), fits);
}

const char* name_of(http::ExchangeEnd how) {
  switch (how) {
    case http::ExchangeEnd::kComplete:
      return "complete";
    case http::ExchangeEnd::kClientGone:
      return "client_gone";
    case http::ExchangeEnd::kClientSlow:
      return "client_slow";
    case http::ExchangeEnd::kServerClosed:
      return "server_closed";
    case http::ExchangeEnd::kFailed:
      break;
  }
  return "failed";
}

const char* name_of(CutShort reason) {
  switch (reason) {
    case CutShort::kCancelled:
      return "cancelled";
    case CutShort::kDeadline:
      return "deadline";
    case CutShort::kStopped:
      return name_of(http::ExchangeEnd::kServerClosed);
    case CutShort::kFailed:
      break;
  }
  return "failed";
}

}  // namespace

std::string request_id(std::string_view given) {
  if (is_request_id(given)) return std::string(given);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  std::string id;
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

RequestRecord::RequestRecord(RequestIdentity identity, trace::Metrics* metrics,
                             std::function<void()> on_end)
    : identity_(std::move(identity)), metrics_(metrics), on_end_(std::move(on_end)) {}

RequestRecord::~RequestRecord() { end(0, http::ExchangeEnd::kClientGone); }

std::shared_ptr<const ApiKey> RequestRecord::key() const {
  const std::lock_guard lock(mutex_);
  return caller_.key;
}

std::string RequestRecord::caller() const {
  const auto key = this->key();
  return key == nullptr ? std::string() : key->name;
}

void RequestRecord::set_caller(Caller caller) {
  const std::lock_guard lock(mutex_);
  caller_ = std::move(caller);
}

std::optional<LimitReached> RequestRecord::take_place() {
  const std::lock_guard lock(mutex_);
  if (!caller_ || has_place_) return std::nullopt;
  auto reached = caller_.usage->begin(caller_.key->limits);
  has_place_ = !reached;
  return reached;
}

bool RequestRecord::add_generation(GenerationId id) {
  spdlog::debug("[server] {}: generation {} submitted", identity_.id, id);
  const std::lock_guard lock(mutex_);
  generations_.push_back(id);
  return !cancelled_;
}

void RequestRecord::add_tokens(int prompt, int completion) {
  prompt_tokens_ += prompt;
  completion_tokens_ += completion;
  Caller caller;
  {
    const std::lock_guard lock(mutex_);
    caller = caller_;
  }
  if (caller) caller.usage->add_tokens(caller.key->limits, std::int64_t{prompt} + completion);
}

void RequestRecord::set_queue_seconds(double seconds) {
  double before = queue_seconds_;
  while (before < seconds && !queue_seconds_.compare_exchange_weak(before, seconds)) {
  }
}

std::vector<GenerationId> RequestRecord::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  return generations_;
}

bool RequestRecord::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

std::size_t RequestRecord::num_generations() const {
  const std::lock_guard lock(mutex_);
  return generations_.size();
}

double RequestRecord::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

void RequestRecord::note_cut_short(CutShort reason) {
  const std::lock_guard lock(mutex_);
  if (!cut_short_) cut_short_ = reason;
}

void RequestRecord::set_error(std::string word) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(word);
}

std::string RequestRecord::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

const char* RequestRecord::outcome(http::ExchangeEnd how) const {
  const std::lock_guard lock(mutex_);
  return cut_short_ ? name_of(*cut_short_) : name_of(how);
}

void RequestRecord::end(std::uint64_t bytes, http::ExchangeEnd how) {
  if (ended_.exchange(true)) return;
  Caller caller;
  bool has_place = false;
  {
    const std::lock_guard lock(mutex_);
    caller = caller_;
    has_place = std::exchange(has_place_, false);
  }
  if (has_place) caller.usage->end();
  if (metrics_ != nullptr && caller) {
    metrics_->count_key_request(caller.key->name, status_);
    metrics_->count_key_tokens(caller.key->name, prompt_tokens_, completion_tokens_);
  }
  const bool is_good = status_ == 200 && how == http::ExchangeEnd::kComplete;
  log_line(identity_.is_watch && is_good ? LogLevel::kDebug : LogLevel::kInfo, bytes, outcome(how));
  if (on_end_) on_end_();
}

void RequestRecord::log_line(LogLevel level, std::uint64_t bytes, const char* outcome) const {
  const std::string name = caller();
  std::vector<LogField> fields = {{"id", identity_.id}};
  if (!name.empty()) fields.push_back({"key", name});
  if (!identity_.peer.empty()) fields.push_back({"client", identity_.peer});
  fields.insert(fields.end(), {{"method", identity_.method},
                               {"route", identity_.route},
                               {"status", std::int64_t{status_}}});
  const std::string word = error();
  if (!word.empty()) fields.push_back({"error", word});
  fields.push_back({"bytes", static_cast<std::int64_t>(bytes)});
  if (num_generations() > 0) {
    fields.insert(fields.end(), {{"prompt_tokens", std::int64_t{prompt_tokens_}},
                                 {"completion_tokens", std::int64_t{completion_tokens_}},
                                 {"queue_seconds", queue_seconds_.load()}});
  }
  fields.push_back({"seconds", seconds()});
  fields.push_back({"outcome", outcome});
  log_event(level, "[server] request", fields);
}

}  // namespace tandem::server
