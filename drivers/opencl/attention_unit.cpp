// SPDX-License-Identifier: Apache-2.0
//
// Pool, queue of batches, and page transfers.
//
// Bytes per batch to the device: 4 * head_dim * (q_rows * q_heads + 2 * kv_rows * kv_heads) and the
// entries; back: 4 * (head_stride + 1) * q_heads * q_rows. busy_seconds counts for each batch from
// the later of its submission and the end of the batch before.
#include "opencl/attention_unit.h"

#include <algorithm>

#include "common/error.h"
#include "opencl/page_image.h"

namespace tandem::opencl {

using device::AttentionBatch;
using device::AttentionPartial;
using device::PageId;
using device::Ticket;
using device::WaitResult;

namespace {

constexpr std::chrono::seconds kFullQueuePatience{30};
constexpr std::chrono::seconds kShutdownWait{1};

// OpenCL does not report free memory. Memory shared with the host is left in halves.
std::uint64_t default_kv_bytes(const cl::Device& device) {
  const std::uint64_t total = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  return shares_host_memory(device) ? total / 2 : total / 5 * 4;
}

constexpr DType kStoredTypes[] = {DType::kF16, DType::kI8};

}  // namespace

OpenClAttentionUnit::OpenClAttentionUnit(Session session,
                                         const device::AttentionUnitOptions& options,
                                         const KernelShape& shape, const MeasuredSpeed& speed)
    : session_(std::move(session)), geometry_(options.geometry), shape_(shape) {
  device::check_geometry(geometry_);
  device::check_kv_dtype(geometry_, kStoredTypes, "opencl");
  if (options.max_batch_rows <= 0) throw Error("opencl", "max_batch_rows must be positive");
  max_batch_rows_ = options.max_batch_rows;
  layout_ = page_layout(geometry_, shape_);
  size_pool(options);
  capacity_.read_bandwidth_bytes_per_s = speed.read_bytes_per_s;
  capacity_.link_bandwidth_bytes_per_s = speed.link_bytes_per_s;
  capacity_.link_latency_us = speed.latency_us;
  program_ = build_attention_program(session_, geometry_, shape_);
  limits_ = {program_.decode.queries, program_.chunk.queries, shape_.work_groups};
  allocate_pool();
}

// The list is never destroyed: releasing a queue or a buffer in use may block, or take memory that
// the device writes to.
struct OpenClAttentionUnit::Abandoned {
  Session session;
  AttentionProgram program;
  std::vector<cl::Buffer> pool;
  cl::Buffer scratch;
  std::vector<std::unique_ptr<BatchSlot>> slots;
  std::deque<Transfer> transfers;

