// SPDX-License-Identifier: Apache-2.0
//
// Decode attention on a GPU against the device's copy bandwidth: KV types, lengths, group sizes,
// several queries, a shared prefix, and the append before.
//
// Some heads of every result are verified first, against loops in double precision over the stored
// values. Bytes are the necessary ones: K, V and scales of every token once, q, O and LSE; a shared
// prefix counts once. ratio: bytes per time, over that of a copy of 1 GiB in the same run. Pools
// exceed the cache, so no launch finds the data of the one before. One JSON line per figure.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>

#include "attention/cascade_plan.h"
#include "attention/decode.h"
#include "attention/merge.h"
#include "device_vector.h"
#include "kv_cache/append.h"
#include "timing.h"

namespace tandem::bench {
namespace {

using namespace tandem::gpu_kernels;

constexpr int kPageTokens = 16;
constexpr int kLaunches = 4;  // per graph

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong result: ") + what);
}

struct Case {
  std::string name;
  KvType type = KvType::kF16;
  int batch = 32, tokens = 4096, shared_tokens = 0;
  int q_heads = 64, kv_heads = 8, head_dim = 128, num_q = 1;
};

// Random stored values of magnitude 2^-3 .. 2, by their bits.
std::vector<unsigned char> random_values(const KvPool& pool, std::mt19937_64& random) {
  std::vector<unsigned char> values(kv_values_bytes(pool));
  std::uint64_t keep = ~0ull, set = 0;
  if (pool.type == KvType::kF16) keep = 0x8fff8fff8fff8fffull, set = 0x3000300030003000ull;
  if (pool.type == KvType::kBF16) keep = 0x81ff81ff81ff81ffull, set = 0x3e003e003e003e00ull;
  if (pool.type == KvType::kE4M3) keep = 0x9f9f9f9f9f9f9f9full, set = 0x2020202020202020ull;
  for (std::size_t at = 0; at + 8 <= values.size(); at += 8) {
    const std::uint64_t word = (random() & keep) | set;
    std::memcpy(values.data() + at, &word, 8);
  }
  return values;
}

float stored_value(KvType type, const unsigned char* values, std::size_t index) {
  if (has_scales(type)) {
    return type == KvType::kE4M3 ? widen(E4M3{values[index]})
                                 : static_cast<float>(static_cast<signed char>(values[index]));
  }
  std::uint16_t bits;
  std::memcpy(&bits, values + 2 * index, 2);
  return type == KvType::kF16 ? widen(F16{bits}) : widen(BF16{bits});
}

struct Batch {
  explicit Batch(const Case& given) : shape(given) {
    std::mt19937_64 random(1);
    const int own_pages = (shape.tokens - shape.shared_tokens) / kPageTokens;
    const int shared_pages = shape.shared_tokens / kPageTokens;
    pool.type = shape.type;
    pool.num_layers = 1;
    pool.kv_heads = shape.kv_heads;
    pool.head_dim = shape.head_dim;
    pool.page_tokens = kPageTokens;
    pool.num_pages = static_cast<unsigned>(shape.batch * own_pages + shared_pages);
    std::vector<std::uint32_t> deck(pool.num_pages);
    std::iota(deck.begin(), deck.end(), 0u);
    std::shuffle(deck.begin(), deck.end(), random);
    for (int sequence = 0; sequence < shape.batch; ++sequence) {
      groups.push_back({static_cast<std::int32_t>(rows.size()), shape.num_q,
                        static_cast<std::int32_t>(pages.size()), 0, shape.tokens});
      for (int i = 0; i < shape.num_q; ++i) rows.push_back(static_cast<int>(rows.size()));
      pages.insert(pages.end(), deck.begin(), deck.begin() + shared_pages);
      const auto own = deck.begin() + shared_pages + sequence * own_pages;
      pages.insert(pages.end(), own, own + own_pages);
    }
    values = random_values(pool, random);
    scales.resize(kv_scales_bytes(pool) / 4);
    for (float& scale : scales) scale = std::ldexp(1.0f, -6 + static_cast<int>(random() % 3));
    q.resize(rows.size() * static_cast<std::size_t>(shape.q_heads * shape.head_dim));
    std::normal_distribution<float> normal;
    for (float& value : q) value = normal(random);
    device_values = std::make_unique<DeviceVector<unsigned char>>(values);
    device_scales = std::make_unique<DeviceVector<float>>(scales);
    device_q = std::make_unique<DeviceVector<float>>(q);
    device_pages = std::make_unique<DeviceVector<std::uint32_t>>(pages);
    pool.values = device_values->data();
    pool.scales = device_scales->data();
  }

