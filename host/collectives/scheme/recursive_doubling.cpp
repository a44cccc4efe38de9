// SPDX-License-Identifier: Apache-2.0
//
// A sum in progress is a Reduced: sparse until the switch, dense from then on.
#include "collectives/scheme/recursive_doubling.h"

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/scheme/cost_model.h"
#include "collectives/scheme/dense_exchange.h"
#include "collectives/scheme/folding.h"
#include "collectives/scheme/received.h"
#include "tensor/sparse/merge.h"

namespace tandem::collectives {
namespace {

constexpr const char* kFoldPhase = "fold";
constexpr const char* kRoundPhase = "recursive doubling round";
constexpr const char* kUnfoldPhase = "unfold";

enum Form : std::uint64_t { kSparseForm = 0, kDenseForm = 1 };
constexpr double kFormBytes = 8;

// SparCML's delta: from this many entries on, dense takes less than COO.
bool dense_takes_less(double num_entries, Domain domain, DType wire) {
  const double value_bytes = domain.width * static_cast<double>(dtype_block_bytes(wire));
  const double index_bytes = domain.wide() ? 8 : 4;
  return domain.num_units > 0 && num_entries * (index_bytes + value_bytes) >=
                                     static_cast<double>(domain.num_units) * value_bytes;
}

// A dense sum for max could not tell absent units.
DenseSwitch usable_switch(DenseSwitch wanted, Reduction reduction) {
  return reduction == Reduction::kMax ? DenseSwitch::kNever : wanted;
}

class Doubling {
 public:
  Doubling(Communicator& ranks, Domain domain, DType type, const SchemeSettings& settings,
           DenseSwitch dense_switch)
      : ranks_(ranks),
        domain_(domain),
        type_(type),
        settings_(settings),
        partials_(of_partials(settings)),
        dense_switch_(usable_switch(dense_switch, settings.reduction)) {}

  Reduced run(Reduced sum);

 private:
  // `settings`: partials_ or, for own values and the finished sum, settings_.
  ByteBuffer message_of(const Reduced& sum, const SchemeSettings& settings) const;
  Reduced received(const char* phase, const Message& message, const SchemeSettings& settings) const;
  // Both forms; `lower` comes first in every addition.
  Reduced reduce(Reduced lower, Reduced upper) const;
  void round_partial(Reduced& sum) const;
  void finish(Reduced& sum) const;

