// SPDX-License-Identifier: Apache-2.0
//
// The case of the trial: pool, sequences, and the launches of both paths.
#include "cuda/trials/decode_trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/decode.h"
#include "common/error.h"
#include "cuda/trials/kernel_choice.h"

namespace tandem::cuda {

using gpu_kernels::DecodeBucket;
using gpu_kernels::DecodeGroup;
using gpu_kernels::DecodeShape;
using gpu_kernels::KernelPath;
using gpu_kernels::KvPool;
using gpu_kernels::KvType;

namespace {

constexpr int kLongSequences = 5;
constexpr std::array<int, 2> kShortTokens{1, 37};
constexpr int kSequences = kLongSequences + static_cast<int>(kShortTokens.size());
constexpr float kCap = 20.0f;
// Probabilities are sums of two 16-bit values on either path: O is off by 2^-21 of its values (f16,
// 8-bit types) or by 2^-16 (bf16), and q is split without loss (attention/decode.h).
constexpr double kExactBound = 2e-5, kRoundedBound = 6e-5, kLseBound = 1e-5;
constexpr float kQueryUnit = 250.0f;  // q in -4 .. 4, so that some tokens weigh more than others
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
  DecodeCase(Gpu& gpu, const DecodeShape& shape, int rows, float softcap, PlanDecode plan)
      : gpu_(gpu), shape_(shape), rows_(rows), softcap_(softcap), plan_(std::move(plan)) {
    for (const KernelPath path : {KernelPath::kGeneric, KernelPath::kHopper}) {
      shape_.path = path;
      bucket(path) = gpu_kernels::make_decode_bucket(shape_, kSequences, kSequences * rows, rows);
    }
  }

  bool has_hopper() const {
    return gpu_.traits.capability >= 90 && gpu_kernels::code_capability() >= 90 &&
           buckets_[1].num_blocks > 0 && buckets_[1].shape.path == KernelPath::kHopper;
  }
  std::vector<TrialPart> parts() const {
    const double bound = shape_.type == KvType::kBF16 ? kRoundedBound : kExactBound;
    return {{"O", heads() * dim(), bound}, {"LSE", heads(), kLseBound, false}};
  }

  void prepare();

  cudaError_t launch(KernelPath path, float* results, cudaStream_t stream) {
    gpu_kernels::DecodeAttention job;
    job.pool = pool_;
    job.scale = 1.0f / std::sqrt(static_cast<float>(shape_.head_dim));
    job.softcap = softcap_;
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
  std::size_t heads() const {
    return static_cast<std::size_t>(kSequences * rows_ * shape_.q_heads);
  }
  std::size_t dim() const { return static_cast<std::size_t>(shape_.head_dim); }

  template <typename T>
  PoolRange upload(std::span<const T> from) {
    return upload_for_trial(gpu_, std::as_bytes(from));
  }
  std::vector<DecodeGroup> groups();
  void upload_pool(std::mt19937_64& random);

  Gpu& gpu_;
  DecodeShape shape_;
  int rows_;  // of each sequence
  float softcap_;
  PlanDecode plan_;
  std::array<DecodeBucket, 2> buckets_;
  KvPool pool_;
  PoolRange values_, scales_, q_, pages_;
  std::array<PoolRange, 2> plans_, workspaces_;
};

// Lengths as 1 : 2 : 3 : 4 : 5, none of whole stages, and the short ones.
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
    group.row_begin = i * rows_;
    group.num_rows = rows_;
    group.page_begin = page;
    group.attend_begin = i;
    group.num_attend = i < kLongSequences
                           ? i + tokens * (i + 1) / 15 + 7
                           : i + kShortTokens[static_cast<std::size_t>(i - kLongSequences)];
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
  const int least = shape_.type == KvType::kI8 ? -8 : -1;
  for (float& scale : scales) scale = std::ldexp(1.0f, least + static_cast<int>(random() % 3));
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
  for (float& value : q) value = static_cast<float>(random() % 2001) / kQueryUnit - 4.0f;
  q_ = upload<float>(q);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(kSequences * rows_));
  std::iota(rows.begin(), rows.end(), 0);
  for (const KernelPath path : {KernelPath::kGeneric, KernelPath::kHopper}) {
    std::vector<std::byte> plan(bucket(path).plan_bytes);
    TANDEM_CHECK(plan_(bucket(path), batch, rows, plan));
    plans_[index(path)] = upload<std::byte>(plan);
    workspaces_[index(path)] =
        PoolRange(gpu_.device_memory, bucket(path).workspace_bytes, Purpose::kWorkspace);
  }
}

// The most rows of a sequence for each width of items, up to the widest.
std::vector<int> rows_to_try(const DecodeShape& shape) {
  std::vector<int> all;
  int last = 0;
  for (int rows = 1; rows == 1 || (rows - 1) * shape.q_heads < 64 * shape.kv_heads; ++rows) {
    const DecodeBucket bucket = gpu_kernels::make_decode_bucket(shape, 1, rows, rows);
    if (bucket.item_rows == last) continue;
    last = bucket.item_rows;
    all.push_back(rows);
  }
  return all;
}

}  // namespace

PathTrial decode_trial(Gpu& gpu, const DecodeShape& shape, int rows, float softcap,
                       const PlanDecode& plan) {
  const auto one = std::make_shared<DecodeCase>(gpu, shape, rows, softcap, plan);
  PathTrial trial;
  trial.what = "decode attention of " + std::to_string(shape.q_heads) + "/" +
               std::to_string(shape.kv_heads) + " heads of " + std::to_string(shape.head_dim) +
               " in " + name_of(shape.type) +
               (rows > 1 ? ", " + std::to_string(rows) + " rows together" : "") +
               (softcap > 0 ? ", capped" : "");
  trial.has_hopper = one->has_hopper();
  trial.parts = one->parts();
  trial.prepare = [one] { one->prepare(); };
  trial.launch = [one](KernelPath path, float* results, cudaStream_t stream) {
    return one->launch(path, results, stream);
  };
  return trial;
}

KernelPath choose_decode_path(Gpu& gpu, const DecodeShape& shape) {
  if (gpu.kernel_policy == KernelPolicy::kGeneric) return KernelPath::kGeneric;
  const auto wins = [&](int rows, float softcap) {
    return choose_path(gpu, decode_trial(gpu, shape, rows, softcap, gpu_kernels::plan_decode)) ==
           KernelPath::kHopper;
  };
  if (gpu.kernel_policy == KernelPolicy::kHopper) {
    return wins(1, 0) ? KernelPath::kHopper : KernelPath::kGeneric;
  }
  DecodeShape hopper = shape;
  hopper.path = KernelPath::kHopper;
  for (const int rows : rows_to_try(hopper)) {
    if (!wins(rows, 0)) return KernelPath::kGeneric;
  }
  return wins(1, kCap) ? KernelPath::kHopper : KernelPath::kGeneric;
}

}  // namespace tandem::cuda