  DecodeShape decode_shape(KernelPath path) const {
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, 0));
    return {shape.type,
            shape.q_heads,
            shape.kv_heads,
            shape.head_dim,
            kPageTokens,
            properties.multiProcessorCount,
            static_cast<int>(properties.sharedMemPerMultiprocessor),
            path};
  }

  double kv_bytes(double tokens) const {
    const int row = shape.head_dim * value_bytes_of(shape.type) + (has_scales(shape.type) ? 4 : 0);
    return tokens * 2 * shape.kv_heads * row;
  }
  double row_bytes() const {
    return static_cast<double>(rows.size()) * shape.q_heads * (2 * shape.head_dim + 1) * 4;
  }

  Case shape;
  KvPool pool;
  std::vector<DecodeGroup> groups;
  std::vector<std::int32_t> rows;
  std::vector<std::uint32_t> pages;
  std::vector<unsigned char> values;
  std::vector<float> scales, q;
  std::unique_ptr<DeviceVector<unsigned char>> device_values;
  std::unique_ptr<DeviceVector<float>> device_scales, device_q;
  std::unique_ptr<DeviceVector<std::uint32_t>> device_pages;
};

// One planned launch, with what it needs on the device.
class Attention {
 public:
  Attention(const Batch& batch, std::span<const DecodeGroup> groups,
            std::span<const std::int32_t> rows, int max_group_rows,
            KernelPath path = KernelPath::kGeneric)
      : bucket_(make_decode_bucket(batch.decode_shape(path), static_cast<int>(groups.size()),
                                   static_cast<int>(rows.size()), max_group_rows)),
        workspace_(bucket_.workspace_bytes) {
    std::vector<std::byte> plan(bucket_.plan_bytes);
    expect(plan_decode(bucket_, groups, rows, plan), "plan");
    plan_ = std::make_unique<DeviceVector<std::byte>>(plan);
    job_.pool = batch.pool;
    job_.scale = 1.0f / std::sqrt(static_cast<float>(batch.shape.head_dim));
    job_.q = batch.device_q->data();
    job_.pages = batch.device_pages->data();
    job_.plan = plan_->data();
    job_.workspace = workspace_.data();
  }
  KernelPath path() const { return bucket_.shape.path; }
  void run(float* o, float* lse, cudaStream_t stream) const {
    DecodeAttention job = job_;
    job.o = o;
    job.lse = lse;
    check_cuda(decode_attention(bucket_, job, stream));
  }

 private:
  DecodeBucket bucket_;
  DecodeAttention job_;
  std::unique_ptr<DeviceVector<std::byte>> plan_;
  DeviceVector<std::byte> workspace_;
};

