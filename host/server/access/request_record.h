// SPDX-License-Identifier: Apache-2.0
//
// RequestRecord: the data that the server keeps about one request, from its head to the end of its
// answer.
//
// It has the id and the key, occupies one of the key's concurrent requests, and counts tokens. It
// logs one line when the exchange ends: in end(), or in the destructor if nobody called end().
// Threads: any; the fields of RequestIdentity are set before other threads see the record.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/log_event.h"
#include "server/access/key_store.h"
#include "server/generation_service.h"
#include "server/http/exchange.h"
#include "trace/metrics.h"

namespace tandem::server {

struct RequestIdentity {
  std::string id;
  std::string method, route;  // the route of the table, not the client's path
  std::string peer;           // address of the client
  bool is_watch = false;      // a frequent status request: only failures are logged at level info
};

// Returns the client's own id (X-Request-Id) if it has 1 to 128 letters, digits or ._:/+=@- ;
// otherwise a new id of 32 hexadecimal digits.
std::string request_id(std::string_view given);

// The reason why an answer is incomplete.
enum class CutShort {
  kCancelled,  // by an operator
  kDeadline,   // the time limit of a request has passed
  kFailed,     // the service failed after the stream had begun
  kStopped,    // the server stops, and has told the client
};

class RequestRecord {
 public:
  // `metrics` may be null. `on_end` is called once.
  RequestRecord(RequestIdentity identity, trace::Metrics* metrics, std::function<void()> on_end);
  ~RequestRecord();
  RequestRecord(const RequestRecord&) = delete;
  RequestRecord& operator=(const RequestRecord&) = delete;

  const RequestIdentity& identity() const { return identity_; }
  const std::string& id() const { return identity_.id; }
  std::string caller() const;  // the key's name; empty without one
  std::shared_ptr<const ApiKey> key() const;

  void set_caller(Caller caller);
  // Takes one of the key's concurrent requests until the end; otherwise returns the limit reached.
  std::optional<LimitReached> take_place();

  // Adds a running generation of this request. False: the request is already cancelled, so the
  // caller must cancel the generation.
  bool add_generation(GenerationId id);
  void add_tokens(int prompt, int completion);
  void set_queue_seconds(double seconds);  // the longest time is kept
  void set_status(int status) { status_ = status; }
  void set_error(std::string word);  // of the error that the client got; see openai::error_word()

  // An operator ends the request: marks it and returns its generations.
  std::vector<GenerationId> cancel();
  bool is_cancelled() const;

  // Sets the reason that the log names instead of the end of the exchange. Only the first call
  // counts.
  void note_cut_short(CutShort reason);

  void end(std::uint64_t bytes, http::ExchangeEnd how);

  double seconds() const;  // since the head arrived
  int prompt_tokens() const { return prompt_tokens_; }
  int completion_tokens() const { return completion_tokens_; }
  int status() const { return status_; }  // 0: no answer yet
  std::size_t num_generations() const;

 private:
  const char* outcome(http::ExchangeEnd how) const;
  std::string error() const;
  void log_line(LogLevel level, std::uint64_t bytes, const char* outcome) const;

  const RequestIdentity identity_;
  trace::Metrics* const metrics_;
  const std::function<void()> on_end_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<int> status_{0}, prompt_tokens_{0}, completion_tokens_{0};
  std::atomic<double> queue_seconds_{0};
  std::atomic<bool> ended_{false};
  mutable std::mutex mutex_;  // guards the members below
  Caller caller_;
  bool has_place_ = false, cancelled_ = false;
  std::optional<CutShort> cut_short_;
  std::string error_;
  std::vector<GenerationId> generations_;
};

}  // namespace tandem::server
