// SPDX-License-Identifier: Apache-2.0
//
// AttentionExchange: what is lent, when, and what comes back.
//
// On the order of copies: results are copied to the device, and rows from it, in the one queue of
// the compute unit. Before anything is lent again its copies have been waited for, so that a
// staged buffer is never written by two.
#include "engine/attention/attention_exchange.h"

#include <algorithm>

#include "common/error.h"
#include "engine/kv_cache/guarded_wait.h"

namespace tandem::engine {

using device::MemoryKind;
using device::Slice;
using device::WaitResult;

LayerWindows::LayerWindows(const model::ModelConfig& config) {
  for (int layer = 0; layer < config.num_layers; ++layer) {
    int window = config.window_of(layer);
    if (window >= config.context_length) window = 0;  // nothing is ever outside
    const auto found = std::ranges::find(distinct, window);
    index_of.push_back(static_cast<std::size_t>(found - distinct.begin()));
    if (found == distinct.end()) distinct.push_back(window);
  }
}

bool sends_early_query(EarlyQuery choice, const device::AttentionCapacity& unit,
                       double projection_seconds) {
  if (unit.link_bandwidth_bytes_per_s <= 0 || choice == EarlyQuery::kOff) return false;
  if (choice == EarlyQuery::kOn) return true;
  const double submission_seconds = unit.link_latency_us * 1e-6;
  return submission_seconds > 0 && projection_seconds > submission_seconds;
}

AttentionExchange::AttentionExchange(const model::ModelConfig& config, ComputeQueue& queue,
                                     const ExecutorOptions& options, double projection_seconds)
    : config_(config),
      queue_(queue),
      options_(options),
      projection_seconds_(projection_seconds),
      windows_(config),
      q_width_(static_cast<std::size_t>(config.q_heads) * config.head_dim),
      kv_width_(static_cast<std::size_t>(config.kv_heads) * config.head_dim),
      q_heads_(static_cast<std::size_t>(config.q_heads)) {
  const auto rows = static_cast<std::size_t>(options.max_rows);
  attention_ = allocate_floats(queue.unit(), rows, q_width_, MemoryKind::kDevice);
  causal_o_ = allocate_floats(queue.unit(), rows, q_width_, MemoryKind::kDevice);
  causal_lse_ = allocate_floats(queue.unit(), rows, q_heads_, MemoryKind::kDevice);
  lent_ = make_lent();
}

std::unique_ptr<LentBuffers> AttentionExchange::make_lent() {
  auto lent = std::make_unique<LentBuffers>(queue_.unit(), config_,
                                            static_cast<std::size_t>(options_.max_rows));
  for (const Unit& unit : units_) {
    if (unit.alive) {
      lent->add_unit(queue_.unit(), host_rows_of(unit));
    } else {
      lent->add_nothing();
    }
  }
  for (auto& layouts : lent->layouts) layouts.resize(windows_.distinct.size());
  return lent;
}

HostRows AttentionExchange::host_rows_of(const Unit& unit) const {
  if (queue_.is_host_memory() || unit.in_queue) return HostRows::kNone;
  return unit.ring ? HostRows::kSlot : HostRows::kTwins;
}

bool AttentionExchange::add_unit(device::AttentionUnit& unit) {
  const device::AttentionCapacity capacity = unit.capacity();
  Unit added;
  added.unit = &unit;
  added.in_queue = unit.works_in_queue_of(queue_.unit());
  added.has_link = !added.in_queue && capacity.link_bandwidth_bytes_per_s > 0;
  units_.reserve(units_.size() + 1);
  early_.reserve(early_.size() + 1);
  if (options_.rings && queue_.unit().signals() && !queue_.is_host_memory() && !added.in_queue &&
      unit.may_have_own_thread()) {
    added.ring = std::make_unique<AttentionRing>(unit, static_cast<int>(units_.size()), queue_,
                                                 config_, options_, step_failed_);
  }
  if (lent_) lent_->add_unit(queue_.unit(), host_rows_of(added));
  units_.push_back(std::move(added));
  early_.push_back(added.has_link &&
                   sends_early_query(options_.early_query, capacity, projection_seconds_));
  return units_.back().ring != nullptr;
}

void AttentionExchange::prepare(const StepRows& rows) {
  if (!lent_) lent_ = make_lent();
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
    sub_batches_[i].rows = &rows.sub_batch(i);
    for (std::size_t w = 0; w < windows_.distinct.size(); ++w) {
      lent_->layouts[i][w].build(rows.sub_batch(i).groups, options_.page_tokens, early_,
                                 windows_.distinct[w]);
    }
  }
  open_rings();
}

