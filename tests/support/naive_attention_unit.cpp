// SPDX-License-Identifier: Apache-2.0
//
// NaiveAttentionUnit over the reference loops: one query row at a time.
#include "support/naive_attention_unit.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "support/reference/attention.h"

namespace tandem::test {

using device::WaitResult;

NaiveAttentionUnit::NaiveAttentionUnit(const device::AttentionGeometry& geometry,
                                       const NaiveUnitOptions& options)
    : geometry_(geometry), options_(options) {
  device::check_geometry(geometry);
  const std::size_t values = static_cast<std::size_t>(geometry.num_layers) * options.num_pages *
                             geometry.page_tokens * geometry.kv_heads * geometry.head_dim;
  k_.assign(values, std::numeric_limits<float>::quiet_NaN());
  v_ = k_;
  thread_ = std::thread([this] { serve(); });
}

NaiveAttentionUnit::~NaiveAttentionUnit() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

device::AttentionCapacity NaiveAttentionUnit::capacity() const {
  device::AttentionCapacity capacity;
  capacity.num_pages = options_.num_pages;
  capacity.page_bytes = device::page_image_bytes(geometry_);
  capacity.read_bandwidth_bytes_per_s = options_.read_bandwidth;
  capacity.link_bandwidth_bytes_per_s = options_.has_link ? 1e9 : 0;
  return capacity;
}

device::Ticket NaiveAttentionUnit::submit(const device::AttentionBatch& batch,
                                          device::AttentionPartial out) {
  device::check_batch(geometry_, options_.num_pages, batch, out);
  const std::lock_guard lock(mutex_);
  ++last_ticket_;
  if (stats_.launches++ >= options_.lose_after) lost_ = true;
  if (!lost_) jobs_.push_back({last_ticket_, batch, out});
  changed_.notify_all();
  return last_ticket_;
}

WaitResult NaiveAttentionUnit::wait(device::Ticket ticket, Deadline deadline) {
  std::unique_lock lock(mutex_);
  // A job that is being answered still uses what was lent; only then may a lost ticket end.
  const bool ended = changed_.wait_for(lock, deadline.remaining(), [&] {
    return done_ticket_ >= ticket || (lost_ && jobs_.empty());
  });
  if (lost_ && jobs_.empty()) return WaitResult::kLost;
  return ended ? WaitResult::kDone : WaitResult::kTimeout;
}

template <typename Visit>
WaitResult NaiveAttentionUnit::move_page(device::PageId page, std::size_t image_bytes,
                                         const Visit& visit) {
  const device::AttentionGeometry& g = geometry_;
  if (g.kv_dtype != DType::kF16) throw Error("attention", "the naive unit moves f16 pages only");
  if (page >= options_.num_pages || image_bytes != device::page_image_bytes(g)) {
    throw Error("attention", "no such page, or an image of another size");
  }
  std::unique_lock lock(mutex_);
  if (num_moves_++ >= options_.lose_at_move) lost_ = true;
  changed_.wait(lock, [&] { return jobs_.empty(); });
  if (lost_) return WaitResult::kLost;
  std::size_t index = 0;
  for (int layer = 0; layer < g.num_layers; ++layer) {
    for (std::vector<float>* store : {&k_, &v_}) {
      for (int head = 0; head < g.kv_heads; ++head) {
        for (int slot = 0; slot < g.page_tokens; ++slot) {
          float* values = token_row(*store, layer, page, slot) + head * g.head_dim;
          for (int i = 0; i < g.head_dim; ++i) visit(values[i], index++);
        }
      }
    }
  }
  return WaitResult::kDone;
}

WaitResult NaiveAttentionUnit::export_page(device::PageId page, std::span<std::byte> to, Deadline) {
  return move_page(page, to.size(), [&](float& value, std::size_t index) {
    const std::uint16_t half = f32_to_f16(value);
    std::memcpy(to.data() + index * sizeof half, &half, sizeof half);
  });
}

WaitResult NaiveAttentionUnit::import_page(device::PageId page, std::span<const std::byte> from,
                                           Deadline) {
  return move_page(page, from.size(), [&](float& value, std::size_t index) {
    std::uint16_t half = 0;
    std::memcpy(&half, from.data() + index * sizeof half, sizeof half);
    value = f16_to_f32(half);
  });
}

device::AttentionStats NaiveAttentionUnit::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void NaiveAttentionUnit::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const Job job = jobs_.front();
    lock.unlock();
    if (options_.delay.count() > 0) std::this_thread::sleep_for(options_.delay);
    const bool is_slow = job.ticket == options_.slow_batch;
    if (is_slow) std::this_thread::sleep_for(options_.slow_for);
    if (is_slow && options_.on_slow) options_.on_slow();
    answer(job);
    if (is_slow && options_.spoils_slow) {
      for (const std::span<float>& results : {job.out.o, job.out.lse}) {
        std::ranges::fill(results, std::numeric_limits<float>::quiet_NaN());
      }
    }
    lock.lock();
    jobs_.pop_front();
    done_ticket_ = job.ticket;
    changed_.notify_all();
  }
}

