// SPDX-License-Identifier: Apache-2.0
//
// Calls the lanes in order for each part of a place.
#include "engine/attention/attention_exchange.h"

#include <algorithm>

#include "engine/attention/early_query.h"
#include "engine/attention/staged_lane.h"

namespace tandem::engine {
namespace {

std::unique_ptr<HostLane> make_host_lane(const LaneContext& context) {
  if (context.queue.is_host_memory()) return std::make_unique<HostLane>(context);
  return std::make_unique<StagedLane>(context);
}

}  // namespace

AttentionExchange::AttentionExchange(const model::ModelConfig& config, ComputeQueue& queue,
                                     const ExecutorOptions& options, double projection_seconds)
    : queue_(queue),
      options_(options),
      projection_seconds_(projection_seconds),
      windows_(config),
      context_(queue, config, options, losses_),
      chunks_(context_),
      attention_(allocate_floats(queue.unit(), static_cast<std::size_t>(options.max_rows),
                                 context_.q_width, device::MemoryKind::kDevice)),
      rings_(context_),
      host_(make_host_lane(context_)),
      queued_(context_),
      lanes_{&rings_, host_.get(), &queued_} {
  lent_ = make_lent();
}

std::unique_ptr<LentBuffers> AttentionExchange::make_lent() {
  auto lent = std::make_unique<LentBuffers>(queue_.unit(), context_.config,
                                            static_cast<std::size_t>(options_.max_rows));
  for (int unit = 0; unit < losses_.num_units(); ++unit) {
    if (losses_.is_alive(unit)) {
      lent->add_unit(queue_.unit(), lane_of_[static_cast<std::size_t>(unit)]->host_rows());
    } else {
      lent->add_nothing();
    }
  }
  for (auto& layouts : lent->layouts) layouts.resize(windows_.distinct.size());
  return lent;
}

AttentionLane& AttentionExchange::lane_for(const device::AttentionUnit& unit) {
  if (unit.works_in_queue_of(queue_.unit())) return queued_;
  const bool has_rings = options_.rings &&
                         device::supports<device::PostOp, device::AwaitOp>(queue_.unit()) &&
                         !queue_.is_host_memory();
  if (has_rings && unit.may_have_own_thread()) return rings_;
  return *host_;
}

bool AttentionExchange::is_early(const AttentionLane& lane,
                                 const device::AttentionUnit& unit) const {
  return &lane != &queued_ &&
         sends_early_query(options_.early_query, unit.capacity(), projection_seconds_);
}

bool AttentionExchange::add_unit(device::AttentionUnit& unit) {
  const int index = losses_.num_units();
  AttentionLane& lane = lane_for(unit);
  const bool early = is_early(lane, unit);
  losses_.reserve_unit();
  lane_of_.reserve(lane_of_.size() + 1);
  early_.reserve(early_.size() + 1);
  lane.add_unit(index, unit);
  try {
    if (lent_) lent_->add_unit(queue_.unit(), lane.host_rows());
  } catch (...) {
    lane.remove_unit(index);
    throw;
  }
  losses_.add_unit();
  lane_of_.push_back(&lane);
  early_.push_back(early);
  return lane.has_own_threads();
}

// The lost unit waits for nothing any more, since it has been destroyed.
void AttentionExchange::replace_unit(int unit, device::AttentionUnit& with) {
  const auto index = static_cast<std::size_t>(unit);
  AttentionLane& lane = lane_for(with);
  const bool early = is_early(lane, with);
  if (lent_) lent_->set_unit(index, queue_.unit(), lane.host_rows());
  lane.add_unit(unit, with);
  AttentionLane*& known = lane_of_[index];
  if (known != &lane) known->remove_unit(unit);
  known = &lane;
  early_[index] = early;
  losses_.replace_unit(unit);
  for (SetAside& aside : set_aside_) std::erase(aside.units, unit);
  std::erase_if(set_aside_, [](const SetAside& aside) { return aside.units.empty(); });
}

void AttentionExchange::begin(const StepRows& rows) {
  if (!lent_) lent_ = make_lent();
  step_ = {lent_.get(), &windows_, {}};
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
    sub_batches_[i] = &rows.sub_batch(i);
    step_.first_row[i] = rows.sub_batch(i).row_begin;
    for (std::size_t w = 0; w < windows_.distinct.size(); ++w) {
      lent_->layouts[i][w].build(rows.sub_batch(i).groups, options_.page_tokens, early_,
                                 windows_.distinct[w]);
    }
  }
  for (AttentionLane* lane : lanes_) lane->begin(step_);
}

