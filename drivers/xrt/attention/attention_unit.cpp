// SPDX-License-Identifier: Apache-2.0
//
// Two launches are allocated at the start, so that serving does not allocate; more batches in
// flight add launches.
#include "xrt/attention/attention_unit.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "common/median.h"
#include "xrt/attention/page_image.h"
#include "xrt/attention/pools.h"

namespace tandem::device::xrt_card {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFirstAnswer = std::chrono::seconds(10);
constexpr auto kSignOfLife = std::chrono::milliseconds(100);

attention_decode::ResultHeader header_of(const std::byte* result) {
  attention_decode::ResultHeader header;
  std::memcpy(&header, result, sizeof(header));
  return header;
}

const AttentionGeometry& checked(const AttentionGeometry& geometry) {
  check_stored(geometry);
  return geometry;
}

}  // namespace

void check_stored(const AttentionGeometry& geometry) {
  constexpr DType kStoredTypes[] = {DType::kF16, DType::kI8};
  check_geometry(geometry);
  check_kv_dtype(geometry, kStoredTypes, "xrt");
}

XrtAttentionUnit::XrtAttentionUnit(const xrt::device& device,
                                   std::vector<ComputeUnitHandle> handles,
                                   const AttentionUnitOptions& options, const DeviceInfo& info)
    : id_(info.id),
      geometry_(checked(options.geometry)),
      layout_(options.geometry),
      device_(device),
      shares_(divide_over_units(layout_.kv_heads, handles.size())) {
  const std::uint32_t num_pages = pages_that_fit(layout_, handles, shares_, options);
  try {
    card_.units = allocate_pools(device_, layout_, handles, shares_, num_pages);
    // Room for the largest batch.
    const std::size_t rows = static_cast<std::size_t>(std::max(options.max_batch_rows, 1));
    const std::size_t row_bytes =
        (layout_.q_row_values() + 2 * layout_.kv_row_values()) * sizeof(float);
    for (int i = 0; i < 2; ++i) {
      idle_.push_back(new_launch());
      idle_.back()->reserve(rows * row_bytes + std::size_t{64} * 1024, result_bytes(rows));
    }
  } catch (const std::exception& e) {
    throw DeviceError("xrt", "the card has no memory for " + std::to_string(num_pages) +
                                 " KV pages (lower kv_bytes or max_pages): " + e.what());
  }
  capacity_.num_pages = num_pages;
  capacity_.page_bytes = layout_.kernel_page_bytes() * layout_.page_parts;
  capacity_.link_bandwidth_bytes_per_s = info.link_bandwidth_bytes_per_s;
  check_kernel_version();
  measure();
  stats_ = AttentionStats{};
}

WaitResult XrtAttentionUnit::lose(const std::string& reason) {
  if (!lost_) {
    lost_ = true;
    lost_reason_ = reason;
    spdlog::error("[xrt] card {} lost with its KV pages: {}", id_, reason);
  }
  return WaitResult::kLost;
}

std::vector<std::size_t> XrtAttentionUnit::result_bytes(std::size_t q_rows) const {
  std::vector<std::size_t> bytes;
  for (const UnitShare& share : shares_) {
    bytes.push_back(layout_.result_words(q_rows, share.head_count) * attention_decode::kWordBytes);
  }
  return bytes;
}

Launch* XrtAttentionUnit::new_launch() {
  auto launch = std::make_unique<Launch>(device_, card_.units);
  Launch* made = launch.get();
  card_.launches.push_back(std::move(launch));
  return made;
}

Launch* XrtAttentionUnit::idle_launch() {
  if (idle_.empty()) return new_launch();
  Launch* launch = idle_.back();
  idle_.pop_back();
  return launch;
}

Ticket XrtAttentionUnit::submit(const AttentionBatch& batch, AttentionPartial out) {
  check_batch(geometry_, capacity_.num_pages, batch, out);
  check_plain(batch, "xrt");
  const Ticket ticket = ++last_ticket_;
  if (lost_) return ticket;
  try {
    begin_attend(ticket, batch, out);
  } catch (const std::exception& e) {
    lose(e.what());
  }
  return ticket;
}

void XrtAttentionUnit::begin_attend(Ticket ticket, const AttentionBatch& batch,
                                    AttentionPartial out) {
  InFlight entry;
  entry.begin = Clock::now();
  entry.ticket = ticket;
  entry.tag = next_tag_++;
  entry.out = out;
  entry.is_counted = !batch.sequences.empty();
  DescriptorPlan plan = plan_attend(layout_, batch, entry.tag);
  entry.launch = idle_launch();
  in_flight_.push_back(std::move(entry));  // before the start: a running command must be waited for
  Launch& launch = *in_flight_.back().launch;
  launch.reserve(plan.size_bytes, result_bytes(plan.result_rows.size()));
  write_attend(layout_, batch, plan, launch.descriptor());
  launch.start(plan.size_bytes);
  in_flight_.back().result_rows = std::move(plan.result_rows);
  if (!in_flight_.back().is_counted) return;
  const std::scoped_lock lock(stats_mutex_);
  ++stats_.launches;
  stats_.bytes_to_unit += plan.size_bytes;
}