template <typename Call>
void AttentionExchange::for_rings(const Call& call) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].ring) call(static_cast<int>(i), *units_[i].ring);
  }
}

void AttentionExchange::open_rings() {
  if (rings_are_abandoned_) throw DeviceError("executor", "the compute unit was given up");
  RingStep step{lent_.get(), &windows_.index_of, {}};
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
    step.first_row[i] = sub_batches_[i].rows->row_begin;
  }
  step_failed_.store(false, std::memory_order_relaxed);
  for_rings([&](int, AttentionRing& ring) {
    ring.open(step);
    rings_are_open_ = true;
  });
}

// The units are the caller's again; what they did not do counts as a loss of theirs.
bool AttentionExchange::close_rings() {
  bool complete = true;
  if (!std::exchange(rings_are_open_, false)) return complete;
  for_rings([&](int index, AttentionRing& ring) {
    const RingFailure failure = ring.close();
    if (failure.refused) refused_ = failure.refused;
    if (!failure.lost) return;
    units_[static_cast<std::size_t>(index)].stuck = failure.stuck;
    lose(index);
    complete = false;
  });
  return complete;
}

// Lets the compute unit come to the end of what is enqueued: posts are answered at once.
void AttentionExchange::drain_rings() {
  if (!rings_are_open_) return;
  step_failed_.store(true, std::memory_order_relaxed);
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      return queue_.sync();
    } catch (const DeviceError&) {
      break;
    } catch (const std::exception&) {  // what was refused is gone; behind it there is nothing
    }
  }
  rings_are_abandoned_ = true;
  for_rings([](int, AttentionRing& ring) { ring.abandon(); });
}

const AttentionLayout& AttentionExchange::layout_of(int layer, std::size_t sub_batch) const {
  return lent_->layouts[sub_batch][windows_.index_of[static_cast<std::size_t>(layer)]];
}

Projections AttentionExchange::projections(std::size_t sub_batch) const {
  const std::size_t begin = sub_batches_[sub_batch].rows->row_begin;
  return {row(lent_->rows.q, begin, q_width_), row(lent_->rows.k, begin, kv_width_),
          row(lent_->rows.v, begin, kv_width_)};
}

bool AttentionExchange::queries_go_first(int layer, std::size_t sub_batch) const {
  return std::ranges::any_of(layout_of(layer, sub_batch).shares, [](const UnitShare& share) {
    return share.part == SharePart::kQueries;
  });
}

std::span<const RowSpan> AttentionExchange::staged_spans(const AttentionLayout& layout,
                                                         RowSpan UnitShare::*rows) {
  spans_.clear();
  for (const UnitShare& share : layout.shares) {
    if (is_staged(share) && !(share.*rows).empty()) spans_.push_back(share.*rows);
  }
  std::ranges::sort(spans_, {}, &RowSpan::begin);
  std::size_t kept = 0;
  for (const RowSpan& span : spans_) {
    if (kept > 0 && span.begin <= spans_[kept - 1].end) {
      spans_[kept - 1].end = std::max(spans_[kept - 1].end, span.end);
    } else {
      spans_[kept++] = span;
    }
  }
  return std::span(spans_).first(kept);
}