  Communicator& ranks_;
  Domain domain_;
  DType type_;
  const SchemeSettings& settings_;
  SchemeSettings partials_;
  DenseSwitch dense_switch_;
};

ByteBuffer Doubling::message_of(const Reduced& sum, const SchemeSettings& settings) const {
  ByteBuffer message = new_message();
  if (const auto* dense = std::get_if<DenseVector>(&sum)) {
    append_value(message, std::uint64_t{kDenseForm});
    append_dense(*dense, {0, domain_.num_units}, settings.wire, message);
  } else {
    append_value(message, std::uint64_t{kSparseForm});
    append_encoded(std::get<SparseVector>(sum), settings, message);
  }
  return message;
}

Reduced Doubling::received(const char* phase, const Message& message,
                           const SchemeSettings& settings) const {
  MessageReader reader(ranks_, phase, message);
  const auto form = reader.value<std::uint64_t>();
  if (form == kSparseForm) {
    SparseVector vector = reader.vector(domain_, type_, settings_.reduction);
    reader.expect_end();
    return vector;
  }
  if (form != kDenseForm || dense_switch_ == DenseSwitch::kNever) {
    reader.reject("form " + std::to_string(form));
  }
  const std::uint64_t unit_bytes = domain_.width * dtype_block_bytes(settings.wire);
  if (reader.num_left() / unit_bytes < domain_.num_units) {  // before the allocation
    reader.reject(std::to_string(reader.num_left()) + " bytes of dense values");
  }
  DenseVector dense(domain_, type_, settings_.reduction);
  store_dense_message(reader, {0, domain_.num_units}, settings.wire, dense);
  return dense;
}

Reduced Doubling::reduce(Reduced lower, Reduced upper) const {
  const Reduction reduction = settings_.reduction;
  auto* sparse_lower = std::get_if<SparseVector>(&lower);
  auto* sparse_upper = std::get_if<SparseVector>(&upper);
  if (sparse_lower && sparse_upper) {
    const auto both =
        static_cast<double>(sparse_lower->num_entries() + sparse_upper->num_entries());
    if (dense_switch_ == DenseSwitch::kNever || !dense_takes_less(both, domain_, partials_.wire)) {
      const SparseVector parts[] = {std::move(*sparse_lower), std::move(*sparse_upper)};
      return merge(parts, reduction);
    }
    DenseVector dense = to_dense(*sparse_lower, reduction);
    reduce_into(dense, *sparse_upper, reduction);
    return dense;
  }
  // If one is sparse and one dense, the sparse one is added to the dense one on both sides of the
  // exchange, whichever rank has it.
  if (sparse_lower) {
    reduce_into(std::get<DenseVector>(upper), *sparse_lower, reduction);
    return upper;
  }
  if (sparse_upper) {
    reduce_into(std::get<DenseVector>(lower), *sparse_upper, reduction);
  } else {
    reduce_into(std::get<DenseVector>(lower), std::get<DenseVector>(upper), reduction);
  }
  return lower;
}

void Doubling::round_partial(Reduced& sum) const {
  if (auto* sparse = std::get_if<SparseVector>(&sum)) round_as_sent(*sparse, partials_);
}

void Doubling::finish(Reduced& sum) const {
  if (auto* sparse = std::get_if<SparseVector>(&sum)) {
    finish_sum(*sparse, settings_, ranks_.world());
  } else {
    finish_sum(std::get<DenseVector>(sum), {0, domain_.num_units}, settings_, ranks_.world());
  }
}

Reduced Doubling::run(Reduced sum) {
  const Folding folding(ranks_.world());
  round_as_sent(std::get<SparseVector>(sum), settings_);
  if (folding.hands_over(ranks_.rank())) {
    const int peer = ranks_.rank() - 1;
    ranks_.send(kFoldPhase, peer, message_of(sum, settings_));
    return received(kUnfoldPhase, ranks_.receive(kUnfoldPhase, peer), settings_);
  }
  const bool takes_over = folding.takes_over(ranks_.rank());
  if (takes_over) {
    const Message folded = ranks_.receive(kFoldPhase, ranks_.rank() + 1);
    sum = reduce(std::move(sum), received(kFoldPhase, folded, settings_));
    round_partial(sum);
  }
  const int place = folding.place(ranks_.rank());
  for (int distance = 1; distance < folding.active(); distance *= 2) {
    const bool own_values = distance == 1 && !takes_over;
    const int peer = folding.rank_at(place ^ distance);
    ByteBuffer message = message_of(sum, own_values ? settings_ : partials_);
    Reduced other = received(
        kRoundPhase, ranks_.send_receive(kRoundPhase, peer, std::move(message), peer), partials_);
    sum = (place & distance) == 0 ? reduce(std::move(sum), std::move(other))
                                  : reduce(std::move(other), std::move(sum));
    round_partial(sum);
  }
  finish(sum);
  if (takes_over) ranks_.send(kUnfoldPhase, ranks_.rank() + 1, message_of(sum, settings_));
  return sum;
}

}  // namespace

Reduced recursive_doubling(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                           DenseSwitch dense_switch) {
  const Domain domain = own.domain();
  const DType type = own.type();
  return Doubling(ranks, domain, type, settings, dense_switch).run(std::move(own));
}

namespace {

// Expected state of the block of `ranks` ranks.
struct BlockState {
  double num_ranks = 0;
  double entries = 0;
  bool dense = false;
};

class DoublingCost {
 public:
  DoublingCost(const Problem& problem, const LinkModel& link, DenseSwitch dense_switch)
      : problem_(problem),
        partials_(of_partials(problem)),
        sum_(problem, link),
        dense_switch_(usable_switch(dense_switch, problem.reduction)) {}

  Cost run(const ComputeModel& compute);

 private:
  BlockState single() const { return {1, union_of(problem_.union_entries, 1), false}; }

