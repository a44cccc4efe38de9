// SPDX-License-Identifier: Apache-2.0
//
// The case of a trial of decode attention.
#include "cuda/decode_trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "attention/decode.h"
#include "common/error.h"
#include "cuda/kernel_choice.h"

namespace tandem::cuda {

using gpu_kernels::DecodeBucket;
using gpu_kernels::DecodeGroup;
using gpu_kernels::DecodeShape;
using gpu_kernels::KernelPath;
using gpu_kernels::KvPool;
using gpu_kernels::KvType;

namespace {

constexpr int kSequences = 5, kRows = kSequences;
constexpr int kStagesPerProcessor = 16, kStageTokens = 64;

const char* name_of(KvType type) {
  switch (type) {
    case KvType::kF16:
      return "f16";
    case KvType::kBF16:
      return "bf16";
    case KvType::kE4M3:
      return "f8";
    default:
      return "i8";
  }
}

// Stored values of magnitude 2^-3 .. 2, of integers any, by their bits.
void fill_values(KvType type, std::span<std::uint64_t> words, std::mt19937_64& random) {
  std::uint64_t keep = ~0ull, set = 0;
  if (type == KvType::kF16) keep = 0x8fff8fff8fff8fffull, set = 0x3000300030003000ull;
  if (type == KvType::kBF16) keep = 0x81ff81ff81ff81ffull, set = 0x3e003e003e003e00ull;
  if (type == KvType::kE4M3) keep = 0x9f9f9f9f9f9f9f9full, set = 0x2020202020202020ull;
  for (std::uint64_t& word : words) word = (random() & keep) | set;
}

class DecodeCase {
 public:
  DecodeCase(Gpu& gpu, const DecodeShape& shape) : gpu_(gpu), shape_(shape) {
    for (const KernelPath path : {KernelPath::kGeneric, KernelPath::kHopper}) {
      shape_.path = path;
      bucket(path) = gpu_kernels::make_decode_bucket(shape_, kSequences, kRows, 1);
    }
  }

  bool has_hopper() const {
    return gpu_.traits.capability >= 90 && gpu_kernels::code_capability() >= 90 &&
           buckets_[1].num_blocks > 0 && buckets_[1].shape.path == KernelPath::kHopper;
  }
  std::size_t num_results() const { return heads() * (dim() + 1); }

  void prepare();

  cudaError_t launch(KernelPath path, float* results, cudaStream_t stream) {
    gpu_kernels::DecodeAttention job;
    job.pool = pool_;
    job.scale = 1.0f / std::sqrt(static_cast<float>(shape_.head_dim));
    job.q = q_.as<float>();
    job.pages = pages_.as<std::uint32_t>();
    job.plan = plans_[index(path)].data();
    job.workspace = workspaces_[index(path)].data();
    job.o = results;
    job.lse = results + heads() * dim();
    return gpu_kernels::decode_attention(bucket(path), job, stream);
  }

 private:
  static std::size_t index(KernelPath path) { return path == KernelPath::kHopper ? 1 : 0; }
  DecodeBucket& bucket(KernelPath path) { return buckets_[index(path)]; }
  std::size_t heads() const { return static_cast<std::size_t>(kRows * shape_.q_heads); }
  std::size_t dim() const { return static_cast<std::size_t>(shape_.head_dim); }

  template <typename T>
  PoolRange upload(std::span<const T> from) {
    PoolRange range(gpu_.device_memory, from.size_bytes(), Purpose::kWorkspace);
    gpu_.health.check(
        cudaMemcpy(range.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice),
        "trying kernels");
    return range;
  }
  std::vector<DecodeGroup> groups();
  void upload_pool(std::mt19937_64& random);

