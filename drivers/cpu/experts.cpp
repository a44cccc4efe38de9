// SPDX-License-Identifier: Apache-2.0
//
// Experts: choice, groups, the two passes, and the sum.
#include "cpu/experts.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "cpu/kernels/rows/rows.h"
#include "cpu/slices.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kSmallSum = std::size_t{1} << 16;  // values; about as long as waking the team
constexpr std::size_t kSumParts = 64;

void check_weight(const Weight* weight, std::size_t out, std::size_t in) {
  const CpuWeight& mine = cpu_weight(weight, static_cast<std::int64_t>(out),
                                     static_cast<std::int64_t>(in), "experts: weight");
  if (!mine.multiplies()) throw Error("cpu", "experts: a weight was loaded as a table or a vector");
}

// Checks all experts, chosen or not, so that a wrong operation fails for any rows.
void check_weights(const ExpertsOp& op, std::size_t width, std::size_t ffn) {
  for (const Expert& expert : op.experts) {
    check_weight(expert.gate, ffn, width);
    check_weight(expert.up, ffn, width);
    check_weight(expert.down, width, ffn);
  }
}

}  // namespace

void Experts::choose(const ExpertsOp& op, const float* router) {
  const std::size_t count = op.experts.size();
  const auto rows = static_cast<std::size_t>(op.rows), used = static_cast<std::size_t>(op.used);
  choices_.resize(rows * used);
  std::vector<bool> taken(count);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* logits = router + row * count;
    const float most = *std::max_element(logits, logits + count);
    float sum = 0, chosen_sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += std::exp(logits[i] - most);
    std::fill(taken.begin(), taken.end(), false);
    for (std::size_t rank = 0; rank < used; ++rank) {
      std::size_t best = count;
      for (std::size_t i = 0; i < count; ++i) {
        if (!taken[i] && (best == count || logits[i] > logits[best])) best = i;
      }
      taken[best] = true;
      const float share = std::exp(logits[best] - most) / sum;
      chosen_sum += share;
      choices_[row * used + rank] = {static_cast<std::int32_t>(best), share, 0};
    }
    for (std::size_t rank = 0; op.normalise && rank < used; ++rank) {
      choices_[row * used + rank].share /= chosen_sum;
    }
  }
}

void Experts::group(const ExpertsOp& op) {
  group_of_.assign(op.experts.size(), -1);
  std::vector<Group> spare = std::move(groups_);  // keeps the lists' memory
  groups_.clear();
  const auto used = static_cast<std::size_t>(op.used);
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    std::int32_t& index = group_of_[static_cast<std::size_t>(choices_[i].expert)];
    if (index < 0) {
      index = static_cast<std::int32_t>(groups_.size());
      Group fresh;
      if (!spare.empty()) {
        fresh = std::move(spare.back());
        spare.pop_back();
      }
      fresh.expert = choices_[i].expert;
      fresh.rows.clear();
      groups_.push_back(std::move(fresh));
    }
    Group& mine = groups_[static_cast<std::size_t>(index)];
    choices_[i].slot = mine.rows.size();
    mine.rows.push_back(static_cast<std::int32_t>(i / used));
  }
  std::size_t slot = 0;
  for (Group& mine : groups_) {
    mine.first_slot = slot;
    slot += mine.rows.size();
  }
  for (Choice& choice : choices_) {
    const auto index = static_cast<std::size_t>(group_of_[static_cast<std::size_t>(choice.expert)]);
    choice.slot += groups_[index].first_slot;
  }
}

std::uint64_t Experts::widen(const ExpertsOp& op, const float* x, std::size_t width,
                             std::size_t ffn) {
  inputs_.clear();
  tasks_.clear();
  gate_.resize(std::max(gate_.size(), choices_.size() * ffn));
  up_.resize(gate_.size());
  for (const Group& mine : groups_) {
    const Expert& expert = op.experts[static_cast<std::size_t>(mine.expert)];
    RowSource input;
    input.x = x;
    input.rows = mine.rows.size();
    input.width = width;
    input.picks = mine.rows;
    Product product;
    product.input = inputs_.size();
    inputs_.push_back(input);
    for (const auto& [weight, to] : {std::pair(expert.gate, &gate_), std::pair(expert.up, &up_)}) {
      product.weight = static_cast<const CpuWeight*>(weight);
      product.out = to->data() + mine.first_slot * ffn;
      tasks_.push_back(product);
    }
  }
  return products_.run(inputs_, tasks_);
}

std::uint64_t Experts::narrow(const ExpertsOp& op, std::size_t width, std::size_t ffn) {
  inputs_.clear();
  tasks_.clear();
  down_.resize(std::max(down_.size(), choices_.size() * width));
  for (const Group& mine : groups_) {
    RowSource input;
    input.x = gate_.data() + mine.first_slot * ffn;
    input.up = up_.data() + mine.first_slot * ffn;
    input.rows = mine.rows.size();
    input.width = ffn;
    input.activation = op.activation;
    Product product;
    product.input = inputs_.size();
    product.weight =
        static_cast<const CpuWeight*>(op.experts[static_cast<std::size_t>(mine.expert)].down);
    product.out = down_.data() + mine.first_slot * width;
    inputs_.push_back(input);
    tasks_.push_back(product);
  }
  return products_.run(inputs_, tasks_);
}

std::uint64_t Experts::run(const ExpertsOp& op) {
  const auto count = static_cast<std::int64_t>(op.experts.size());
  if (op.rows < 0) throw Error("cpu", "experts: rows is negative");
  if (op.used < 1 || op.used > count) {
    throw Error("cpu", "experts: a row cannot use " + std::to_string(op.used) + " of " +
                           std::to_string(count) + " experts");
  }
  const CpuWeight& first = cpu_weight(op.experts.front().gate, 0, 0, "experts: weight");
  const auto rows = static_cast<std::size_t>(op.rows), used = static_cast<std::size_t>(op.used);
  const auto width = static_cast<std::size_t>(first.in_features());
  const auto ffn = static_cast<std::size_t>(first.out_features());
  check_weights(op, width, ffn);
  if (rows == 0) return 0;
  const float* x = floats(op.x, rows * width, "experts: x");
  float* out = floats(op.out, rows * width, "experts: out");
  choose(op, floats(op.router, rows * op.experts.size(), "experts: router"));
  group(op);
  const std::uint64_t bytes = widen(op, x, width, ffn) + narrow(op, width, ffn);
  const std::size_t parts = rows * used * width <= kSmallSum ? 1 : std::min(rows, kSumParts);
  team_.run(parts, [&](std::size_t part, std::size_t) {
    for (std::size_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
      for (std::size_t rank = 0; rank < used; ++rank) {
        const Choice& choice = choices_[row * used + rank];
        add_scaled(down_.data() + choice.slot * width, choice.share, width, out + row * width);
      }
    }
  });
  return bytes;
}

}  // namespace tandem::device::cpu