void AttentionExchange::copy_rows(std::span<const RowSpan> spans, std::size_t first_row,
                                  std::size_t width, const std::unique_ptr<device::Buffer>& from,
                                  const std::unique_ptr<device::Buffer>& to) {
  for (const RowSpan& span : spans) {
    const std::size_t begin = first_row + static_cast<std::size_t>(span.begin);
    const auto count = static_cast<std::size_t>(span.end - span.begin);
    queue_.enqueue(device::CopyOp{count * width * sizeof(float), row(from, begin, width),
                                  row(to, begin, width)});
  }
}

void AttentionExchange::stage_queries(const AttentionLayout& layout, std::size_t first_row) {
  copy_rows(staged_spans(layout, &UnitShare::q_rows), first_row, q_width_, lent_->rows.q,
            lent_->staged_rows.q);
}

void AttentionExchange::stage_keys_values(const AttentionLayout& layout, std::size_t first_row) {
  const std::span<const RowSpan> spans = staged_spans(layout, &UnitShare::new_rows);
  copy_rows(spans, first_row, kv_width_, lent_->rows.k, lent_->staged_rows.k);
  copy_rows(spans, first_row, kv_width_, lent_->rows.v, lent_->staged_rows.v);
}

void AttentionExchange::return_results(const UnitShare& share, std::size_t first_row) {
  const PartialBuffers& from = lent_->staged_partial_of(share);
  const PartialBuffers& to = lent_->partial_of(share);
  copy_rows({&share.q_rows, 1}, first_row, q_width_, from.o, to.o);
  copy_rows({&share.q_rows, 1}, first_row, q_heads_, from.lse, to.lse);
}

bool AttentionExchange::sends_queries(const AttentionLayout& layout) const {
  return std::ranges::any_of(layout.shares, [&](const UnitShare& share) {
    return share.part == SharePart::kQueries && !unit_of(share).ring;
  });
}

bool AttentionExchange::send_queries(int layer, std::size_t sub_batch) {
  for_rings([&](int, AttentionRing& ring) { ring.post(layer, sub_batch, true); });
  if (!sends_queries(layout_of(layer, sub_batch))) return true;
  stage_queries(layout_of(layer, sub_batch), sub_batches_[sub_batch].rows->row_begin);
  queue_.sync();
  return submit_all(layer, sub_batch, [&](const UnitShare& share) {
    return share.part == SharePart::kQueries && !unit_of(share).ring;
  });
}

bool AttentionExchange::launch(int layer, std::size_t sub_batch) {
  const AttentionLayout& layout = layout_of(layer, sub_batch);
  const std::size_t first_row = sub_batches_[sub_batch].rows->row_begin;
  for_rings([&](int, AttentionRing& ring) { ring.post(layer, sub_batch, false); });
  if (!sends_queries(layout)) stage_queries(layout, first_row);
  stage_keys_values(layout, first_row);
  const bool waits = std::ranges::any_of(layout.shares, [&](const UnitShare& share) {
    return !unit_of(share).in_queue && !unit_of(share).ring;
  });
  const device::Ticket rows_ready = waits ? queue_.record() : 0;
  // What works in the queue goes there before the wait; what works inside enqueue(), behind it.
  if (!submit_all(layer, sub_batch,
                  [&](const UnitShare& share) { return unit_of(share).in_queue; })) {
    return false;
  }
  if (!queue_.is_host_memory()) attend_inside_chunks(layer, sub_batch);
  if (waits) queue_.wait(rows_ready);
  for (const bool behind_link : {true, false}) {
    if (!submit_all(layer, sub_batch, [&](const UnitShare& share) {
          const Unit& unit = unit_of(share);
          return !unit.in_queue && !unit.ring && unit.has_link == behind_link &&
                 share.part != SharePart::kQueries;
        })) {
      return false;
    }
  }
  if (queue_.is_host_memory()) attend_inside_chunks(layer, sub_batch);
  return true;
}

template <typename Wanted>
bool AttentionExchange::submit_all(int layer, std::size_t sub_batch, const Wanted& wanted) {
  for (const UnitShare& share : layout_of(layer, sub_batch).shares) {
    if (wanted(share) && !submit(share, layer, sub_batch)) return false;
  }
  return true;
}

