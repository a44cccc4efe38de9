// SPDX-License-Identifier: Apache-2.0
//
// The output of `tandem bench`: a table, or one JSON object per line and figure, with the same
// members as the programs in benchmarks/.
//
// Threads: one. Errors: none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/models/bench/measure.h"

namespace tandem::apps::bench {

// The facts that all figures of a run have in common.
struct RunFacts {
  const model::ModelConfig* model = nullptr;
  std::string weights;  // the type of most weights, as loaded
  std::uint64_t weight_bytes = 0;
  std::string compute, attention, kv_dtype, command;
  int threads = 0;
  int samples_wanted = 0;
};

class Report {
 public:
  Report(RunFacts facts, bool as_json);

  void begin();
  void load(const std::vector<LoadTime>& times);
  void row(const RowResult& result);
  // Prints the meaning of the table's words and marks.
  void end();
  // One line per sample, for scripts that measure in turns; JSON only.
  void turn(const RowResult& result);

 private:
  void text_row(const RowResult& result) const;
  nlohmann::ordered_json figure(const std::string& name, const std::vector<double>& values,
                                const std::string& unit) const;
  void print(const nlohmann::ordered_json& line) const;

  RunFacts facts_;
  bool as_json_;
};

}  // namespace tandem::apps::bench