Projections AttentionExchange::projections(std::size_t sub_batch) const {
  const std::size_t begin = step_.first_row[sub_batch];
  return {row(lent_->rows.q, begin, context_.q_width), row(lent_->rows.k, begin, context_.kv_width),
          row(lent_->rows.v, begin, context_.kv_width)};
}

bool AttentionExchange::queries_go_first(const StepPlace& place) const {
  return std::ranges::any_of(step_.layout(place).shares, [](const UnitShare& share) {
    return share.part == SharePart::kQueries;
  });
}

bool AttentionExchange::send_queries(const StepPlace& place) {
  return std::ranges::all_of(lanes_,
                             [&](AttentionLane* lane) { return lane->send_queries(place); });
}

bool AttentionExchange::launch(const StepPlace& place) {
  for (AttentionLane* lane : lanes_) lane->bring_rows(place);
  const auto reads = [&](const AttentionLane* lane) { return lane->reads_rows(place); };
  const bool waits = std::ranges::any_of(lanes_, reads);
  const device::Ticket rows_ready = waits ? queue_.record() : 0;
  // Lanes with queued work enqueue it before the wait. Lanes that work inside the call do so after
  // it.
  for (AttentionLane* lane : lanes_) {
    if (!reads(lane) && !lane->submit(place)) return false;
  }
  if (!queue_.is_host_memory()) chunks_.attend(step_, place);
  if (waits) queue_.wait(rows_ready);
  for (AttentionLane* lane : lanes_) {
    if (reads(lane) && !lane->submit(place)) return false;
  }
  if (queue_.is_host_memory()) chunks_.attend(step_, place);
  return true;
}

bool AttentionExchange::collect(std::size_t sub_batch) {
  bool complete = true;
  for (AttentionLane* lane : lanes_) complete &= lane->collect(sub_batch);
  losses_.throw_refused();
  return complete;
}

bool AttentionExchange::finish() {
  bool complete = true;
  for (AttentionLane* lane : lanes_) complete &= lane->finish();
  losses_.throw_refused();
  return complete;
}

void AttentionExchange::abort() {
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
    for (AttentionLane* lane : lanes_) lane->collect(i);
  }
  for (AttentionLane* lane : lanes_) lane->abort();
  losses_.forget_refused();  // the step ends with an error as it is
  std::vector<int> stuck = losses_.take_stuck();
  if (!stuck.empty()) set_aside_.push_back({std::move(lent_), std::move(stuck)});
}

device::Slice AttentionExchange::merge(const StepPlace& place) {
  const AttentionLayout& layout = step_.layout(place);
  for (auto lane = lanes_.rbegin(); lane != lanes_.rend(); ++lane) (*lane)->return_results(place);
  const std::size_t begin = step_.first_row[place.sub_batch];
  if (layout.only_causal) return chunks_.o(begin);
  if (layout.only_share >= 0) {
    const UnitShare& share = layout.shares[static_cast<std::size_t>(layout.only_share)];
    return row(lent_->partial_of(share).o, begin, context_.q_width);
  }
  return merge_partials(layout, *sub_batches_[place.sub_batch]);
}

device::Slice AttentionExchange::merge_partials(const AttentionLayout& layout,
                                                const SubBatchRows& rows) {
  const std::size_t begin = rows.row_begin;
  merge_partials_.clear();
  for (const UnitShare& share : layout.shares) {
    if (share.rows.empty()) continue;
    const PartialBuffers& partial = lent_->partial_of(share);
    merge_partials_.push_back({row(partial.o, begin, context_.q_width),
                               row(partial.lse, begin, context_.q_heads), share.rows});
  }
  if (!layout.chunks.empty()) {
    merge_partials_.push_back({chunks_.o(begin), chunks_.lse(begin), layout.chunk_rows});
  }
  const device::Slice out = row(attention_, begin, context_.q_width);
  queue_.enqueue(device::MergeOp{static_cast<std::int64_t>(rows.num_rows), context_.config.q_heads,
                                 context_.config.head_dim, merge_partials_, out});
  return out;
}

}  // namespace tandem::engine
