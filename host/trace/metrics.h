// SPDX-License-Identifier: Apache-2.0
//
// Metrics: the daemon's figures for Prometheus. One object per process; engine and server fill it.
//
// Names begin with tandem_; histograms are in seconds, counters end in _total.
// Threads: any; observing costs an atomic or two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tandem::trace {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Histograms, per request or per token.
  void observe_queue_seconds(double seconds);
  void observe_prefill_seconds(double seconds);
  void observe_decode_seconds(double seconds);
  void observe_time_to_first_token_seconds(double seconds);
  void observe_inter_token_seconds(double seconds);

  // The engine sets these gauges and counters after every step; totals must not decrease.
  void set_requests(int running, int waiting);
  void set_tokens_total(std::uint64_t prompt, std::uint64_t cached, std::uint64_t generated);
  void set_preemptions_total(std::uint64_t count);
  void set_rebuilt_sequences_total(std::uint64_t count);
  void set_moved_pages_total(std::uint64_t count);
  void set_refused_steps_total(std::uint64_t count);
  void set_parking_totals(std::uint64_t sequences, std::uint64_t tokens);
  void set_drafts_total(std::uint64_t drafted, std::uint64_t accepted);
  void count_finished(const std::string& reason);  // "stop", "length", "cancelled", "error"
  void set_unit_pages(const std::string& unit, std::uint32_t used, std::uint32_t total);
  void set_unit_alive(const std::string& unit, bool alive);
  void set_unit_losses_total(const std::string& unit, std::uint64_t count);
  void set_unit_totals(const std::string& unit, std::uint64_t launches, std::uint64_t bytes_to_unit,
                       std::uint64_t bytes_from_unit, double busy_seconds);
  void set_compute_totals(const std::string& device, std::uint64_t ops, std::uint64_t weight_bytes,
                          double busy_seconds);
  // Times of the last step. A negative time is unknown. `device` may be empty.
  void set_plan_part(const std::string& part, const std::string& device, double predicted_s,
                     double measured_s);
  void set_plan_steps_total(const std::string& mode, std::uint64_t count);
  // Whether the target for the time between tokens is missed now, and in how many steps it was.
  void set_target_missed(bool missed, std::uint64_t steps);
  void count_http(const std::string& route, int status);

  // Connections of clients; each that opens also closes.
  void count_connection_opened();
  void count_connection_closed();

  // Requests and tokens by API key. Beyond kMaxKeys names, the others count as "other".
  static constexpr std::size_t kMaxKeys = 256;
  void count_key_request(const std::string& key, int status);
  void count_key_tokens(const std::string& key, int prompt, int completion);

  // Prometheus text exposition format 0.0.4; figures of process and build are read now.
  std::string text() const;

 private:
  struct Registry;
  std::unique_ptr<Registry> registry_;
};

}  // namespace tandem::trace
