// SPDX-License-Identifier: Apache-2.0
//
// CpuAttentionUnit: append, plan, attend, merge.
#include "cpu/attention_unit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "cpu/kernels/rows/rows.h"
#include "cpu/read_bandwidth.h"

namespace tandem::device::cpu {
namespace {

constexpr std::uint64_t kReserveBytes = std::uint64_t{1} << 30;
constexpr std::size_t kAppendAlone = 64;    // (token, head) pairs not worth waking a team
constexpr std::size_t kAheadBytes = 16384;  // of tiles that are prefetched

std::uint32_t choose_pages(const AttentionUnitOptions& options) {
  check_geometry(options.geometry);
  std::uint64_t bytes = options.kv_bytes;
  if (bytes == 0) {
    const std::uint64_t available = available_memory_bytes();
    bytes = available - std::min(available, std::max(kReserveBytes, available / 8));
  }
  const std::uint64_t page = KvPool::page_bytes(options.geometry);
  std::uint64_t pages = bytes / page;
  if (options.max_pages != 0) pages = std::min<std::uint64_t>(pages, options.max_pages);
  if (pages == 0) {
    throw Error("cpu", std::to_string(bytes) + " bytes are too few for a KV page of " +
                           std::to_string(page) + " bytes; raise --kv-memory");
  }
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(pages, std::numeric_limits<std::uint32_t>::max()));
}

// The processors of each node that its threads are bound to.
std::vector<std::vector<int>> processors_of_nodes(const ThreadPlan& plan) {
  std::vector<std::vector<int>> nodes(static_cast<std::size_t>(plan.num_nodes));
  for (const ThreadPlace& thread : plan.threads) {
    auto& node = nodes[static_cast<std::size_t>(thread.node)];
    node.insert(node.end(), thread.processors.begin(), thread.processors.end());
  }
  return nodes;
}

}  // namespace

CpuAttentionUnit::CpuAttentionUnit(Team& team, const AttentionUnitOptions& options)
    : geometry_(options.geometry),
      team_(team),
      pool_(options.geometry, choose_pages(options), processors_of_nodes(team.plan())),
      workers_(team.size()) {}

AttentionCapacity CpuAttentionUnit::capacity() const {
  AttentionCapacity capacity;
  capacity.num_pages = pool_.num_pages();
  capacity.page_bytes = KvPool::page_bytes(geometry_);
  capacity.read_bandwidth_bytes_per_s = read_bandwidth(team_.plan());
  return capacity;
}

Ticket CpuAttentionUnit::submit(const AttentionBatch& batch, AttentionPartial out) {
  check_batch(geometry_, pool_.num_pages(), batch, out);
  const auto start = std::chrono::steady_clock::now();
  append(batch);
  plan_attention(geometry_, batch, team_.size(), plan_);
  partial_o_.resize(plan_.partial_rows * geometry_.head_dim);
  partial_lse_.resize(plan_.partial_rows);
  plan_.sort_by_node(team_.num_nodes(),
                     [&](const AttentionItem& item) { return home_of(batch, item); });
  team_.run_regions(plan_.bounds, [&](std::size_t item, std::size_t worker) {
    attend(batch, plan_.items[item], out, workers_[worker]);
  });
  if (plan_.partial_rows > 0) {
    team_.run(plan_.items.size(), [&](std::size_t item, std::size_t) {
      const AttentionItem& first = plan_.items[item];
      if (first.num_ranges > 1 && first.range == 0) merge(batch, first, out);
    });
  }
  std::uint64_t rows = 0, tiles = 0;
  for (const AttentionItem& item : plan_.items) {
    rows += item.range == 0 ? item.rows() : 0;
    const std::size_t used = pool_.tile_tokens();
    tiles += ((item.token_end + used - 1) / used - item.token_begin / used) *
             (item.head_end - item.head_begin);
  }
  launches_ += 1;
  bytes_out_ += rows * (geometry_.head_dim + 1) * sizeof(float);
  kv_bytes_ += tiles * pool_.tile_bytes();
  busy_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  return ++last_ticket_;
}

WaitResult CpuAttentionUnit::wait(Ticket ticket, Deadline) {
  if (ticket == 0 || ticket > last_ticket_) {
    throw Error("cpu", "ticket " + std::to_string(ticket) + " is unknown: no call has returned it");
  }
  return WaitResult::kDone;
}