  BlockState merged(const BlockState& lower, const BlockState& upper) const {
    const double num_ranks = lower.num_ranks + upper.num_ranks;
    const bool dense =
        lower.dense || upper.dense ||
        (dense_switch_ == DenseSwitch::kWhenSmaller &&
         dense_takes_less(lower.entries + upper.entries, problem_.domain, partials_.wire));
    return {num_ranks, union_of(problem_.union_entries, num_ranks), dense};
  }

  double bytes(const BlockState& block, bool finished = false) const {
    const Problem& problem = finished || block.num_ranks == 1 ? problem_ : partials_;
    const auto units = static_cast<double>(problem.domain.num_units);
    return kFormBytes +
           (block.dense ? dense_message_bytes(problem, units)
                        : sparse_message_bytes(problem, units, block.entries,
                                               union_of(problem.union_blocks, block.num_ranks)));
  }

  void merge_work(const BlockState& a, const BlockState& b, const ComputeModel& compute) {
    const double entries = a.entries + b.entries;
    sum_.compute(merged(a, b).dense
                     ? static_cast<double>(problem_.domain.num_units) * problem_.domain.width *
                           compute.dense_s_per_value
                     : entries * (compute.merge_s_per_entry + compute.codec_s_per_entry));
  }

  void add_fold(const ComputeModel& compute);
  void add_round(std::vector<BlockState>& blocks, const Folding& folding, int distance,
                 const ComputeModel& compute);

  const Problem& problem_;
  Problem partials_;
  CostSum sum_;
  DenseSwitch dense_switch_;
};

void DoublingCost::add_fold(const ComputeModel& compute) {
  const double extra = Folding(problem_.world).extra();
  if (extra == 0) return;
  PhaseCost fold;
  fold.steps = fold.messages = 1;
  fold.sent = fold.received = bytes(single());
  fold.total_messages = extra;
  fold.total = extra * fold.sent;
  fold.inside = problem_.ranks_per_node > 1 ? 1 : 0;
  sum_.add(fold);
  merge_work(single(), single(), compute);
}

void DoublingCost::add_round(std::vector<BlockState>& blocks, const Folding& folding, int distance,
                             const ComputeModel& compute) {
  PhaseCost round;
  round.steps = round.messages = 1;
  round.total_messages = folding.active();
  const double reach = static_cast<double>(distance) * problem_.world / folding.active();
  round.inside = reach < problem_.ranks_per_node || one_node(problem_) ? 1 : 0;
  std::vector<BlockState> next;
  for (std::size_t at = 0; at < blocks.size(); at += 2) {
    const double lower = bytes(blocks[at]);
    const double upper = bytes(blocks[at + 1]);
    round.sent = std::max({round.sent, lower, upper});
    round.total += distance * (lower + upper);
    next.push_back(merged(blocks[at], blocks[at + 1]));
  }
  round.received = round.sent;
  sum_.add(round);
  merge_work(blocks[0], blocks[1], compute);
  blocks = std::move(next);
}

Cost DoublingCost::run(const ComputeModel& compute) {
  const Folding folding(problem_.world);
  add_fold(compute);
  std::vector<BlockState> blocks;
  for (int place = 0; place < folding.active(); ++place) {
    blocks.push_back(place < folding.extra() ? merged(single(), single()) : single());
  }
  for (int distance = 1; distance < folding.active(); distance *= 2) {
    add_round(blocks, folding, distance, compute);
  }
  if (folding.extra() > 0) {
    PhaseCost unfold;
    unfold.steps = unfold.messages = 1;
    unfold.sent = unfold.received = bytes(blocks.front(), true);
    unfold.total_messages = folding.extra();
    unfold.total = folding.extra() * unfold.sent;
    unfold.inside = problem_.ranks_per_node > 1 ? 1 : 0;
    sum_.add(unfold);
  }
  return sum_.result();
}

}  // namespace

Cost recursive_doubling_cost(const Problem& problem, const LinkModel& link,
                             const ComputeModel& compute, DenseSwitch dense_switch) {
  return DoublingCost(problem, link, dense_switch).run(compute);
}

}  // namespace tandem::collectives
