// SPDX-License-Identifier: Apache-2.0
//
// The case of the trial: rows, pool, and the launches of both paths.
#include "cuda/trials/prefill_trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "attention/prefill.h"
#include "common/error.h"
#include "cuda/trials/kernel_choice.h"

namespace tandem::cuda {

using gpu_kernels::KernelPath;
using gpu_kernels::KvType;
using gpu_kernels::PrefillBucket;
using gpu_kernels::PrefillSequence;
using gpu_kernels::PrefillShape;

namespace {

constexpr int kLongSequences = 3, kTokensPerProcessor = 8;
constexpr std::array<int, 2> kShort{1, 37};  // rows of a chunk, or tokens
constexpr int kSequences = kLongSequences + static_cast<int>(kShort.size());
constexpr int kShortRows = kShort[0] + kShort[1];
constexpr float kCap = 20.0f;
// What rounding gives on either path (attention/prefill.h), twice: with bf16 a score is off by
// 2^-17 of sum |q k| and O by 2^-17 of sum p |v|, with f16 by 2^-22.
constexpr double kExactBound = 2e-5, kRoundedBound = 1e-4;
constexpr double kExactLseBound = 1e-5, kRoundedLseBound = 1e-4;
constexpr int kQueryHeadsPerProcessor = 128;

class PrefillCase {
 public:
  PrefillCase(Gpu& gpu, const PrefillShape& shape, float softcap)
      : gpu_(gpu), shape_(shape), softcap_(softcap) {
    const int sixth =
        std::max(2, gpu.traits.num_processors * kQueryHeadsPerProcessor / shape.q_heads / 6);
    rows_ = sixth * 6 + kShortRows;
    tokens_ = gpu.traits.num_processors * kTokensPerProcessor + 5;
    for (const KernelPath path : {KernelPath::kGeneric, KernelPath::kHopper}) {
      shape_.path = path;
      bucket(path) = gpu_kernels::make_prefill_bucket(shape_, kSequences, rows_);
    }
  }

  bool has_hopper() const {
    return buckets_[1].num_tiles > 0 && buckets_[1].shape.path == KernelPath::kHopper &&
           gpu_.traits.capability == 90 && gpu_kernels::has_hopper_prefill();
  }
  std::vector<TrialPart> parts() const {
    const bool rounds = shape_.type == KvType::kBF16;
    return {{"O", heads() * dim(), rounds ? kRoundedBound : kExactBound},
            {"LSE", heads(), rounds ? kRoundedLseBound : kExactLseBound, false}};
  }

  void prepare();

  cudaError_t launch(KernelPath path, float* results, cudaStream_t stream) {
    gpu_kernels::PrefillAttention attention;
    attention.plan = plans_[index(path)].data();
    attention.scale = 1.0f / std::sqrt(static_cast<float>(shape_.head_dim));
    attention.softcap = softcap_;
    attention.q = q_.as<float>();
    attention.o = results;
    attention.lse = results + heads() * dim();
    if (is_causal()) {
      return gpu_kernels::causal_attention(
          bucket(path),
          {attention, k_.as<float>(), v_.as<float>(), workspaces_[index(path)].data()}, stream);
    }
    return gpu_kernels::paged_attention(bucket(path),
                                        {attention, pool_, 0, pages_.as<std::uint32_t>()}, stream);
  }

 private:
  static std::size_t index(KernelPath path) { return path == KernelPath::kHopper ? 1 : 0; }
  PrefillBucket& bucket(KernelPath path) { return buckets_[index(path)]; }
  bool is_causal() const { return shape_.page_tokens == 0; }
  std::size_t heads() const { return static_cast<std::size_t>(rows_) * shape_.q_heads; }
  std::size_t dim() const { return static_cast<std::size_t>(shape_.head_dim); }

  template <typename T>
  PoolRange upload(std::span<const T> from) {
    return upload_for_trial(gpu_, std::as_bytes(from));
  }
  PoolRange upload_floats(std::size_t size, float most) {
    std::vector<float> values(size);
    for (float& value : values) {
      value = most * (static_cast<float>(random_() % 2001) / 1000.0f - 1.0f);
    }
    return upload<float>(values);
  }
  std::vector<PrefillSequence> sequences() const;
  void upload_pool();