device::AttentionBatch AttentionExchange::batch_of(int layer) const {
  device::AttentionBatch batch;
  batch.layer = layer;
  batch.scale = config_.attention_scale;
  batch.softcap = config_.attention_softcap;
  return batch;
}

bool AttentionExchange::submit(const UnitShare& share, int layer, std::size_t sub_batch) {
  const std::size_t begin =
      sub_batches_[sub_batch].rows->row_begin + static_cast<std::size_t>(share.rows_read.begin);
  const auto rows = static_cast<std::size_t>(share.rows_read.end - share.rows_read.begin);
  Unit& unit = unit_of(share);
  const bool staged = is_staged(share);
  const RowBuffers& from = staged ? lent_->staged_rows : lent_->rows;
  const PartialBuffers& to = staged ? lent_->staged_partial_of(share) : lent_->partial_of(share);
  const auto floats = [&](const std::unique_ptr<device::Buffer>& buffer, std::size_t width) {
    const Slice slice = row(buffer, begin, width);
    return unit.in_queue ? device::device_floats(slice, rows * width)
                         : device::host_floats(slice, rows * width);
  };
  device::AttentionBatch batch = batch_of(layer);
  batch.q = floats(from.q, q_width_);
  batch.k = floats(from.k, kv_width_);
  batch.v = floats(from.v, kv_width_);
  batch.sequences = share.sequences;
  batch.pages = share.pages;
  InFlight run;
  run.unit = share.unit;
  run.details = {layer, static_cast<int>(sub_batch), static_cast<std::int64_t>(rows), -1};
  std::vector<InFlight>& in_flight = sub_batches_[sub_batch].in_flight;
  in_flight.reserve(in_flight.size() + 1);  // nothing fails behind the submission
  if (queue_.trace().on()) run.submitted = Clock::now();
  try {
    run.ticket = unit.unit->submit(batch, {floats(to.o, q_width_), floats(to.lse, q_heads_)});
  } catch (const DeviceError&) {
    lose(share.unit);
    return false;
  }
  if (unit.in_queue) {
    unit.queued = run.ticket;
  } else {
    in_flight.push_back(run);
  }
  if (queue_.trace().on()) trace_end(unit, unit.in_queue ? run : in_flight.back());
  return true;
}

// Of a run whose end shows at once: one in a queue, and one done inside submit().
void AttentionExchange::trace_end(const Unit& unit, InFlight& run) {
  if (!unit.in_queue) {
    if (unit.has_link) return;
    if (wait_for(unit, run.ticket, Deadline::after({})) != WaitResult::kDone) return;
  }
  queue_.trace().run(run.unit, run.submitted, Clock::now(), run.details);
  run.traced = true;
}

void AttentionExchange::attend_inside_chunks(int layer, std::size_t sub_batch) {
  const AttentionLayout& layout = layout_of(layer, sub_batch);
  if (layout.chunks.empty()) return;
  const std::size_t begin = sub_batches_[sub_batch].rows->row_begin;
  const Projections rows = projections(sub_batch);
  device::CausalAttentionOp op;
  op.chunks = layout.chunks;
  op.q_heads = config_.q_heads;
  op.kv_heads = config_.kv_heads;
  op.head_dim = config_.head_dim;
  op.scale = config_.attention_scale;
  op.softcap = config_.attention_softcap;
  op.window = windows_.of(layer);
  op.kv_dtype = options_.kv_dtype;
  op.q = rows.q;
  op.k = rows.k;
  op.v = rows.v;
  op.o = row(causal_o_, begin, q_width_);
  op.lse = row(causal_lse_, begin, q_heads_);
  queue_.enqueue(op);
}

// A batch that was refused is through as well; refused_ is thrown when all are.
WaitResult AttentionExchange::wait_for(const Unit& unit, device::Ticket ticket, Deadline deadline) {
  try {
    return guarded_wait([&] { return unit.unit->wait(ticket, deadline); });
  } catch (const Error&) {
    refused_ = std::current_exception();
    return WaitResult::kDone;
  }
}