void NaiveAttentionUnit::answer(const Job& job) {
  for (const auto& sequence : job.batch.sequences) append(job.batch, sequence);
  for (const auto& sequence : job.batch.sequences) attend(job, sequence);
}

float* NaiveAttentionUnit::token_row(std::vector<float>& store, int layer, device::PageId page,
                                     int slot) {
  const std::size_t width = static_cast<std::size_t>(geometry_.kv_heads) * geometry_.head_dim;
  const std::size_t index =
      (static_cast<std::size_t>(layer) * options_.num_pages + page) * geometry_.page_tokens + slot;
  return store.data() + index * width;
}

void NaiveAttentionUnit::append(const device::AttentionBatch& batch,
                                const device::AttentionSequence& sequence) {
  const std::size_t width = static_cast<std::size_t>(geometry_.kv_heads) * geometry_.head_dim;
  for (int i = 0; i < sequence.num_new; ++i) {
    const int token = sequence.append_at + i;
    const auto page = batch.pages[sequence.page_begin + token / geometry_.page_tokens];
    const std::size_t from = static_cast<std::size_t>(sequence.new_begin + i) * width;
    for (const bool is_k : {true, false}) {
      float* row = token_row(is_k ? k_ : v_, batch.layer, page, token % geometry_.page_tokens);
      std::copy_n((is_k ? batch.k : batch.v).begin() + static_cast<std::ptrdiff_t>(from), width,
                  row);
      reference::round_kv(geometry_.kv_dtype, geometry_.head_dim, {row, width});
    }
  }
}

void NaiveAttentionUnit::attend(const Job& job, const device::AttentionSequence& sequence) {
  if (sequence.num_q == 0) return;
  const std::size_t width = static_cast<std::size_t>(geometry_.kv_heads) * geometry_.head_dim;
  const std::size_t q_width = static_cast<std::size_t>(geometry_.q_heads) * geometry_.head_dim;
  std::vector<float> k, v;
  for (int token = sequence.attend_begin; token < sequence.num_attend; ++token) {
    const auto page = job.batch.pages[sequence.page_begin + token / geometry_.page_tokens];
    const int slot = token % geometry_.page_tokens;
    const float* k_row = token_row(k_, job.batch.layer, page, slot);
    const float* v_row = token_row(v_, job.batch.layer, page, slot);
    k.insert(k.end(), k_row, k_row + width);
    v.insert(v.end(), v_row, v_row + width);
  }
  for (int i = 0; i < sequence.num_q; ++i) {
    const auto row = static_cast<std::size_t>(sequence.q_begin + i);
    const auto answer = reference::reference_attention(
        geometry_, job.batch.scale, job.batch.q.subspan(row * q_width, q_width), k, v,
        static_cast<std::size_t>(sequence.num_attend - sequence.attend_begin),
        {0, job.batch.softcap});
    std::ranges::transform(answer.o, job.out.o.begin() + static_cast<std::ptrdiff_t>(row * q_width),
                           [](double x) { return static_cast<float>(x); });
    std::ranges::transform(
        answer.lse, job.out.lse.begin() + static_cast<std::ptrdiff_t>(row * geometry_.q_heads),
        [](double x) { return static_cast<float>(x); });
  }
}

}  // namespace tandem::test