// Every 37th query head.
void check(const Batch& batch, const DeviceVector<float>& device_o,
           const DeviceVector<float>& device_lse) {
  const Case& shape = batch.shape;
  const auto o = device_o.download(), lse = device_lse.download();
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const double scale = 1.0 / std::sqrt(shape.head_dim);
  for (int index = 0; index < static_cast<int>(batch.rows.size()) * shape.q_heads; index += 37) {
    const int row = index / shape.q_heads, head = index % shape.q_heads;
    const DecodeGroup& group = batch.groups[static_cast<std::size_t>(row / shape.num_q)];
    const float* q = batch.q.data() + static_cast<std::size_t>(index) * dim;
    std::vector<double> sums(dim, 0.0);
    double total = 0;
    for (int token = 0; token < shape.tokens; ++token) {
      const std::uint32_t page =
          batch.pages[static_cast<std::size_t>(group.page_begin + token / kPageTokens)];
      const auto row_of = [&](bool is_v) {
        return kv_row(batch.pool, 0, page, is_v, head / (shape.q_heads / shape.kv_heads),
                      token % kPageTokens);
      };
      const auto value = [&](std::size_t at, std::size_t d) {
        const float stored = stored_value(shape.type, batch.values.data(), at * dim + d);
        return static_cast<double>(stored) * (has_scales(shape.type) ? batch.scales[at] : 1.0f);
      };
      const std::size_t k = row_of(false), v = row_of(true);
      double score = 0;
      for (std::size_t d = 0; d < dim; ++d) score += static_cast<double>(q[d]) * value(k, d);
      const double weight = std::exp(score * scale);
      total += weight;
      for (std::size_t d = 0; d < dim; ++d) sums[d] += weight * value(v, d);
    }
    double error = 0, size = 0;
    for (std::size_t d = 0; d < dim; ++d) {
      const double expected = sums[d] / total;
      const double got = o[static_cast<std::size_t>(index) * dim + d];
      error += (got - expected) * (got - expected);
      size += expected * expected;
    }
    expect(std::sqrt(error) <= 1e-3 * std::sqrt(size), "O");
    expect(std::fabs(lse[static_cast<std::size_t>(index)] - std::log(total)) <= 1e-4, "LSE");
  }
}

void measure(const Batch& batch, KernelPath path, double copy) {
  const Case& shape = batch.shape;
  const Attention attention(batch, batch.groups, batch.rows, shape.num_q, path);
  if (attention.path() != path) return;
  const DeviceVector<float> o(batch.q.size()), lse(batch.q.size() / shape.head_dim);
  attention.run(o.data(), lse.data(), nullptr);
  check_cuda(cudaDeviceSynchronize());
  check(batch, o, lse);
  const auto samples = time_launches(
      kLaunches, [&](int, cudaStream_t stream) { attention.run(o.data(), lse.data(), stream); });
  const char* prefix = path == KernelPath::kHopper ? "gpu_decode_hopper/" : "gpu_decode/";
  report(prefix + shape.name, samples,
         batch.kv_bytes(static_cast<double>(shape.batch) * shape.tokens) + batch.row_bytes(), copy);
}

// By each path that the GPU has.
void measure(const Case& shape, double copy) {
  const Batch batch(shape);
  measure(batch, KernelPath::kGeneric, copy);
  if (code_capability() >= 90) measure(batch, KernelPath::kHopper, copy);
}

// The shared prefix by levels, merged.
void measure_cascade(const Case& shape, double copy) {
  const Batch batch(shape);
  const auto num_rows = static_cast<std::int32_t>(batch.rows.size());
  CascadePlan plan;
  plan_cascade({kPageTokens, 512, num_rows}, batch.groups, batch.rows, batch.pages, plan);
  expect(plan.shared.size() == 1, "one shared group");
  const Attention own(batch, plan.own, plan.rows, shape.num_q);
  const Attention shared(batch, plan.shared, plan.rows, num_rows);
  const std::size_t heads = batch.q.size() / static_cast<std::size_t>(shape.head_dim);
  const DeviceVector<float> o(2 * batch.q.size()), lse(2 * heads);
  std::vector<std::byte> coverage(merge_coverage_bytes(num_rows, 2 * batch.rows.size()));
  const MergeCover covers[] = {
      {{o.data(), lse.data()}, plan.level_rows[0]},
      {{o.data() + batch.q.size(), lse.data() + heads}, plan.level_rows[1]}};
  expect(plan_merge(num_rows, covers, coverage), "coverage");
  const DeviceVector<std::byte> device_coverage(coverage);
  const DeviceVector<float> merged(batch.q.size()), merged_lse(heads);
  const auto run = [&](cudaStream_t stream) {
    own.run(o.data(), lse.data(), stream);
    shared.run(o.data(), lse.data(), stream);
    check_cuda(merge_partials({num_rows, shape.q_heads, shape.head_dim, device_coverage.data(),
                               merged.data(), merged_lse.data()},
                              stream));
  };
  run(nullptr);
  check_cuda(cudaDeviceSynchronize());
  check(batch, merged, merged_lse);
  const auto samples = time_launches(kLaunches, [&](int, cudaStream_t stream) { run(stream); });
  const double tokens =
      static_cast<double>(shape.batch) * (shape.tokens - shape.shared_tokens) + shape.shared_tokens;
  report("gpu_decode/" + shape.name, samples, batch.kv_bytes(tokens) + batch.row_bytes(), copy);
}