  static void keep(std::unique_ptr<Abandoned> one) {
    static std::mutex& mutex = *new std::mutex;
    static auto& all = *new std::vector<std::unique_ptr<Abandoned>>;
    const std::lock_guard lock(mutex);
    all.push_back(std::move(one));
  }
};

OpenClAttentionUnit::~OpenClAttentionUnit() {
  if (!all_ended(Deadline::after(kShutdownWait))) abandon();
}

bool OpenClAttentionUnit::all_ended(Deadline deadline) const {
  // Slots free by their ticket too: of a batch refused midway some commands may run.
  const auto ended = [&](std::span<const cl::Event> events) {
    return wait_for_events(events, deadline) != WaitResult::kTimeout;
  };
  return std::ranges::all_of(slots_, [&](const auto& slot) { return ended(slot->events); }) &&
         std::ranges::all_of(transfers_, [&](const Transfer& t) { return ended(t.done); });
}

void OpenClAttentionUnit::abandon() {
  auto left = std::make_unique<Abandoned>();
  left->session = session_;
  left->program = std::move(program_);
  left->pool = std::move(pool_);
  left->scratch = std::move(scratch_);
  left->slots = std::move(slots_);
  left->transfers = std::move(transfers_);
  Abandoned::keep(std::move(left));
}

void OpenClAttentionUnit::size_pool(const device::AttentionUnitOptions& options) {
  const std::uint64_t bytes =
      options.kv_bytes > 0 ? options.kv_bytes : default_kv_bytes(session_.device);
  const std::uint64_t largest = session_.device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  capacity_.page_bytes = layout_.page_bytes * geometry_.num_layers;
  std::uint64_t pages = std::min(bytes / capacity_.page_bytes, largest / layout_.page_bytes);
  if (options.max_pages > 0) pages = std::min<std::uint64_t>(pages, options.max_pages);
  pages = std::min<std::uint64_t>(pages, INT32_MAX);
  if (pages == 0) {
    throw Error("opencl", "kv_bytes " + std::to_string(bytes) + " holds no page of " +
                              std::to_string(capacity_.page_bytes) + " bytes; give it more");
  }
  capacity_.num_pages = static_cast<std::uint32_t>(pages);
}

void OpenClAttentionUnit::allocate_pool() {
  const std::size_t bytes = page_offset(capacity_.num_pages);
  try {
    for (int layer = 0; layer < geometry_.num_layers; ++layer) {
      pool_.emplace_back(session_.context, CL_MEM_READ_WRITE, bytes);
      // Drivers allocate at first use: touch the buffer, so that a lack of memory shows here.
      session_.queue.enqueueFillBuffer(pool_.back(), cl_uint{0}, 0, sizeof(cl_uint));
    }
    session_.queue.finish();
    reserve_scratch(1);
  } catch (const cl::Error& error) {
    throw Error("opencl", "no memory for " + std::to_string(capacity_.num_pages) + " pages of " +
                              std::to_string(capacity_.page_bytes) + " bytes (" +
                              error_text(error) + "); lower kv_bytes");
  }
}

void OpenClAttentionUnit::reserve_scratch(std::int32_t slots) {
  if (slots <= scratch_slots_) return;
  const std::size_t floats =
      static_cast<std::size_t>(slots) * geometry_.q_heads * (layout_.head_stride + 1);
  // Commands in flight keep the old buffer alive.
  scratch_ = cl::Buffer(session_.context, CL_MEM_READ_WRITE, floats * sizeof(float));
  scratch_slots_ = slots;
}

void OpenClAttentionUnit::check_rows(const BatchPlan& plan) const {
  if (plan.q_rows > max_batch_rows_ || plan.kv_rows > max_batch_rows_) {
    throw Error("opencl", "a batch of " + std::to_string(std::max(plan.q_rows, plan.kv_rows)) +
                              " rows exceeds max_batch_rows " + std::to_string(max_batch_rows_));
  }
}

BatchSlot& OpenClAttentionUnit::free_slot() {
  while (!in_flight_.empty() && finish_oldest(Deadline::after({})) == WaitResult::kDone) {
  }
  if (!lost_ && in_flight_.size() >= kMaxInFlight &&
      finish_oldest(Deadline::after(kFullQueuePatience)) != WaitResult::kDone) {
    lost_ = true;  // a queue without progress for this long has hung
  }
  for (const auto& slot : slots_) {
    if (slot->ticket == 0) return *slot;
  }
  return *slots_.emplace_back(std::make_unique<BatchSlot>(session_));
}

Ticket OpenClAttentionUnit::submit(const AttentionBatch& batch, AttentionPartial out) {
  device::check_batch(geometry_, capacity_.num_pages, batch, out);
  device::check_plain(batch, "opencl");
  BatchPlan plan = plan_batch(geometry_, limits_, batch);
  check_rows(plan);
  const Ticket ticket = ++last_ticket_;
  if (lost_) return ticket;
  const auto submitted = Deadline::Clock::now();
  try {
    BatchSlot& slot = free_slot();
    if (lost_) return ticket;
    slot.begin(geometry_, layout_.head_stride, std::move(plan), batch, out);
    slot.submitted = submitted;
    enqueue(batch.layer, slot);
    slot.ticket = ticket;
    in_flight_.push_back(&slot);
    const std::lock_guard lock(stats_mutex_);
    ++stats_.launches;
    stats_.bytes_to_unit += slot.input_bytes();
  } catch (const cl::Error&) {
    lost_ = true;
  }
  return ticket;
}

void OpenClAttentionUnit::enqueue(int layer, BatchSlot& slot) {
  const BatchPlan& plan = slot.plan();
  cl::CommandQueue& queue = session_.queue;
  reserve_scratch(plan.scratch_slots);
  queue.enqueueWriteBuffer(slot.input().device(), CL_FALSE, 0, slot.input_bytes(),
                           slot.input().host(), nullptr, slot.next_event());
  if (!plan.appends.empty()) {
    cl::Kernel& append = program_.append;
    append.setArg(0, slot.input().device());
    append.setArg(1, slot.input().device());
    append.setArg(2, pool_[layer]);
    append.setArg(3, pool_[layer]);
    queue.enqueueNDRangeKernel(append, cl::NullRange,
                               cl::NDRange(geometry_.kv_heads, plan.appends.size(), 2),
                               cl::NullRange, nullptr, slot.next_event());
  }
  enqueue_attend(program_.decode, layer, slot, plan.decode_parts, 0);
  enqueue_attend(program_.chunk, layer, slot, plan.chunk_parts,
                 static_cast<int>(plan.decode_parts.size()));
  if (!plan.merges.empty()) {
    cl::Kernel& merge = program_.merge;
    merge.setArg(0, slot.input().device());
    merge.setArg(1, scratch_);
    merge.setArg(2, slot.result().device());
    merge.setArg(3, cl_uint2{{slot.lse_at(), scratch_lse_at()}});
    queue.enqueueNDRangeKernel(
        merge, cl::NullRange,
        cl::NDRange(layout_.head_stride / layout_.row_lanes, geometry_.q_heads, plan.merges.size()),
        cl::NullRange, nullptr, slot.next_event());
  }
  if (slot.result_bytes() > 0) {
    queue.enqueueReadBuffer(slot.result().device(), CL_FALSE, 0, slot.result_bytes(),
                            slot.result().host(), nullptr, slot.next_event());
  }
  queue.flush();
}

void OpenClAttentionUnit::enqueue_attend(AttendKernel& attend, int layer, BatchSlot& slot,
                                         const std::vector<PartEntry>& parts, int first_part) {
  if (parts.empty()) return;
  cl::Kernel& kernel = attend.kernel;
  kernel.setArg(0, slot.input().device());
  kernel.setArg(1, slot.input().device());
  kernel.setArg(2, pool_[layer]);
  kernel.setArg(3, pool_[layer]);
  kernel.setArg(4, slot.result().device());
  kernel.setArg(5, scratch_);
  kernel.setArg(6, cl_uint2{{slot.lse_at(), scratch_lse_at()}});
  kernel.setArg(7, static_cast<cl_int>(first_part));
  const auto local = static_cast<std::size_t>(shape_.local_size);
  session_.queue.enqueueNDRangeKernel(kernel, cl::NullRange,
                                      cl::NDRange(geometry_.kv_heads * local, parts.size()),
                                      cl::NDRange(local, 1), nullptr, slot.next_event());
}

WaitResult OpenClAttentionUnit::finish_oldest(Deadline deadline) {
  if (lost_) return WaitResult::kLost;
  BatchSlot& slot = *in_flight_.front();
  const WaitResult result = slot.wait(deadline);
  if (result == WaitResult::kLost) lost_ = true;
  if (result != WaitResult::kDone) return result;
  slot.finish(geometry_, layout_.head_stride);
  in_flight_.pop_front();
  complete(slot);
  return WaitResult::kDone;
}

void OpenClAttentionUnit::complete(BatchSlot& slot) {
  const auto now = Deadline::Clock::now();
  const std::chrono::duration<double> busy = now - std::max(slot.submitted, last_completion_);
  last_completion_ = now;
  const std::uint64_t row_bytes =
      geometry_.head_dim * layout_.element_bytes + (geometry_.kv_dtype == DType::kI8 ? 4 : 0);
  slot.ticket = 0;
  const std::lock_guard lock(stats_mutex_);
  stats_.bytes_from_unit += slot.result_bytes();
  stats_.kv_bytes_read += 2 * slot.plan().kv_rows_read * row_bytes;
  stats_.busy_seconds += busy.count();
}

WaitResult OpenClAttentionUnit::wait(Ticket ticket, Deadline deadline) {
  if (ticket == 0 || ticket > last_ticket_) {
    throw Error("opencl",
                "ticket " + std::to_string(ticket) + " is unknown: no submit() has returned it");
  }
  while (!lost_ && !in_flight_.empty() && in_flight_.front()->ticket <= ticket) {
    const WaitResult result = finish_oldest(deadline);
    if (result != WaitResult::kDone) return result;
  }
  return lost_ ? WaitResult::kLost : WaitResult::kDone;
}

void OpenClAttentionUnit::check_page(PageId page, std::size_t image_bytes) const {
  if (page >= capacity_.num_pages) {
    throw Error("opencl", "page " + std::to_string(page) + " is outside the pool of " +
                              std::to_string(capacity_.num_pages) + " pages");
  }
  const std::size_t expected = device::page_image_bytes(geometry_);
  if (image_bytes != expected) {
    throw Error("opencl", "a page image has " + std::to_string(expected) + " bytes, not " +
                              std::to_string(image_bytes));
  }
}

WaitResult OpenClAttentionUnit::export_page(PageId page, std::span<std::byte> to,
                                            Deadline deadline) {
  check_page(page, to.size());
  if (lost_) return WaitResult::kLost;
  Transfer& transfer = new_transfer();
  try {
    for (int layer = 0; layer < geometry_.num_layers; ++layer) {
      session_.queue.enqueueReadBuffer(
          pool_[layer], CL_FALSE, page_offset(page), layout_.page_bytes,
          transfer.layers.data() + layer * layout_.page_bytes, nullptr, &transfer.done[layer]);
    }
    session_.queue.flush();
  } catch (const cl::Error&) {
    lost_ = true;
  }
  const WaitResult result = finish_transfer(transfer, deadline);
  if (result != WaitResult::kDone) return result;
  for (int layer = 0; layer < geometry_.num_layers; ++layer) {
    const auto bytes = std::span(transfer.layers).subspan(layer * layout_.page_bytes);
    image_from_page(geometry_, layout_, layer, bytes.first(layout_.page_bytes), to);
  }
  return result;
}

WaitResult OpenClAttentionUnit::import_page(PageId page, std::span<const std::byte> from,
                                            Deadline deadline) {
  check_page(page, from.size());
  if (lost_) return WaitResult::kLost;
  Transfer& transfer = new_transfer();
  try {
    for (int layer = 0; layer < geometry_.num_layers; ++layer) {
      const auto bytes =
          std::span(transfer.layers).subspan(layer * layout_.page_bytes, layout_.page_bytes);
      page_from_image(geometry_, layout_, layer, from, bytes);
      session_.queue.enqueueWriteBuffer(pool_[layer], CL_FALSE, page_offset(page),
                                        layout_.page_bytes, bytes.data(), nullptr,
                                        &transfer.done[layer]);
    }
    session_.queue.flush();
  } catch (const cl::Error&) {
    lost_ = true;
  }
  return finish_transfer(transfer, deadline);
}

OpenClAttentionUnit::Transfer& OpenClAttentionUnit::new_transfer() {
  while (!transfers_.empty() &&
         finish_transfer(transfers_.front(), Deadline::after({})) == WaitResult::kDone) {
    transfers_.pop_front();
  }
  Transfer& transfer = transfers_.emplace_back();
  transfer.layers.resize(capacity_.page_bytes);
  transfer.done.resize(static_cast<std::size_t>(geometry_.num_layers));
  return transfer;
}

WaitResult OpenClAttentionUnit::finish_transfer(const Transfer& transfer, Deadline deadline) {
  if (lost_) return WaitResult::kLost;
  const WaitResult result = wait_for_events(transfer.done, deadline);
  if (result == WaitResult::kLost) lost_ = true;
  return result;
}

std::uint32_t OpenClAttentionUnit::scratch_lse_at() const {
  return static_cast<std::uint32_t>(scratch_slots_) * geometry_.q_heads * layout_.head_stride;
}

device::AttentionStats OpenClAttentionUnit::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

}  // namespace tandem::opencl
