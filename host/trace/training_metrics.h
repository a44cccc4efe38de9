// SPDX-License-Identifier: Apache-2.0
//
// TrainingMetrics: a gradient reducer's figures for Prometheus; one object per process.
//
// Names begin with tandem_training_. Series have the label `bucket`; beyond kMaxBuckets names, the
// others count as "other". Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tandem::trace {

struct ReducerCall {
  double seconds = 0;
  double hidden_seconds = 0;
  std::uint64_t bytes_sent = 0;
  bool sparsified = false;  // if true, the three figures below are valid
  double density_asked = 0;
  double density_sent = 0;
  double build_up = 1;
  bool skipped = false;
  bool failed = false;
};

class TrainingMetrics {
 public:
  static constexpr std::size_t kMaxBuckets = 256;

  TrainingMetrics();
  ~TrainingMetrics();

  void observe_call(const std::string& bucket, const ReducerCall& call);
  void count_step();
  void set_residual_norm(double norm);

  // Prometheus text exposition format 0.0.4.
  std::string text() const;

 private:
  struct Registry;
  std::unique_ptr<Registry> registry_;
};

}  // namespace tandem::trace