WaitResult XrtAttentionUnit::await(Launch& launch, Deadline deadline) {
  switch (launch.wait(deadline)) {
    case CardRuns::Progress::kDone:
      return WaitResult::kDone;
    case CardRuns::Progress::kRunning:
      return WaitResult::kTimeout;
    case CardRuns::Progress::kFailed:
      break;
  }
  return lose("a command ended in an error state");
}

void XrtAttentionUnit::finish(InFlight& entry) {
  const std::vector<std::size_t> bytes = result_bytes(entry.result_rows.size());
  std::vector<const std::byte*> results;
  std::uint64_t kv_words = 0, from_unit = 0;
  for (std::size_t i = 0; i < card_.units.size(); ++i) {
    results.push_back(entry.launch->fetch(i, bytes[i]));
    const attention_decode::ResultHeader header = header_of(results[i]);
    const std::string fault = result_fault(header, entry.tag);
    if (!fault.empty()) {
      lose(fault);
      return;
    }
    kv_words += header.kv_words_low | std::uint64_t{header.kv_words_high} << 32;
    from_unit += bytes[i];
  }
  unpack_results(layout_, shares_, results, entry.result_rows, entry.out);
  idle_.push_back(entry.launch);
  if (!entry.is_counted) return;
  const std::scoped_lock lock(stats_mutex_);
  stats_.bytes_from_unit += from_unit;
  stats_.kv_bytes_read += kv_words * attention_decode::kWordBytes;
  stats_.busy_seconds += std::chrono::duration<double>(Clock::now() - entry.begin).count();
}

WaitResult XrtAttentionUnit::wait_earlier(Ticket ticket, Deadline deadline) {
  while (!in_flight_.empty() && in_flight_.front().ticket <= ticket) {
    const WaitResult result = await(*in_flight_.front().launch, deadline);
    if (result != WaitResult::kDone) return result;
    finish(in_flight_.front());
    if (lost_) return WaitResult::kLost;
    in_flight_.pop_front();
  }
  return WaitResult::kDone;
}

WaitResult XrtAttentionUnit::wait(Ticket ticket, Deadline deadline) {
  if (ticket == 0 || ticket > last_ticket_) {
    throw Error("xrt", "ticket " + std::to_string(ticket) + " is unknown: no call has returned it");
  }
  if (lost_) return WaitResult::kLost;
  try {
    return wait_earlier(ticket, deadline);
  } catch (const std::exception& e) {
    return lose(e.what());
  }
}

WaitResult XrtAttentionUnit::export_page(PageId page, std::span<std::byte> to, Deadline deadline) {
  return move_page(page, {}, to, deadline);
}

WaitResult XrtAttentionUnit::import_page(PageId page, std::span<const std::byte> from,
                                         Deadline deadline) {
  return move_page(page, from, {}, deadline);
}

WaitResult XrtAttentionUnit::move_page(PageId page, std::span<const std::byte> from,
                                       std::span<std::byte> to, Deadline deadline) {
  const bool importing = to.empty();
  if (page >= capacity_.num_pages) {
    throw Error("xrt", "page " + std::to_string(page) + " is outside the pool of " +
                           std::to_string(capacity_.num_pages) + " pages");
  }
  if ((importing ? from.size() : to.size()) != page_image_bytes(geometry_)) {
    throw Error("xrt", "a page image has " + std::to_string(page_image_bytes(geometry_)) +
                           " bytes, not " + std::to_string(importing ? from.size() : to.size()));
  }
  if (lost_) return WaitResult::kLost;
  const std::size_t head_bytes = layout_.head_image_bytes();
  std::vector<std::byte> payload(importing ? layout_.kernel_page_bytes() : 0);
  for (std::uint32_t part = 0; part < layout_.page_parts; ++part) {
    for (std::uint32_t head = 0; importing && head < layout_.kv_heads; ++head) {
      image_to_blocks(layout_, {part, head}, from,
                      std::span(payload).subspan(head * head_bytes, head_bytes));
    }
    std::vector<const std::byte*> results;
    WaitResult result = WaitResult::kLost;
    try {
      result = move_kernel_page(page * layout_.page_parts + part, payload, results, deadline);
    } catch (const std::exception& e) {
      result = lose(e.what());
    }
    if (result != WaitResult::kDone) return result;
    for (std::size_t i = 0; !importing && i < results.size(); ++i) {
      if (results[i] == nullptr) continue;
      for (std::uint32_t own = 0; own < shares_[i].head_count; ++own) {
        blocks_to_image(layout_, {part, shares_[i].head_begin + own},
                        std::span(results[i] + own * head_bytes, head_bytes), to);
      }
    }
  }
  return WaitResult::kDone;
}

// The bytes that each unit answers to a move of the page; 0: it does not hold the page.
std::vector<std::size_t> XrtAttentionUnit::answer_bytes(std::uint32_t kernel_page,
                                                        bool importing) const {
  std::vector<std::size_t> bytes(card_.units.size(), 0);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (kernel_page % shares_[i].num_slices != shares_[i].slice) continue;
    bytes[i] = attention_decode::kWordBytes +
               (importing ? 0 : shares_[i].head_count * layout_.head_image_bytes());
  }
  return bytes;
}