  Gpu& gpu_;
  PrefillShape shape_;
  float softcap_;
  int rows_ = 0, tokens_ = 0;
  std::mt19937_64 random_{1};
  std::array<PrefillBucket, 2> buckets_;
  gpu_kernels::KvPool pool_;
  PoolRange values_, pages_, q_, k_, v_;
  std::array<PoolRange, 2> plans_, workspaces_;
};

std::vector<PrefillSequence> PrefillCase::sequences() const {
  std::vector<PrefillSequence> sequences;
  std::int32_t row = 0;
  for (int i = 0; i < kSequences; ++i) {
    PrefillSequence sequence;
    sequence.q_begin = row;
    const int shorter =
        i < kLongSequences ? 0 : kShort[static_cast<std::size_t>(i - kLongSequences)];
    sequence.num_q = shorter > 0 ? shorter : (rows_ - kShortRows) / 6 * (i + 1);
    if (!is_causal()) {
      sequence.page_begin = i * static_cast<std::int32_t>(pool_.num_pages / kSequences);
      sequence.attend_begin = i;
      sequence.num_attend = shorter > 0 ? i + shorter : tokens_ - i;
    }
    row += sequence.num_q;
    sequences.push_back(sequence);
  }
  return sequences;
}

// Values of magnitude 2^-3 .. 2, by their bits; only shapes of 16-bit types are tried.
void PrefillCase::upload_pool() {
  const std::uint64_t keep =
      shape_.type == KvType::kF16 ? 0x8fff8fff8fff8fffull : 0x81ff81ff81ff81ffull;
  const std::uint64_t set =
      shape_.type == KvType::kF16 ? 0x3000300030003000ull : 0x3e003e003e003e00ull;
  pool_.type = shape_.type;
  pool_.num_layers = 1;
  pool_.kv_heads = shape_.kv_heads;
  pool_.head_dim = shape_.head_dim;
  pool_.page_tokens = shape_.page_tokens;
  pool_.num_pages = static_cast<std::uint32_t>(
      kSequences * ((tokens_ + shape_.page_tokens - 1) / shape_.page_tokens));
  std::vector<std::uint64_t> values(gpu_kernels::kv_values_bytes(pool_) / 8);
  for (std::uint64_t& word : values) word = (random_() & keep) | set;
  values_ = upload<std::uint64_t>(values);
  pool_.values = values_.data();
  std::vector<std::uint32_t> pages(pool_.num_pages);
  std::iota(pages.begin(), pages.end(), 0u);
  std::ranges::shuffle(pages, random_);
  pages_ = upload<std::uint32_t>(pages);
}

void PrefillCase::prepare() {
  q_ = upload_floats(heads() * dim(), 4);  // so that some tokens weigh more than others
  if (is_causal()) {
    const std::size_t kv = static_cast<std::size_t>(rows_) * shape_.kv_heads * dim();
    k_ = upload_floats(kv, 1);
    v_ = upload_floats(kv, 1);
  } else {
    upload_pool();
  }
  for (const KernelPath path : {KernelPath::kGeneric, KernelPath::kHopper}) {
    std::vector<std::byte> plan(bucket(path).plan_bytes);
    TANDEM_CHECK(gpu_kernels::plan_prefill(bucket(path), sequences(), plan));
    plans_[index(path)] = upload<std::byte>(plan);
    if (!is_causal()) continue;
    workspaces_[index(path)] =
        PoolRange(gpu_.device_memory, bucket(path).workspace_bytes, Purpose::kWorkspace);
  }
}

}  // namespace

namespace {

KernelPath choose_path_with(Gpu& gpu, const PrefillShape& shape, float softcap) {
  PrefillCase one(gpu, shape, softcap);
  PathTrial trial;
  trial.what = std::string(shape.page_tokens == 0 ? "attention in chunks" : "attention of chunks") +
               " of " + std::to_string(shape.q_heads) + "/" + std::to_string(shape.kv_heads) +
               " heads of " + std::to_string(shape.head_dim) + (softcap > 0 ? ", capped" : "");
  trial.has_hopper = one.has_hopper();
  trial.parts = one.parts();
  trial.prepare = [&] { one.prepare(); };
  trial.launch = [&](KernelPath path, float* results, cudaStream_t stream) {
    return one.launch(path, results, stream);
  };
  return choose_path(gpu, trial);
}

}  // namespace

KernelPath choose_prefill_path(Gpu& gpu, const PrefillShape& shape) {
  if (gpu.kernel_policy == KernelPolicy::kGeneric) return KernelPath::kGeneric;
  const KernelPath path = choose_path_with(gpu, shape, 0);
  if (path == KernelPath::kGeneric || gpu.kernel_policy == KernelPolicy::kHopper) return path;
  return choose_path_with(gpu, shape, kCap);
}

KernelPath choose_causal_path(Gpu& gpu) {
  PrefillShape shape;
  shape.type = KvType::kBF16;
  shape.q_heads = 8;
  shape.kv_heads = 2;
  shape.head_dim = 128;
  shape.block_bytes = gpu.traits.block_shared_bytes;
  return choose_prefill_path(gpu, shape);
}

}  // namespace tandem::cuda