bool AttentionExchange::collect(std::size_t sub_batch) {
  const bool complete = end_runs(sub_batch);
  throw_refused();
  return complete;
}

bool AttentionExchange::settle() {
  const bool rings_complete = close_rings();
  const bool complete = end_queued() && rings_complete;
  throw_refused();
  return complete;
}

void AttentionExchange::throw_refused() {
  if (refused_) std::rethrow_exception(std::exchange(refused_, nullptr));
}

bool AttentionExchange::end_runs(std::size_t sub_batch) {
  SubBatch& part = sub_batches_[sub_batch];
  bool complete = true;
  for (const bool behind_link : {false, true}) {
    for (const InFlight& run : part.in_flight) {
      Unit& unit = units_[static_cast<std::size_t>(run.unit)];
      if (unit.has_link != behind_link) continue;
      const trace::Span span = queue_.trace().wait_for_unit(run.unit);
      WaitResult result = WaitResult::kTimeout;
      if (!unit.stuck) {
        result = wait_for(unit, run.ticket, timeout());
      }
      if (queue_.trace().on() && !run.traced) {
        queue_.trace().run(run.unit, run.submitted, Clock::now(), run.details);
      }
      if (result == WaitResult::kDone) continue;
      unit.stuck = result == WaitResult::kTimeout;
      lose(run.unit);
      complete = false;
    }
  }
  part.in_flight.clear();
  return complete;
}

bool AttentionExchange::end_queued() {
  bool complete = true;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    if (unit.queued == 0) continue;
    const WaitResult result = wait_for(unit, unit.queued, timeout());
    unit.queued = 0;
    if (result == WaitResult::kDone) continue;
    unit.stuck = result == WaitResult::kTimeout;
    lose(static_cast<int>(i));
    complete = false;
  }
  return complete;
}

void AttentionExchange::lose(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (unit.alive) lost_.push_back(index);
  unit.alive = false;
  lent_is_stuck_ |= unit.stuck;
}

void AttentionExchange::land() {
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) end_runs(i);
  drain_rings();
  close_rings();
  end_queued();
  refused_ = nullptr;  // the step ends with an error as it is
  if (!lent_is_stuck_) return;
  set_aside_.push_back(std::move(lent_));
  lent_is_stuck_ = false;
}

Slice AttentionExchange::merge(int layer, std::size_t sub_batch) {
  const AttentionLayout& layout = layout_of(layer, sub_batch);
  const SubBatchRows& rows = *sub_batches_[sub_batch].rows;
  const std::size_t begin = rows.row_begin;
  for (const UnitShare& share : layout.shares) {
    if (is_staged(share) && !share.rows.empty()) return_results(share, begin);
  }
  for_rings([&](int, AttentionRing& ring) { ring.await(layer, sub_batch); });
  if (layout.only_causal) return row(causal_o_, begin, q_width_);
  if (layout.only_share >= 0) {
    const UnitShare& share = layout.shares[static_cast<std::size_t>(layout.only_share)];
    return row(lent_->partial_of(share).o, begin, q_width_);
  }
  merge_partials_.clear();
  for (const UnitShare& share : layout.shares) {
    if (share.rows.empty()) continue;
    const PartialBuffers& partial = lent_->partial_of(share);
    merge_partials_.push_back(
        {row(partial.o, begin, q_width_), row(partial.lse, begin, q_heads_), share.rows});
  }
  if (!layout.chunks.empty()) {
    merge_partials_.push_back(
        {row(causal_o_, begin, q_width_), row(causal_lse_, begin, q_heads_), layout.chunk_rows});
  }
  const Slice out = row(attention_, begin, q_width_);
  queue_.enqueue(device::MergeOp{static_cast<std::int64_t>(rows.num_rows), config_.q_heads,
                                 config_.head_dim, merge_partials_, out});
  return out;
}

}  // namespace tandem::engine
