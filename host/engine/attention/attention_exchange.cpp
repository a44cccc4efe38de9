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
      lent->add_unit(queue_.unit(), host_rows_of(*lane_of_[static_cast<std::size_t>(unit)]));
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

AttentionExchange::Early AttentionExchange::early_of(const AttentionLane& lane,
                                                     const device::AttentionUnit& unit) const {
  if (&lane == &queued_) return {};
  const device::AttentionCapacity capacity = unit.capacity();
  return {sends_early_query(options_.early_query, capacity, projection_seconds_),
          capacity.link_bandwidth_bytes_per_s > 0};
}

std::vector<StepWay> AttentionExchange::ways() const {
  bool has_link = false, has_ring = false;
  for (int unit = 0; unit < losses_.num_units(); ++unit) {
    const auto index = static_cast<std::size_t>(unit);
    if (!losses_.is_alive(unit)) continue;
    has_link |= early_[index].has_link;
    has_ring |= has_rings(*lane_of_[index]);
  }
  const bool is_open = options_.early_query == EarlyQuery::kAuto && has_link;
  std::vector<StepWay> ways = {{options_.early_query == EarlyQuery::kOn && has_link, has_ring}};
  if (is_open) ways.push_back({true, has_ring});
  if (!has_ring) return ways;
  for (std::size_t i = 0, count = ways.size(); i < count; ++i) {
    ways.push_back({ways[i].early_queries, false});
  }
  return ways;
}

// Each unit gets its lane and its queries for this step.
void AttentionExchange::apply_way() {
  sends_early_.clear();
  for (std::size_t unit = 0; unit < early_.size(); ++unit) {
    const bool chooses = way_ && options_.early_query == EarlyQuery::kAuto;
    sends_early_.push_back(chooses ? way_->early_queries && early_[unit].has_link
                                   : early_[unit].usual);
    if (!has_rings(*lane_of_[unit])) continue;
    const bool by_ring = !way_ || way_->rings;
    rings_.use_unit(static_cast<int>(unit), by_ring);
    host_->use_unit(static_cast<int>(unit), !by_ring);
  }
}

// A unit with a ring also gets rows for the engine's thread, which takes over where the ring is
// off.
HostRows AttentionExchange::host_rows_of(const AttentionLane& lane) const {
  return has_rings(lane) ? HostRows::kSlotAndTwins : lane.host_rows();
}

void AttentionExchange::add_to_lanes(AttentionLane& lane, int unit, device::AttentionUnit& device) {
  lane.add_unit(unit, device);
  if (!has_rings(lane)) return;
  try {
    host_->add_unit(unit, device);
  } catch (...) {
    lane.remove_unit(unit);
    throw;
  }
}

bool AttentionExchange::add_unit(device::AttentionUnit& unit) {
  const int index = losses_.num_units();
  AttentionLane& lane = lane_for(unit);
  const Early early = early_of(lane, unit);
  losses_.reserve_unit();
  lane_of_.reserve(lane_of_.size() + 1);
  early_.reserve(early_.size() + 1);
  add_to_lanes(lane, index, unit);
  try {
    if (lent_) lent_->add_unit(queue_.unit(), host_rows_of(lane));
  } catch (...) {
    lane.remove_unit(index);
    if (has_rings(lane)) host_->remove_unit(index);
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
  const Early early = early_of(lane, with);
  if (lent_) lent_->set_unit(index, queue_.unit(), host_rows_of(lane));
  add_to_lanes(lane, unit, with);
  AttentionLane*& known = lane_of_[index];
  if (known != &lane) {
    // A unit with a ring is in the host lane, too: there it takes the place of the lost one.
    const bool stays = known == host_.get() && has_rings(lane);
    if (!stays) known->remove_unit(unit);
    if (has_rings(*known) && &lane != host_.get()) host_->remove_unit(unit);
  }
  known = &lane;
  early_[index] = early;
  losses_.replace_unit(unit);
  for (SetAside& aside : set_aside_) std::erase(aside.units, unit);
  std::erase_if(set_aside_, [](const SetAside& aside) { return aside.units.empty(); });
}

void AttentionExchange::begin(const StepRows& rows) {
  if (!lent_) lent_ = make_lent();
  apply_way();
  step_ = {lent_.get(), &windows_, {}};
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
    sub_batches_[i] = &rows.sub_batch(i);
    step_.first_row[i] = rows.sub_batch(i).row_begin;
    for (std::size_t w = 0; w < windows_.distinct.size(); ++w) {
      lent_->layouts[i][w].build(rows.sub_batch(i).groups, options_.page_tokens, sends_early_,
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
  losses_.forget_refused();  // the step ends with an error anyway
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
