// SPDX-License-Identifier: Apache-2.0
//
// Sums and look-ups of the cost table.
#include "planner/cost/cost_model.h"

#include <algorithm>
#include <cmath>

namespace tandem::planner {
namespace {

constexpr double kWeightOfNewest = 1.0 / 8;
constexpr double kJump = 4;

template <typename List, typename Key, typename Member>
auto* find_in(List& list, const Key& key, Member member) {
  const auto found = std::ranges::find(list, key, member);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

AttentionWork& AttentionWork::operator+=(const AttentionWork& more) {
  rows += more.rows;
  tokens += more.tokens;
  pairs += more.pairs;
  return *this;
}

double AttentionCost::seconds(const AttentionWork& work) const {
  if (work.rows <= 0) return 0;
  const double bound = std::max(by_tokens(work.tokens), work.pairs * per_pair_s);
  return correction * (bound + work.rows * per_row_s);
}

AttentionWork AttentionCost::work_of(double rows, double held) const {
  return {rows, held * std::ceil(rows / rows_per_read), rows * held};
}

const AttentionCost* DeviceCost::attention_of(const AttentionKind& kind) const {
  return find_in(attention, kind, &AttentionCost::kind);
}

const DeviceCost* CostTable::find(std::string_view id) const {
  return find_in(devices, id, &DeviceCost::id);
}

double corrected(double correction, double predicted_s, double measured_s) {
  if (!(predicted_s > 0) || !(measured_s > 0)) return correction;
  const double ratio = measured_s / predicted_s;
  if (ratio > kJump || ratio < 1 / kJump) return correction * ratio;
  return correction * (1 + kWeightOfNewest * (ratio - 1));
}

}  // namespace tandem::planner