void CpuAttentionUnit::append(const AttentionBatch& batch) {
  struct Part {
    std::size_t sequence, head;
  };
  std::vector<Part> parts;
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    if (batch.sequences[i].num_new == 0) continue;
    tokens += batch.sequences[i].num_new;
    for (int head = 0; head < geometry_.kv_heads; ++head) {
      parts.push_back({i, static_cast<std::size_t>(head)});
    }
  }
  const auto dim = static_cast<std::size_t>(geometry_.head_dim);
  const auto page_tokens = static_cast<std::size_t>(geometry_.page_tokens);
  const auto append_part = [&](std::size_t index, std::size_t) {
    const AttentionSequence& s = batch.sequences[parts[index].sequence];
    for (std::int32_t i = 0; i < s.num_new; ++i) {
      const std::size_t token = static_cast<std::size_t>(s.append_at) + i;
      const std::size_t row = static_cast<std::size_t>(s.new_begin) + i;
      const std::size_t at = (row * geometry_.kv_heads + parts[index].head) * dim;
      pool_.write({batch.layer, batch.pages[s.page_begin + token / page_tokens], parts[index].head,
                   token % page_tokens},
                  batch.k.data() + at, batch.v.data() + at);
    }
  };
  if (tokens * geometry_.kv_heads <= kAppendAlone) {
    for (std::size_t i = 0; i < parts.size(); ++i) append_part(i, 0);
  } else {
    team_.run(parts.size(), append_part);
  }
}

// Row of q and of the results of the item's row, which counts over (KV head, query, head within the
// group).
std::size_t CpuAttentionUnit::result_row(const AttentionBatch& batch, const AttentionItem& item,
                                         std::size_t row) const {
  const auto group = static_cast<std::size_t>(geometry_.q_heads / geometry_.kv_heads);
  const std::size_t kv_head = item.head_begin + row / item.rows_per_head();
  const std::size_t in_head = item.row_begin + row % item.rows_per_head();
  const std::size_t query = batch.sequences[item.sequence].q_begin + in_head / group;
  return query * geometry_.q_heads + kv_head * group + in_head % group;
}

// The node that the middle of the item's tokens is on.
int CpuAttentionUnit::home_of(const AttentionBatch& batch, const AttentionItem& item) const {
  const AttentionSequence& s = batch.sequences[item.sequence];
  const std::size_t token = (item.token_begin + item.token_end) / 2;
  const std::size_t page = token / static_cast<std::size_t>(geometry_.page_tokens);
  if (page >= static_cast<std::size_t>(s.num_pages)) return 0;  // nothing to read
  return pool_.home_of(batch.pages[s.page_begin + page]);
}

void CpuAttentionUnit::attend(const AttentionBatch& batch, const AttentionItem& item,
                              const AttentionPartial& out, Worker& worker) {
  const auto dim = static_cast<std::size_t>(geometry_.head_dim);
  worker.panel.start(item.rows(), dim, batch.softcap);
  for (std::size_t row = 0; row < item.rows(); ++row) {
    const float* q = batch.q.data() + result_row(batch, item, row) * dim;
    worker.panel.set_query(row, q, batch.scale);
  }
  if (item.rows_per_head() <= kFewQueries) {
    attend_few(batch, item, worker.panel);
  } else {
    attend_many(batch, item, worker);
  }
  finish_item(batch, item, out, worker.panel);
}

// Lists tiles of the item's range from tile `first` on, up to the room there is. Returns their
// number.
std::size_t CpuAttentionUnit::tiles_of(const AttentionBatch& batch, const AttentionItem& item,
                                       std::size_t head, std::size_t first,
                                       std::span<KvTile> tiles) const {
  const AttentionSequence& s = batch.sequences[item.sequence];
  const std::size_t used = pool_.tile_tokens(), per_page = pool_.tiles_per_page();
  std::size_t count = 0;
  for (; count < tiles.size() && (first + count) * used < item.token_end; ++count) {
    const std::size_t tile = first + count, token = tile * used;
    const PageId page = batch.pages[s.page_begin + tile / per_page];
    tiles[count] = pool_.tile(batch.layer, page, head, tile % per_page);
    tiles[count].begin = static_cast<int>(std::max(item.token_begin, token) - token);
    tiles[count].end = static_cast<int>(std::min(used, item.token_end - token));
  }
  return count;
}

// The read position of an item: kStoredTiles tiles of one head; heads alternate.
struct CpuAttentionUnit::Walk {
  std::size_t tile, head, count = 0;
  KvTile tiles[kStoredTiles];
};

void CpuAttentionUnit::advance(const AttentionBatch& batch, const AttentionItem& item,
                               Walk& walk) const {
  if (++walk.head < item.head_end) {
    for (std::size_t i = 0; i < walk.count; ++i) pool_.to_next_head(walk.tiles[i]);
    return;
  }
  walk.head = item.head_begin;
  walk.tile += kStoredTiles;
  walk.count = tiles_of(batch, item, walk.head, walk.tile, walk.tiles);
}