// results: per unit the blocks of its heads; null for a unit that does not hold the page. An empty
// payload means export.
WaitResult XrtAttentionUnit::move_kernel_page(std::uint32_t kernel_page,
                                              std::span<const std::byte> payload,
                                              std::vector<const std::byte*>& results,
                                              Deadline deadline) {
  if (mover_ == nullptr) mover_ = new_launch();
  if (mover_busy_) {
    const WaitResult earlier = await(*mover_, deadline);
    if (earlier != WaitResult::kDone) return earlier;
    mover_busy_ = false;
  }
  const bool importing = !payload.empty();
  const auto operation = importing ? attention_decode::kImportPage : attention_decode::kExportPage;
  const std::uint32_t tag = next_tag_++;
  const DescriptorPlan plan = plan_page_move(layout_, operation, payload.size(), tag);
  const std::vector<std::size_t> bytes = answer_bytes(kernel_page, importing);
  mover_->reserve(plan.size_bytes, bytes);
  write_page_move(plan, kernel_page, mover_->descriptor());
  if (importing) {
    std::memcpy(mover_->descriptor().data() +
                    plan.header.q_word * std::size_t{attention_decode::kWordBytes},
                payload.data(), payload.size());
  }
  mover_->start(plan.size_bytes);
  const WaitResult result = await(*mover_, deadline);
  mover_busy_ = result == WaitResult::kTimeout;
  return result == WaitResult::kDone ? take_answers(bytes, tag, results) : result;
}

WaitResult XrtAttentionUnit::take_answers(const std::vector<std::size_t>& bytes, std::uint32_t tag,
                                          std::vector<const std::byte*>& results) {
  results.assign(card_.units.size(), nullptr);
  for (std::size_t i = 0; i < card_.units.size(); ++i) {
    if (bytes[i] == 0) continue;
    const std::byte* answer = mover_->fetch(i, bytes[i]);
    const std::string fault = result_fault(header_of(answer), tag);
    if (!fault.empty()) return lose(fault);
    results[i] = answer + attention_decode::kWordBytes;
  }
  return WaitResult::kDone;
}

// A probe without an answer stays in flight, and no second one is sent before it. So all launches
// are idle when one is sent, and each has room for more than an empty descriptor.
bool XrtAttentionUnit::is_alive() {
  if (in_flight_.empty()) submit({}, {});
  return wait(last_ticket_, Deadline::after(kSignOfLife)) != WaitResult::kLost;
}

AttentionStats XrtAttentionUnit::stats() const {
  const std::scoped_lock lock(stats_mutex_);
  return stats_;
}

// An empty descriptor: a wrong kernel image shows here, as an Error.
void XrtAttentionUnit::check_kernel_version() {
  const Ticket ticket = submit(AttentionBatch{}, AttentionPartial{});
  const WaitResult result = wait(ticket, Deadline::after(kFirstAnswer));
  if (result == WaitResult::kDone) return;
  throw DeviceError("xrt", result == WaitResult::kLost
                               ? "the card does not run the attention kernel: " + lost_reason_
                               : "the card does not answer the attention kernel's first command");
}

void XrtAttentionUnit::measure() {
  constexpr int kLaunches = 9;
  std::vector<double> seconds;
  const auto timed = [&](const AttentionBatch& batch, AttentionPartial out) {
    const auto begin = Clock::now();
    if (wait(submit(batch, out), Deadline::after(kFirstAnswer)) != WaitResult::kDone) {
      throw DeviceError("xrt", "the card fails while its speed is measured: " + lost_reason_);
    }
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  };
  for (int i = 0; i < kLaunches; ++i) timed({}, {});
  const double latency = median(seconds);
  capacity_.link_latency_us = latency * 1e6;

  // One query over up to 256 pages with any contents.
  std::vector<PageId> pages(std::min<std::uint32_t>(capacity_.num_pages, 256));
  for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<PageId>(i);
  const std::size_t q_heads = static_cast<std::size_t>(geometry_.q_heads);
  std::vector<float> q(q_heads * geometry_.head_dim), o(q.size()), lse(q_heads);
  AttentionSequence sequence;
  sequence.num_q = 1;
  sequence.num_pages = static_cast<std::int32_t>(pages.size());
  sequence.num_attend = sequence.num_pages * geometry_.page_tokens;
  AttentionBatch batch;
  batch.q = q;
  batch.sequences = {&sequence, 1};
  batch.pages = pages;
  seconds.clear();
  const std::uint64_t before = stats_.kv_bytes_read;
  for (int i = 0; i < 3; ++i) timed(batch, {o, lse});
  const double bytes = static_cast<double>(stats_.kv_bytes_read - before) / 3;
  const double fastest = *std::min_element(seconds.begin(), seconds.end());
  capacity_.read_bandwidth_bytes_per_s = bytes / std::max(fastest - latency, fastest / 10);
}

}  // namespace tandem::device::xrt_card