  Gpu& gpu_;
  DecodeShape shape_;
  std::array<DecodeBucket, 2> buckets_;
  KvPool pool_;
  PoolRange values_, scales_, q_, pages_;
  std::array<PoolRange, 2> plans_, workspaces_;
};

// Lengths as 1 : 2 : 3 : 4 : 5, none of whole stages.
std::vector<DecodeGroup> DecodeCase::groups() {
  const std::size_t row = static_cast<std::size_t>(gpu_kernels::kv_row_values(shape_.head_dim) *
                                                   gpu_kernels::value_bytes_of(shape_.type));
  const std::uint64_t room = gpu_.memory().free_bytes / 8 / (2 * row);
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(shape_.num_processors) * kStagesPerProcessor * kStageTokens;
  const auto tokens = static_cast<int>(std::min(room, wanted)) / shape_.kv_heads;
  std::vector<DecodeGroup> groups;
  std::int32_t page = 0;
  for (int i = 0; i < kSequences; ++i) {
    DecodeGroup group;
    group.row_begin = i;
    group.num_rows = 1;
    group.page_begin = page;
    group.attend_begin = i;
    group.num_attend = tokens * (i + 1) / 15 + 7 + i;
    page += (group.num_attend + shape_.page_tokens - 1) / shape_.page_tokens;
    groups.push_back(group);
  }
  pool_.num_pages = static_cast<std::uint32_t>(page);
  return groups;
}

void DecodeCase::upload_pool(std::mt19937_64& random) {
  std::vector<std::uint64_t> values(gpu_kernels::kv_values_bytes(pool_) / 8);
  fill_values(shape_.type, values, random);
  values_ = upload<std::uint64_t>(values);
  pool_.values = values_.data();
  std::vector<float> scales(gpu_kernels::kv_scales_bytes(pool_) / sizeof(float));
  for (float& scale : scales) scale = std::ldexp(1.0f, -6 + static_cast<int>(random() % 3));
  if (scales.empty()) return;
  scales_ = upload<float>(scales);
  pool_.scales = scales_.as<float>();
}

void DecodeCase::prepare() {
  std::mt19937_64 random(1);
  pool_.type = shape_.type;
  pool_.num_layers = 1;
  pool_.kv_heads = shape_.kv_heads;
  pool_.head_dim = shape_.head_dim;
  pool_.page_tokens = shape_.page_tokens;
  const std::vector<DecodeGroup> batch = groups();
  upload_pool(random);
  std::vector<std::uint32_t> pages(pool_.num_pages);
  std::iota(pages.begin(), pages.end(), 0u);
  std::ranges::shuffle(pages, random);
  pages_ = upload<std::uint32_t>(pages);
  std::vector<float> q(heads() * dim());
  for (float& value : q) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  q_ = upload<float>(q);
  std::array<std::int32_t, kRows> rows;
  std::iota(rows.begin(), rows.end(), 0);
  for (const KernelPath path : {KernelPath::kGeneric, KernelPath::kHopper}) {
    std::vector<std::byte> plan(bucket(path).plan_bytes);
    TANDEM_CHECK(gpu_kernels::plan_decode(bucket(path), batch, rows, plan));
    plans_[index(path)] = upload<std::byte>(plan);
    workspaces_[index(path)] =
        PoolRange(gpu_.device_memory, bucket(path).workspace_bytes, Purpose::kWorkspace);
  }
}

}  // namespace

KernelPath choose_decode_path(Gpu& gpu, const DecodeShape& shape) {
  if (gpu.kernel_policy == KernelPolicy::kGeneric) return KernelPath::kGeneric;
  DecodeCase one(gpu, shape);
  PathTrial trial;
  trial.what = "decode attention of " + std::to_string(shape.q_heads) + "/" +
               std::to_string(shape.kv_heads) + " heads of " + std::to_string(shape.head_dim) +
               " in " + name_of(shape.type);
  trial.has_hopper = one.has_hopper();
  trial.num_results = one.num_results();
  trial.prepare = [&] { one.prepare(); };
  trial.launch = [&](KernelPath path, float* results, cudaStream_t stream) {
    return one.launch(path, results, stream);
  };
  return choose_path(gpu, trial);
}

}  // namespace tandem::cuda