// Tiles in their stored type. Heads alternate every few tiles, so that pages are read in order.
// While one head computes, the next tiles are prefetched.
void CpuAttentionUnit::attend_few(const AttentionBatch& batch, const AttentionItem& item,
                                  RowPanel& panel) {
  Walk here{item.token_begin / pool_.tile_tokens(), item.head_begin};
  here.count = tiles_of(batch, item, here.head, here.tile, here.tiles);
  Walk ahead = here;
  const std::size_t step_bytes = kStoredTiles * pool_.tile_bytes();
  for (std::size_t done = 0; done < kAheadBytes; done += step_bytes) advance(batch, item, ahead);
  const std::size_t rows = item.rows_per_head();
  while (here.count > 0) {
    const std::size_t row = (here.head - item.head_begin) * rows;
    const bool more = ahead.count == kStoredTiles;
    panel.attend(geometry_.kv_dtype, row, row + rows, {here.tiles, here.count},
                 more ? ahead.tiles : here.tiles);
    advance(batch, item, here);
    advance(batch, item, ahead);
  }
}

// Tiles converted to f32 once for all rows of the one head.
void CpuAttentionUnit::attend_many(const AttentionBatch& batch, const AttentionItem& item,
                                   Worker& worker) {
  const std::size_t matrix = kTileTokens * pool_.stride();
  worker.expanded.resize(2 * kMaxTiles * matrix);
  KvTile tiles[kMaxTiles];
  std::size_t tile = item.token_begin / pool_.tile_tokens();
  while (const std::size_t count = tiles_of(batch, item, item.head_begin, tile, tiles)) {
    for (std::size_t i = 0; i < count; ++i) {
      float* k = worker.expanded.data() + 2 * i * matrix;
      expand_tile(geometry_.kv_dtype, tiles[i], pool_.stride(), k, k + matrix);
      tiles[i] = {k, k + matrix, nullptr, nullptr, tiles[i].begin, tiles[i].end};
    }
    worker.panel.attend(DType::kF32, 0, item.rows(), {tiles, count}, tiles);
    tile += count;
  }
}

void CpuAttentionUnit::finish_item(const AttentionBatch& batch, const AttentionItem& item,
                                   const AttentionPartial& out, const RowPanel& panel) {
  const auto dim = static_cast<std::size_t>(geometry_.head_dim);
  for (std::size_t row = 0; row < item.rows(); ++row) {
    const bool whole = item.num_ranges == 1;
    const std::size_t at = whole ? result_row(batch, item, row) : item.partial_row + row;
    panel.finish(row, (whole ? out.o.data() : partial_o_.data()) + at * dim,
                 (whole ? out.lse.data() : partial_lse_.data()) + at);
  }
}

// Combines the ranges of the same rows, of which `first` is range 0.
void CpuAttentionUnit::merge(const AttentionBatch& batch, const AttentionItem& first,
                             const AttentionPartial& out) const {
  const auto dim = static_cast<std::size_t>(geometry_.head_dim);
  for (std::size_t row = 0; row < first.rows(); ++row) {
    const auto partial = [&](std::size_t range) {
      return first.partial_row + range * first.rows() + row;
    };
    float peak = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < first.num_ranges; ++i) {
      peak = std::fmax(peak, partial_lse_[partial(i)]);
    }
    float sum = 0.0f;
    for (std::size_t i = 0; i < first.num_ranges; ++i) {
      sum += std::exp(partial_lse_[partial(i)] - peak);
    }
    const std::size_t at = result_row(batch, first, row);
    float* o = out.o.data() + at * dim;
    std::fill_n(o, dim, 0.0f);
    for (std::size_t i = 0; i < first.num_ranges; ++i) {
      const float weight = std::exp(partial_lse_[partial(i)] - peak) / sum;
      add_scaled(partial_o_.data() + partial(i) * dim, weight, dim, o);
    }
    out.lse[at] = peak + std::log(sum);
  }
}

void CpuAttentionUnit::check_page(PageId page, std::size_t image_bytes) const {
  if (page >= pool_.num_pages()) {
    throw Error("cpu", "page " + std::to_string(page) + " is outside the pool of " +
                           std::to_string(pool_.num_pages()) + " pages");
  }
  if (image_bytes != page_image_bytes(geometry_)) {
    throw Error("cpu", "a page image has " + std::to_string(page_image_bytes(geometry_)) +
                           " bytes, not " + std::to_string(image_bytes));
  }
}

WaitResult CpuAttentionUnit::export_page(PageId page, std::span<std::byte> to, Deadline) {
  check_page(page, to.size());
  pool_.export_page(page, to);
  return WaitResult::kDone;
}

WaitResult CpuAttentionUnit::import_page(PageId page, std::span<const std::byte> from, Deadline) {
  check_page(page, from.size());
  pool_.import_page(page, from);
  return WaitResult::kDone;
}

AttentionStats CpuAttentionUnit::stats() const {
  AttentionStats stats;
  stats.launches = launches_;
  stats.bytes_from_unit = bytes_out_;
  stats.kv_bytes_read = kv_bytes_;
  stats.busy_seconds = static_cast<double>(busy_ns_) * 1e-9;
  return stats;
}

}  // namespace tandem::device::cpu
