// SPDX-License-Identifier: Apache-2.0
//
// Splits a batch into decode and prefill sequences, fills its arrays and appends its launches.
#include "cuda/attention/attention_plan.h"

#include <algorithm>

#include "attention/decode.h"
#include "attention/prefill.h"
#include "common/error.h"
#include "cuda/trials/decode_trial.h"
#include "cuda/trials/prefill_trial.h"
#include "rope/rope_append.h"

namespace tandem::cuda {

using device::AttentionBatch;
using device::AttentionSequence;

namespace {

constexpr std::size_t kAlignment = 256;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

struct DecodeLaunch {
  const gpu_kernels::DecodeBucket* bucket = nullptr;
  gpu_kernels::DecodeAttention job;
};

cudaError_t launch_decode_attention(const DecodeLaunch& launch, cudaStream_t stream) {
  return gpu_kernels::decode_attention(*launch.bucket, launch.job, stream);
}

struct PrefillLaunch {
  const gpu_kernels::PrefillBucket* bucket = nullptr;
  gpu_kernels::PagedAttention job;
};

cudaError_t launch_paged_attention(const PrefillLaunch& launch, cudaStream_t stream) {
  return gpu_kernels::paged_attention(*launch.bucket, launch.job, stream);
}

gpu_kernels::DecodeShape decode_shape_of(const Gpu& gpu, const device::AttentionGeometry& geometry,
                                         const gpu_kernels::KvPool& pool) {
  gpu_kernels::DecodeShape shape;
  shape.type = pool.type;
  shape.q_heads = geometry.q_heads;
  shape.kv_heads = geometry.kv_heads;
  shape.head_dim = geometry.head_dim;
  shape.page_tokens = geometry.page_tokens;
  shape.num_processors = gpu.traits.num_processors;
  shape.shared_bytes = gpu.traits.shared_bytes;
  return shape;
}

gpu_kernels::PrefillShape prefill_shape_of(const Gpu& gpu,
                                           const device::AttentionGeometry& geometry,
                                           const gpu_kernels::KvPool& pool) {
  gpu_kernels::PrefillShape shape;
  shape.type = pool.type;
  shape.q_heads = geometry.q_heads;
  shape.kv_heads = geometry.kv_heads;
  shape.head_dim = geometry.head_dim;
  shape.page_tokens = geometry.page_tokens;
  shape.block_bytes = gpu.traits.block_shared_bytes;
  return shape;
}

bool same_bytes(const void* a, const void* b, std::size_t bytes) {
  return bytes == 0 || std::memcmp(a, b, bytes) == 0;
}

}  // namespace

AttentionPlanner::AttentionPlanner(Gpu& gpu, const device::AttentionGeometry& geometry,
                                   const gpu_kernels::KvPool& pool)
    : queue_(gpu.queue),
      geometry_(geometry),
      pool_(pool),
      decode_shape_(decode_shape_of(gpu, geometry, pool)),
      prefill_shape_(prefill_shape_of(gpu, geometry, pool)) {
  decode_shape_.path = choose_decode_path(gpu, decode_shape_);
  prefill_shape_.path = choose_prefill_path(gpu, prefill_shape_);
  if (decode_bucket(DecodeKey{1, 1, 1}).num_blocks > 0 &&
      prefill_bucket(PrefillKey{1, 1}).num_tiles > 0) {
    return;
  }
  throw Error("cuda", gpu.health.device() + " has no kernel for heads of " +
                          std::to_string(geometry.head_dim) + " values (head_dim) in " +
                          std::string(dtype_name(geometry.kv_dtype)) + ": its blocks have " +
                          std::to_string(gpu.traits.block_shared_bytes / 1024) +
                          " KiB of shared memory; use --attention cpu");
}

bool AttentionPlanner::is_planned(const PlannedBatch& planned, const AttentionBatch& batch) const {
  return planned.position == queue_.open_position() && planned.q_size == batch.q.size() &&
         planned.k_size == batch.k.size() && planned.sequences.size() == batch.sequences.size() &&
         planned.pages.size() == batch.pages.size() &&
         same_bytes(planned.sequences.data(), batch.sequences.data(),
                    batch.sequences.size_bytes()) &&
         same_bytes(planned.pages.data(), batch.pages.data(), batch.pages.size_bytes());
}

const PlannedBatch& AttentionPlanner::plan(const AttentionBatch& batch,
                                           const device::AttentionPartial& out) {
  const auto found =
      std::ranges::find_if(planned_, [&](const auto& each) { return is_planned(each, batch); });
  if (found != planned_.end()) {
    AttentionBatch shapes = batch;  // check_batch() has checked its sequences and pages
    shapes.sequences = {};
    shapes.pages = {};
    device::check_batch(geometry_, pool_.num_pages, shapes, out);
    found->last_used = ++uses_;
    return *found;
  }
  device::check_batch(geometry_, pool_.num_pages, batch, out);
  PlannedBatch& planned = *std::ranges::min_element(planned_, {}, &PlannedBatch::last_used);
  planned.position = 0;  // invalid until it is complete
  deal_out(batch);
  find_shared_pages(batch);
  choose_buckets(planned);
  reserve_arrays(planned, batch);
  stage(planned, batch);
  planned.sequences.assign(batch.sequences.begin(), batch.sequences.end());
  planned.pages.assign(batch.pages.begin(), batch.pages.end());
  planned.q_size = batch.q.size();
  planned.k_size = batch.k.size();
  planned.position = queue_.open_position();
  planned.last_used = ++uses_;
  planned.tokens_read = 0;
  for (const AttentionSequence& s : batch.sequences) {
    if (s.num_q > 0)
      planned.tokens_read += static_cast<std::uint64_t>(s.num_attend - s.attend_begin);
  }
  return planned;
}

void AttentionPlanner::deal_out(const AttentionBatch& batch) {
  groups_.clear();
  rows_.clear();
  prefill_.clear();
  prefill_rows_ = num_new_ = 0;
  appended_.assign(
      batch.k.size() / (static_cast<std::size_t>(geometry_.kv_heads) * geometry_.head_dim), false);
  bool once = true;
  for (const AttentionSequence& s : batch.sequences) {
    num_new_ += static_cast<std::size_t>(s.num_new);
    for (std::int32_t row = s.new_begin; row < s.new_begin + s.num_new; ++row) {
      once = once && !appended_[static_cast<std::size_t>(row)];
      appended_[static_cast<std::size_t>(row)] = true;
    }
    if (s.num_q == 0) continue;
    if (s.num_q > kMostDecodeRows) {
      prefill_.push_back({s.q_begin, s.num_q, s.page_begin, s.attend_begin, s.num_attend});
      prefill_rows_ += static_cast<std::size_t>(s.num_q);
      continue;
    }
    groups_.push_back({static_cast<std::int32_t>(rows_.size()), s.num_q, s.page_begin,
                       s.attend_begin, s.num_attend, 0});
    for (std::int32_t i = 0; i < s.num_q; ++i) rows_.push_back(s.q_begin + i);
  }
  places_by_row_ = once && num_new_ > 0;
}

void AttentionPlanner::find_shared_pages(const AttentionBatch& batch) {
  cascade_.shared.clear();
  const auto row = static_cast<std::size_t>(geometry_.q_heads) * geometry_.head_dim;
  if (groups_.size() < 2 || !prefill_.empty() || rows_.size() != batch.q.size() / row) return;
  gpu_kernels::CascadeOptions options;
  options.page_tokens = geometry_.page_tokens;
  options.max_rows = static_cast<std::int32_t>(rows_.size());
  gpu_kernels::plan_cascade(options, groups_, rows_, batch.pages, cascade_);
}

const gpu_kernels::DecodeBucket& AttentionPlanner::decode_bucket(
    std::span<const gpu_kernels::DecodeGroup> groups, std::size_t num_rows) {
  int most = 1;
  for (const auto& group : groups) most = std::max(most, group.num_rows);
  return decode_bucket(DecodeKey{about(groups.size(), 8), about(num_rows, 8),
                                 most == 1 ? 1 : about(static_cast<std::size_t>(most), 8)});
}

const gpu_kernels::DecodeBucket& AttentionPlanner::decode_bucket(const DecodeKey& key) {
  return decode_buckets_.find(key, [&] {
    return gpu_kernels::make_decode_bucket(decode_shape_, key.groups, key.rows, key.group_rows);
  });
}

const gpu_kernels::PrefillBucket& AttentionPlanner::prefill_bucket(const PrefillKey& key) {
  return prefill_buckets_.find(key, [&] {
    return gpu_kernels::make_prefill_bucket(prefill_shape_, key.sequences, key.rows);
  });
}

void AttentionPlanner::choose_buckets(PlannedBatch& planned) {
  planned.own = planned.shared = {};
  planned.prefill = nullptr;
  planned.merged_rows = 0;
  const bool shares = !cascade_.shared.empty();
  const std::size_t rows = shares ? cascade_.rows.size() : rows_.size();
  if (!groups_.empty()) {
    planned.own.bucket =
        shares ? &decode_bucket(cascade_.own, rows) : &decode_bucket(groups_, rows);
  }
  if (shares) {
    planned.shared.bucket = &decode_bucket(cascade_.shared, rows);
    planned.merged_rows = static_cast<std::int64_t>(rows_.size());
  }
  if (!prefill_.empty()) {
    planned.prefill =
        &prefill_bucket(PrefillKey{about(prefill_.size(), 4), about(prefill_rows_, 64)});
  }
  std::size_t workspace = 0;
  for (const PlannedDecode* pass : {&planned.own, &planned.shared}) {
    if (pass->bucket == nullptr) continue;
    TANDEM_CHECK(pass->bucket->num_blocks > 0);
    workspace = std::max(workspace, round_up(pass->bucket->workspace_bytes));
  }
  TANDEM_CHECK(planned.prefill == nullptr || planned.prefill->num_tiles > 0);
  const std::size_t heads =
      rows_.size() * gpu_kernels::kMaxCascadeLevels * static_cast<std::size_t>(geometry_.q_heads);
  planned.o_at = workspace;
  planned.lse_at =
      planned.o_at + round_up(heads * static_cast<std::size_t>(geometry_.head_dim) * sizeof(float));
  planned.scratch_bytes = shares ? planned.lse_at + round_up(heads * sizeof(float)) : workspace;
}

void AttentionPlanner::reserve_arrays(PlannedBatch& planned, const AttentionBatch& batch) {
  std::size_t bytes = batch.pages.size_bytes();
  planned.num_places = num_new_ == 0 ? 0 : about(places_by_row_ ? appended_.size() : num_new_, 8);
  bytes += static_cast<std::size_t>(planned.num_places) * sizeof(gpu_kernels::KvPlace);
  for (const PlannedDecode* pass : {&planned.own, &planned.shared}) {
    if (pass->bucket != nullptr) bytes += pass->bucket->plan_bytes;
  }
  if (planned.prefill != nullptr) bytes += planned.prefill->plan_bytes;
  if (planned.merged_rows > 0) {
    bytes += gpu_kernels::merge_coverage_bytes(planned.merged_rows, cascade_.rows.size());
  }
  planned.staged_bytes = bytes;
  queue_.begin(bytes, 6, planned.scratch_bytes);
}

void AttentionPlanner::stage(PlannedBatch& planned, const AttentionBatch& batch) {
  planned.page_list = queue_.stage(batch.pages);
  stage_places(planned, batch);
  const bool shares = planned.shared.bucket != nullptr;
  if (planned.own.bucket != nullptr) {
    planned.own.plan = stage_decode(*planned.own.bucket,
                                    shares ? std::span(std::as_const(cascade_.own)) : groups_);
  }
  if (shares) {
    planned.shared.plan = stage_decode(*planned.shared.bucket, cascade_.shared);
    stage_coverage(planned);
  }
  if (planned.prefill != nullptr) {
    const Queue::StagedRoom room = queue_.stage_room(planned.prefill->plan_bytes);
    TANDEM_CHECK(gpu_kernels::plan_prefill(*planned.prefill, prefill_,
                                           {room.host, planned.prefill->plan_bytes}));
    planned.prefill_plan = room.device;
  }
}

void AttentionPlanner::stage_places(PlannedBatch& planned, const AttentionBatch& batch) {
  const auto count = static_cast<std::size_t>(planned.num_places);
  planned.places_by_row = places_by_row_;
  if (count == 0) return;
  const Queue::StagedRoom room = queue_.stage_room(count * sizeof(gpu_kernels::KvPlace));
  auto* places = reinterpret_cast<gpu_kernels::KvPlace*>(room.host);
  std::fill_n(places, count, gpu_kernels::KvPlace{});
  for (const AttentionSequence& s : batch.sequences) {
    for (std::int32_t i = 0; i < s.num_new; ++i) {
      const std::int32_t token = s.append_at + i;
      const auto page = static_cast<std::size_t>(s.page_begin + token / geometry_.page_tokens);
      const std::int32_t row = s.new_begin + i;
      (places_by_row_ ? places[row] : *places++) = {batch.pages[page],
                                                    token % geometry_.page_tokens, row};
    }
  }
  planned.places = reinterpret_cast<const gpu_kernels::KvPlace*>(room.device);
}

const std::byte* AttentionPlanner::stage_decode(const gpu_kernels::DecodeBucket& bucket,
                                                std::span<const gpu_kernels::DecodeGroup> groups) {
  const Queue::StagedRoom room = queue_.stage_room(bucket.plan_bytes);
  const bool shares = !cascade_.shared.empty();
  TANDEM_CHECK(gpu_kernels::plan_decode(bucket, groups, shares ? cascade_.rows : rows_,
                                        {room.host, bucket.plan_bytes}));
  return room.device;
}

void AttentionPlanner::stage_coverage(PlannedBatch& planned) {
  const auto heads = static_cast<std::size_t>(planned.merged_rows * geometry_.q_heads);
  const auto* o = reinterpret_cast<const float*>(queue_.scratch() + planned.o_at);
  const auto* lse = reinterpret_cast<const float*>(queue_.scratch() + planned.lse_at);
  covers_.clear();
  std::size_t listed = 0;
  for (std::size_t level = 0; level < gpu_kernels::kMaxCascadeLevels; ++level) {
    const auto& rows = cascade_.level_rows[level];
    if (rows.empty()) continue;
    const std::size_t at = level * heads;
    covers_.push_back({{o + at * static_cast<std::size_t>(geometry_.head_dim), lse + at}, rows});
    listed += rows.size();
  }
  const std::size_t bytes = gpu_kernels::merge_coverage_bytes(planned.merged_rows, listed);
  const Queue::StagedRoom room = queue_.stage_room(bytes);
  TANDEM_CHECK(gpu_kernels::plan_merge(planned.merged_rows, covers_, {room.host, bytes}));
  planned.coverage = room.device;
}

// If the previous launch rotates all these keys, it also appends them and the values. Its further
// rows get places without a page.
bool AttentionPlanner::append_while_rotating(const PlannedBatch& planned, int layer,
                                             const AttentionRows& rows) {
  const gpu_kernels::Rope* last = queue_.last<gpu_kernels::rope>();
  if (last == nullptr || !planned.places_by_row || last->rows > planned.num_places ||
      last->head_dim != geometry_.head_dim || last->num_targets == gpu_kernels::kMaxRopeTargets) {
    return false;
  }
  int k_target = 0;
  while (k_target < last->num_targets && last->targets[k_target].x != rows.k) ++k_target;
  if (k_target == last->num_targets || last->targets[k_target].heads != geometry_.kv_heads ||
      last->rows <
          static_cast<std::int64_t>(planned.k_size) / (geometry_.kv_heads * geometry_.head_dim)) {
    return false;
  }
  const gpu_kernels::Rope rope = *last;
  queue_.drop_last();
  auto& job = queue_.add<gpu_kernels::rope_append>("rotating heads and appending them");
  std::memcpy(&job.rope, &rope, sizeof(rope));  // includes the padding between its members
  job.k_target = k_target;
  job.v_target = job.rope.num_targets++;
  gpu_kernels::RopeTarget& v = job.rope.targets[job.v_target];
  v.x = const_cast<float*>(rows.v);  // neither rotated nor biased nor normalised: only read
  v.heads = geometry_.kv_heads;
  v.rotates = false;
  job.pool = pool_;
  job.layer = layer;
  job.places = planned.places;
  return true;
}

void AttentionPlanner::launch(const PlannedBatch& planned, const AttentionBatch& batch,
                              const AttentionRows& rows) {
  if (planned.num_places > 0 && !append_while_rotating(planned, batch.layer, rows)) {
    auto& append = queue_.add<gpu_kernels::append_kv>("appending keys and values");
    append.pool = pool_;
    append.layer = batch.layer;
    append.num_places = planned.num_places;
    append.places = planned.places;
    append.k = rows.k;
    append.v = rows.v;
  }
  AttentionRows results = rows;
  if (planned.merged_rows > 0) {
    results.o = reinterpret_cast<float*>(queue_.scratch() + planned.o_at);
    results.lse = reinterpret_cast<float*>(queue_.scratch() + planned.lse_at);
  }
  launch_decode(planned.own, planned, batch, results);
  launch_decode(planned.shared, planned, batch, results);
  if (planned.merged_rows > 0) {
    auto& merge = queue_.add<gpu_kernels::merge_partials>("merging shared prefixes");
    merge.rows = planned.merged_rows;
    merge.heads = geometry_.q_heads;
    merge.head_dim = geometry_.head_dim;
    merge.coverage = planned.coverage;
    merge.out = rows.o;
    merge.lse = rows.lse;
  }
  if (planned.prefill != nullptr) launch_prefill(planned, batch, rows);
}

void AttentionPlanner::launch_prefill(const PlannedBatch& planned, const AttentionBatch& batch,
                                      const AttentionRows& rows) {
  auto& prefill = queue_.add<launch_paged_attention>("attending of chunks");
  prefill.bucket = planned.prefill;
  prefill.job.attention.plan = planned.prefill_plan;
  prefill.job.attention.scale = batch.scale;
  prefill.job.attention.softcap = batch.softcap;
  prefill.job.attention.q = rows.q;
  prefill.job.attention.o = rows.o;
  prefill.job.attention.lse = rows.lse;
  prefill.job.pool = pool_;
  prefill.job.layer = batch.layer;
  prefill.job.pages = planned.page_list;
}

void AttentionPlanner::launch_decode(const PlannedDecode& pass, const PlannedBatch& planned,
                                     const AttentionBatch& batch, const AttentionRows& rows) {
  if (pass.bucket == nullptr) return;
  auto& launch = queue_.add<launch_decode_attention>("attending");
  launch.bucket = pass.bucket;
  launch.job.pool = pool_;
  launch.job.layer = batch.layer;
  launch.job.scale = batch.scale;
  launch.job.softcap = batch.softcap;
  launch.job.q = rows.q;
  launch.job.pages = planned.page_list;
  launch.job.plan = pass.plan;
  launch.job.workspace = queue_.scratch();
  launch.job.o = rows.o;
  launch.job.lse = rows.lse;
}

}  // namespace tandem::cuda