void measure_append(double copy) {
  Case shape;
  shape.tokens = 1024;
  const Batch batch(shape);
  constexpr int kRows = 4096;
  const auto width = static_cast<std::size_t>(shape.kv_heads * shape.head_dim);
  std::vector<KvPlace> places;
  for (int row = 0; row < kRows; ++row) {
    places.push_back({batch.pages[static_cast<std::size_t>(row / 4)], row % 4 * 3, row});
  }
  const DeviceVector<KvPlace> device_places(places);
  std::vector<float> rows(kRows * width);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 1000) / 512;
  const DeviceVector<float> k(rows), v(rows);
  const AppendKv job{batch.pool, 0, kRows, device_places.data(), k.data(), v.data()};
  check_cuda(append_kv(job, nullptr));
  const auto stored = batch.device_values->download();
  const std::size_t at = kv_row(batch.pool, 0, places[7].page, true, 3, places[7].token);
  expect(stored_value(shape.type, stored.data(), at * 128 + 5) == widen([&] {
           F16 half;
           narrow(rows[7 * width + 3 * 128 + 5], half);
           return half;
         }()),
         "append");
  const auto samples = time_launches(
      kLaunches, [&](int, cudaStream_t stream) { check_cuda(append_kv(job, stream)); });
  report("gpu_kv_cache/append_4096_rows_f16", samples,
         static_cast<double>(kRows) * static_cast<double>(width) * 2 * (4 + 2), copy);
}

void run() {
  const double copy = report_copy("gpu_decode/copy_1GiB");
  const Case usual{"f16_batch32_4k_gqa8"};
  const auto with = [&](const char* name, const std::function<void(Case&)>& change) {
    Case changed = usual;
    changed.name = name;
    change(changed);
    return changed;
  };
  const Case cases[] = {
      usual,
      with("bf16_batch32_4k_gqa8", [](Case& c) { c.type = KvType::kBF16; }),
      with("f8_batch32_4k_gqa8", [](Case& c) { c.type = KvType::kE4M3; }),
      with("i8_batch32_4k_gqa8", [](Case& c) { c.type = KvType::kI8; }),
      with("f16_batch33_4k_gqa8", [](Case& c) { c.batch = 33; }),
      with("f16_batch32_4k_gqa4", [](Case& c) { c.q_heads = 32; }),
      with("f16_batch32_4k_mha", [](Case& c) { c.q_heads = 8; }),
      with("f16_batch32_4k_gqa8_4_queries", [](Case& c) { c.num_q = 4; }),
      with("f16_batch1_64k_gqa8", [](Case& c) { c.batch = 1, c.tokens = 65536; }),
      with("f16_batch128_1k_gqa8", [](Case& c) { c.batch = 128, c.tokens = 1024; }),
      with("f16_batch32_4k_gqa8_dim64", [](Case& c) { c.head_dim = 64; }),
      with("f16_batch16_4k_gqa8_dim256", [](Case& c) { c.head_dim = 256, c.batch = 16; })};
  for (const Case& shape : cases) measure(shape, copy);
  measure_cascade(
      with("f16_batch32_4k_of_which_3k_shared", [](Case& c) { c.shared_tokens = 3072; }), copy);
  measure_append(copy);
}

}  // namespace
}  // namespace tandem::bench

int main() { return tandem::bench::run_on_gpu("bench_gpu_attention", tandem::bench::run); }
