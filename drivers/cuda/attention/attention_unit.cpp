// SPDX-License-Identifier: Apache-2.0
//
// Pool, tickets, and export and import of pages.
//
// busy_seconds counts for each batch from the later of its submission and the end of the batch
// before. The unit sees the end of a batch when a caller waits.
#include "cuda/attention/attention_unit.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "cuda/compute/compute_unit.h"
#include "cuda/compute/kv_types.h"
#include "kv_cache/page_image.h"

namespace tandem::cuda {

using device::AttentionBatch;
using device::AttentionPartial;
using device::PageId;
using device::Ticket;
using device::WaitResult;

namespace {

constexpr std::size_t kMaxStaged = 8;        // batches whose rows are in flight
constexpr std::size_t kMaxRemembered = 256;  // batches whose end no caller has seen
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::seconds kDrainTimeout{10};
constexpr int kLeastPageTokens = 16, kMostPageTokens = 256;

}  // namespace

CudaAttentionUnit::CudaAttentionUnit(Gpu& gpu, const device::DeviceInfo& info,
                                     const device::AttentionUnitOptions& options)
    : gpu_(gpu),
      queue_(gpu.queue),
      geometry_(options.geometry),
      max_batch_rows_(options.max_batch_rows) {
  device::check_geometry(geometry_);
  if (geometry_.page_tokens < kLeastPageTokens || geometry_.page_tokens > kMostPageTokens) {
    throw Error("cuda", "pages of " + std::to_string(geometry_.page_tokens) +
                            " tokens; GPUs hold pages of 16 to 256");
  }
  if (max_batch_rows_ <= 0) throw Error("cuda", "max_batch_rows must be positive");
  pool_.type = kv_type(geometry_.kv_dtype);
  planner_ = std::make_unique<AttentionPlanner>(gpu_, geometry_, pool_);
  make_pool(options);
  capacity_.read_bandwidth_bytes_per_s = info.memory_bandwidth_bytes_per_s;
  capacity_.link_bandwidth_bytes_per_s = info.link_bandwidth_bytes_per_s;
  capacity_.link_latency_us = info.link_latency_us;
}

void CudaAttentionUnit::make_pool(const device::AttentionUnitOptions& options) {
  pool_.num_layers = geometry_.num_layers;
  pool_.kv_heads = geometry_.kv_heads;
  pool_.head_dim = geometry_.head_dim;
  pool_.page_tokens = geometry_.page_tokens;
  pool_.num_pages = 1;
  capacity_.page_bytes = gpu_kernels::kv_values_bytes(pool_) + gpu_kernels::kv_scales_bytes(pool_);
  MemoryDemand demand;
  demand.to_come_bytes = options.kept_bytes;
  demand.workspace_bytes = kQueueWorkspaceBytes;
  demand.kv_bytes = options.kv_bytes;
  demand.page_bytes = capacity_.page_bytes;
  demand.max_pages = options.max_pages;
  pool_.num_pages = plan_memory(gpu_.memory(), demand, gpu_.health.device()).kv_pages;
  capacity_.num_pages = pool_.num_pages;
  values_ = PoolRange(gpu_.device_memory, gpu_kernels::kv_values_bytes(pool_), Purpose::kPages);
  pool_.values = values_.data();
  if (const std::size_t bytes = gpu_kernels::kv_scales_bytes(pool_)) {
    scales_ = PoolRange(gpu_.device_memory, bytes, Purpose::kPages);
    pool_.scales = scales_.as<float>();
  }
}

// Its pool may be in use until the queue is through.
CudaAttentionUnit::~CudaAttentionUnit() {
  if (queue_.finish(Deadline::after(kDrainTimeout)) == WaitResult::kTimeout) {
    gpu_.health.lose("work was still running when its unit was given up");
  }
  queue_.forget_graphs();
}

bool CudaAttentionUnit::works_in_queue_of(const device::ComputeUnit& compute) const {
  const auto* unit = dynamic_cast<const CudaComputeUnit*>(&compute);
  return unit != nullptr && &unit->gpu() == &gpu_;
}

bool CudaAttentionUnit::is_reachable(std::span<const float> rows) const {
  return rows.empty() || gpu_.device_memory.holds(rows.data(), rows.size_bytes()) ||
         gpu_.pinned_memory.holds(rows.data(), rows.size_bytes());
}

Ticket CudaAttentionUnit::submit(const AttentionBatch& batch, AttentionPartial out) {
  // Who works in one queue may wait for the step's last batch only, or for none.
  while (in_flight_.size() >= kMaxRemembered &&
         finish_oldest(Deadline::after({})) == WaitResult::kDone) {
  }
  InFlight flight;
  flight.submitted = Deadline::Clock::now();
  if (gpu_.health.lost()) {
    device::check_batch(geometry_, pool_.num_pages, batch, out);
    return ++last_ticket_;
  }
  try {
    enqueue(batch, out, flight);
  } catch (const DeviceError&) {
    return ++last_ticket_;  // lost: wait() reports it
  } catch (...) {
    if (flight.staged != nullptr && !flight.staged->is_free()) {
      queue_.finish(Deadline::after(kPatience));  // its rows may be in flight
      flight.staged->abandon();
    }
    throw;
  }
  flight.ticket = ++last_ticket_;
  in_flight_.push_back(flight);
  return flight.ticket;
}

void CudaAttentionUnit::enqueue(const AttentionBatch& batch, const AttentionPartial& out,
                                InFlight& flight) {
  AttentionRows rows{batch.q.data(), batch.k.data(), batch.v.data(), out.o.data(), out.lse.data()};
  const bool stages = !is_reachable(batch.q) || !is_reachable(batch.k) || !is_reachable(batch.v) ||
                      !is_reachable(out.o) || !is_reachable(out.lse);
  if (stages) {
    device::check_batch(geometry_, pool_.num_pages, batch, out);
    const auto dim = static_cast<std::size_t>(geometry_.head_dim);
    const std::size_t most = std::max(batch.q.size() / (dim * geometry_.q_heads),
                                      batch.k.size() / (dim * geometry_.kv_heads));
    if (most > static_cast<std::size_t>(max_batch_rows_)) {
      throw Error("cuda", "a batch of " + std::to_string(most) + " rows exceeds max_batch_rows " +
                              std::to_string(max_batch_rows_));
    }
    flight.staged = &free_rows(Deadline::after(kPatience));
    flight.staged->reserve(geometry_, batch);
  }
  const PlannedBatch& planned = planner_->plan(batch, out);
  if (flight.staged != nullptr) rows = flight.staged->begin(batch);
  planner_->launch(planned, batch, rows);
  if (flight.staged != nullptr) flight.staged->end(batch, out);
  flight.position = queue_.open_position();
  {
    const std::lock_guard lock(stats_mutex_);
    const std::size_t row_bytes =
        capacity_.page_bytes / (static_cast<std::size_t>(geometry_.num_layers) *
                                static_cast<std::size_t>(geometry_.page_tokens));
    ++stats_.launches;
    stats_.kv_bytes_read += planned.tokens_read * row_bytes;
    stats_.bytes_to_unit += planned.staged_bytes;
    if (flight.staged != nullptr) {
      stats_.bytes_to_unit += flight.staged->bytes_in();
      stats_.bytes_from_unit += flight.staged->bytes_out();
    }
  }
  // The compute unit that brought such rows has another queue, so no other call flushes this one.
  if (flight.staged != nullptr) queue_.flush();
}

StagedRows& CudaAttentionUnit::free_rows(Deadline deadline) {
  const auto find = [&] {
    return std::ranges::find_if(rows_, [](const auto& rows) { return rows->is_free(); });
  };
  if (const auto rows = find(); rows != rows_.end()) return **rows;
  if (rows_.size() < kMaxStaged) {
    return *rows_.emplace_back(std::make_unique<StagedRows>(gpu_));
  }
  while (find() == rows_.end()) {
    if (finish_oldest(deadline) != WaitResult::kDone) {
      gpu_.health.lose("its batches have made no progress for 30 seconds");
      gpu_.health.require();
    }
  }
  return **find();
}

WaitResult CudaAttentionUnit::finish_oldest(Deadline deadline) {
  const InFlight flight = in_flight_.front();
  bool refused = false;
  try {
    const WaitResult result = queue_.wait(flight.position, deadline);
    if (result != WaitResult::kDone) return result;
  } catch (const Error& error) {
    refused = true;
    refused_.push_back({flight.ticket, error.what(), false});
    if (refused_.size() > kMaxRemembered) refused_.pop_front();
  }
  in_flight_.pop_front();
  if (flight.staged != nullptr) refused ? flight.staged->abandon() : flight.staged->finish();
  const auto now = Deadline::Clock::now();
  const std::chrono::duration<double> busy = now - std::max(flight.submitted, last_completion_);
  last_completion_ = now;
  const std::lock_guard lock(stats_mutex_);
  stats_.busy_seconds += busy.count();
  return WaitResult::kDone;
}

WaitResult CudaAttentionUnit::wait(Ticket ticket, Deadline deadline) {
  if (ticket == 0 || ticket > last_ticket_) {
    throw Error("cuda",
                "ticket " + std::to_string(ticket) + " is unknown: no submit() has returned it");
  }
  while (!gpu_.health.lost() && !in_flight_.empty() && in_flight_.front().ticket <= ticket) {
    const WaitResult result = finish_oldest(deadline);
    if (result != WaitResult::kDone) return result;
  }
  if (gpu_.health.lost()) return WaitResult::kLost;
  tell_refusals(ticket);
  return WaitResult::kDone;
}

// Throws refusals: the first one of all batches up to `ticket`, once; the one of `ticket` itself at
// every call.
void CudaAttentionUnit::tell_refusals(Ticket ticket) {
  const Refused* first = nullptr;
  for (Refused& each : refused_) {
    if (each.ticket > ticket || (each.told && each.ticket != ticket)) continue;
    each.told = true;
    if (first == nullptr) first = &each;
  }
  if (first != nullptr) throw Error("cuda", "the attention of a batch failed: " + first->reason);
}

void CudaAttentionUnit::check_page(PageId page, std::size_t image_bytes) const {
  if (page >= pool_.num_pages) {
    throw Error("cuda", "page " + std::to_string(page) + " is outside the pool of " +
                            std::to_string(pool_.num_pages) + " pages");
  }
  const std::size_t expected = device::page_image_bytes(geometry_);
  if (image_bytes != expected) {
    throw Error("cuda", "a page image has " + std::to_string(expected) + " bytes, not " +
                            std::to_string(image_bytes));
  }
}

// A transfer that timed out is free again once the queue has passed it.
CudaAttentionUnit::Transfer& CudaAttentionUnit::free_transfer() {
  for (const auto& transfer : transfers_) {
    if (queue_.has_passed(transfer->position)) return *transfer;
  }
  auto transfer = std::make_unique<Transfer>();
  transfer->image =
      PoolRange(gpu_.pinned_memory, device::page_image_bytes(geometry_), Purpose::kStaging);
  return *transfers_.emplace_back(std::move(transfer));
}

template <auto kMove>
WaitResult CudaAttentionUnit::move(PageId page, Transfer& transfer, Deadline deadline) {
  queue_.begin(sizeof(page), 1);
  const std::uint32_t* pages = queue_.stage(std::span<const PageId>(&page, 1));
  auto& job = queue_.add<kMove>("moving a page");
  job.pool = pool_;
  job.num_pages = 1;
  job.pages = pages;
  job.images = transfer.image.data();
  transfer.position = queue_.open_position();
  return queue_.wait(transfer.position, deadline);
}

WaitResult CudaAttentionUnit::export_page(PageId page, std::span<std::byte> to, Deadline deadline) {
  check_page(page, to.size());
  try {
    Transfer& transfer = free_transfer();
    const WaitResult result = move<gpu_kernels::export_pages>(page, transfer, deadline);
    if (result == WaitResult::kDone) std::memcpy(to.data(), transfer.image.data(), to.size());
    return result;
  } catch (const DeviceError&) {
    return WaitResult::kLost;
  }
}

WaitResult CudaAttentionUnit::import_page(PageId page, std::span<const std::byte> from,
                                          Deadline deadline) {
  check_page(page, from.size());
  try {
    Transfer& transfer = free_transfer();
    std::memcpy(transfer.image.data(), from.data(), from.size());
    return move<gpu_kernels::import_pages>(page, transfer, deadline);
  } catch (const DeviceError&) {
    return WaitResult::kLost;
  }
}

device::AttentionStats CudaAttentionUnit::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

}  // namespace tandem::cuda
