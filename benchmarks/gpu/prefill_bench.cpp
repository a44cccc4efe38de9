// SPDX-License-Identifier: Apache-2.0
//
// Attention of many query rows on a GPU (32 query heads over 8 of 128 values): causal chunks and
// rows over pages, against the rate of cuBLASLt's bf16 product in the same run.
//
// Some rows of every case are verified first, against loops in double precision. FLOPs count each
// visible (row, key) pair once, also if operands are split; a causal figure includes the rounding
// of k and v into the workspace. ratio: of the matrix rate. Names ending in _hopper are of the
// Hopper path, on GPUs that have it. benchmarks/gpu/torch_peer.py times PyTorch's attention on the
// same shapes. One JSON line per figure.
#include <cublasLt.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "attention/prefill.h"
#include "device_vector.h"
#include "timing.h"

namespace tandem::bench {
namespace {

using namespace tandem::gpu_kernels;

constexpr int kQHeads = 32, kKvHeads = 8, kHeadDim = 128, kPageTokens = 64;
constexpr float kScale = 0.08838835f;
constexpr int kLaunches = 3;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong result: ") + what);
}

void check_blas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasLtGetStatusString(status));
}

std::vector<float> random_values(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

void report_rate(const std::string& name, const std::vector<double>& samples, double flops,
                 double peak) {
  const double median = samples[samples.size() / 2], rate = flops / median;  // per millisecond
  std::printf(
      "{\"name\": \"gpu_prefill/%s\", \"median\": %.5f, \"p10\": %.5f, \"p90\": %.5f, "
      "\"unit\": \"ms\", \"samples\": %zu, \"flops\": %.0f, \"TFLOP_per_s\": %.1f, "
      "\"ratio\": %.3f, \"device\": \"%s\"}\n",
      name.c_str(), median, samples[samples.size() / 10], samples[samples.size() * 9 / 10],
      samples.size(), flops, rate / 1e9, peak > 0 ? rate / peak : 1.0, device_name().c_str());
  std::fflush(stdout);
}

// c = a^T b of square bf16 matrices.
class MatrixProduct {
 public:
  static constexpr std::uint64_t kSize = 8192;

  MatrixProduct()
      : a_(random_matrix()), b_(random_matrix()), c_(kSize * kSize), workspace_(kBytes) {
    const cublasOperation_t transpose = CUBLAS_OP_T;
    int found = 0;
    check_blas(cublasLtCreate(&handle_));
    check_blas(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    check_blas(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                              sizeof(transpose)));
    check_blas(cublasLtMatrixLayoutCreate(&layout_, CUDA_R_16BF, kSize, kSize, kSize));
    check_blas(cublasLtMatmulPreferenceCreate(&preference_));
    check_blas(cublasLtMatmulPreferenceSetAttribute(
        preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kBytes, sizeof(kBytes)));
    check_blas(cublasLtMatmulAlgoGetHeuristic(handle_, product_, layout_, layout_, layout_, layout_,
                                              preference_, 1, &choice_, &found));
    expect(found == 1, "no algorithm for the matrix product");
  }
  ~MatrixProduct() {
    cublasLtMatmulPreferenceDestroy(preference_);
    cublasLtMatrixLayoutDestroy(layout_);
    cublasLtMatmulDescDestroy(product_);
    cublasLtDestroy(handle_);
  }
  MatrixProduct(const MatrixProduct&) = delete;
  MatrixProduct& operator=(const MatrixProduct&) = delete;

  void enqueue(cudaStream_t stream) const {
    const float one = 1.0f, zero = 0.0f;
    check_blas(cublasLtMatmul(handle_, product_, &one, a_.data(), layout_, b_.data(), layout_,
                              &zero, c_.data(), layout_, c_.data(), layout_, &choice_.algo,
                              workspace_.data(), kBytes, stream));
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{32} << 20;  // of the workspace

  static std::vector<std::uint16_t> random_matrix() {
    const std::vector<float> values = random_values(std::size_t{1} << 20, 9);
    std::vector<std::uint16_t> matrix(kSize * kSize);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      matrix[i] = static_cast<std::uint16_t>(bits_of(values[i % values.size()]) >> 16);
    }
    return matrix;
  }

  DeviceVector<std::uint16_t> a_, b_, c_;
  DeviceVector<unsigned char> workspace_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t layout_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatmulHeuristicResult_t choice_{};
};

// FLOPs per millisecond.
double measure_matrix_rate() {
  const MatrixProduct product;
  product.enqueue(nullptr);
  check_cuda(cudaDeviceSynchronize());
  const std::vector<double> samples =
      time_launches(kLaunches, [&](int, cudaStream_t stream) { product.enqueue(stream); });
  const double flops = 2.0 * std::pow(static_cast<double>(MatrixProduct::kSize), 3.0);
  report_rate("matrix_product_bf16", samples, flops, 0.0);
  return flops / samples[samples.size() / 2];
}

const char* name_of(KvType type) {
  switch (type) {
    case KvType::kF16:
      return "f16";
    case KvType::kBF16:
      return "bf16";
    case KvType::kI8:
      return "i8";
    case KvType::kE4M3:
      return "f8_e4m3";
  }
  return "";
}

float rounded(KvType type, float value) {
  if (type == KvType::kF16) {
    F16 narrowed;
    narrow(value, narrowed);
    return widen(narrowed);
  }
  if (type != KvType::kBF16) return value;
  BF16 narrowed;
  narrow(value, narrowed);
  return widen(narrowed);
}

// Rows of q [first, first + num) see all of `num_tokens` tokens from `token_begin` on, or when that
// is 0 those up to their own.
struct Checked {
  std::int64_t first = 0, num = 0, token_begin = 0, num_tokens = 0;
};

// q of all rows; k and v of `tokens` rows.
struct Rows {
  Rows(std::int64_t rows, std::int64_t tokens)
      : host_q(random_values(static_cast<std::size_t>(rows) * kQHeads * kHeadDim, 1)),
        host_k(random_values(static_cast<std::size_t>(tokens) * kKvHeads * kHeadDim, 2)),
        host_v(random_values(host_k.size(), 3)),
        q(host_q),
        k(host_k),
        v(host_v),
        o(host_q.size()),
        lse(host_q.size() / kHeadDim) {}

  PrefillAttention attention(const void* plan) const {
    return {plan, kScale, 0.0f, q.data(), o.data(), lse.data()};
  }

  // Some of the rows.
  void check(KvType type, bool exact, const Checked& of) const {
    const std::vector<float> got = o.download();
    const double bound = has_scales(type) ? 1e-2 : exact ? 1e-8 : 1e-4;
    std::mt19937 random(4);
    for (int sample = 0; sample < 12; ++sample) {
      const std::int64_t row =
          sample == 0 ? of.num - 1 : static_cast<std::int64_t>(random()) % of.num;
      const int head = static_cast<int>(random() % kQHeads);
      const std::size_t at = (static_cast<std::size_t>(of.first + row) * kQHeads + head) * kHeadDim;
      const std::int64_t seen = of.num_tokens == 0 ? row + 1 : of.num_tokens;
      std::vector<double> want(kHeadDim, 0.0);
      double sum = 0.0, error = 0.0, size = 0.0;
      for (std::int64_t token = of.token_begin; token < of.token_begin + seen; ++token) {
        const std::size_t kv =
            (static_cast<std::size_t>(token) * kKvHeads + head / (kQHeads / kKvHeads)) * kHeadDim;
        double score = 0.0;
        for (int d = 0; d < kHeadDim; ++d) {
          score += static_cast<double>(host_q[at + d]) * rounded(type, host_k[kv + d]);
        }
        const double weight = std::exp(score * kScale);
        sum += weight;
        for (int d = 0; d < kHeadDim; ++d) want[d] += weight * rounded(type, host_v[kv + d]);
      }
      for (int d = 0; d < kHeadDim; ++d) {
        error += std::pow(want[d] / sum - got[at + d], 2.0);
        size += std::pow(want[d] / sum, 2.0);
      }
      expect(error <= bound * size, "attention of a row");
    }
  }

  std::vector<float> host_q, host_k, host_v;
  DeviceVector<float> q, k, v, o, lse;
};

DeviceVector<std::byte> make_plan(const PrefillBucket& bucket,
                                  const std::vector<PrefillSequence>& sequences) {
  std::vector<std::byte> plan(bucket.plan_bytes);
  expect(plan_prefill(bucket, sequences, plan), "no plan");
  return DeviceVector<std::byte>(plan);
}

// What of a shape is measured.
struct Kernel {
  KvType type = KvType::kBF16;
  bool exact = true;
  KernelPath path = KernelPath::kGeneric;

  PrefillShape shape() const {
    return {.type = type,
            .q_heads = kQHeads,
            .kv_heads = kKvHeads,
            .head_dim = kHeadDim,
            .exact = exact,
            .path = path};
  }
  std::string name() const {
    return std::string(name_of(type)) + (exact ? "" : "_rounded") +
           (path == KernelPath::kHopper ? "_hopper" : "");
  }
};

// `num_chunks` chunks of `length` rows.
void bench_causal(const Kernel& kernel, int num_chunks, int length, double peak) {
  const PrefillShape shape = kernel.shape();
  const int num_rows = num_chunks * length;
  const PrefillBucket bucket = make_prefill_bucket(shape, num_chunks, num_rows);
  expect(bucket.shape.path == kernel.path, "the path has no such kernel");
  std::vector<PrefillSequence> chunks;
  for (int i = 0; i < num_chunks; ++i) chunks.push_back({.q_begin = i * length, .num_q = length});
  const DeviceVector<std::byte> plan = make_plan(bucket, chunks);
  const DeviceVector<unsigned char> workspace(bucket.workspace_bytes);
  const Rows rows(num_rows, num_rows);
  const CausalAttention job{rows.attention(plan.data()), rows.k.data(), rows.v.data(),
                            workspace.data()};
  check_cuda(causal_attention(bucket, job, nullptr));
  const std::int64_t last = num_rows - length;
  rows.check(kernel.type, kernel.exact, {last, length, last, 0});
  const std::vector<double> samples = time_launches(
      kLaunches, [&](int, cudaStream_t s) { check_cuda(causal_attention(bucket, job, s)); });
  const double pairs = num_chunks * (length * (length + 1.0) / 2.0);
  report_rate(
      "causal_" + std::to_string(num_chunks) + "x" + std::to_string(length) + "_" + kernel.name(),
      samples, 4.0 * kHeadDim * kQHeads * pairs, peak);
}

// A pool whose pages hold all tokens in order.
struct FilledPool {
  FilledPool(KvType type, const Rows& rows, int num_tokens)
      : pool{.type = type,
             .num_layers = 1,
             .kv_heads = kKvHeads,
             .head_dim = kHeadDim,
             .page_tokens = kPageTokens,
             .num_pages = static_cast<std::uint32_t>(num_tokens / kPageTokens)},
        values(kv_values_bytes(pool)),
        scales(kv_scales_bytes(pool) / sizeof(float) + 1) {
    pool.values = values.data();
    pool.scales = scales.data();
    std::vector<KvPlace> places;
    for (int i = 0; i < num_tokens; ++i) {
      places.push_back({static_cast<std::uint32_t>(i / kPageTokens), i % kPageTokens, i});
    }
    const DeviceVector<KvPlace> device_places(places);
    AppendKv append{.pool = pool, .num_places = num_tokens, .places = device_places.data()};
    append.k = rows.k.data();
    append.v = rows.v.data();
    check_cuda(append_kv(append, nullptr));
    check_cuda(cudaDeviceSynchronize());
  }

  KvPool pool;
  DeviceVector<unsigned char> values;
  DeviceVector<float> scales;
};

// 16 sequences of 256 rows, each over its own 4,096 tokens.
void bench_paged(const Kernel& kernel, double peak) {
  constexpr int kSequences = 16, kRows = 256, kTokens = 4096, kPages = kTokens / kPageTokens;
  PrefillShape shape = kernel.shape();
  shape.page_tokens = kPageTokens;
  const PrefillBucket bucket = make_prefill_bucket(shape, kSequences, kSequences * kRows);
  expect(bucket.shape.path == kernel.path, "the path has no such kernel");
  std::vector<PrefillSequence> sequences;
  std::vector<std::uint32_t> pages;
  for (int i = 0; i < kSequences; ++i) {
    sequences.push_back({i * kRows, kRows, i * kPages, 0, kTokens});
    for (int page = 0; page < kPages; ++page) {
      pages.push_back(static_cast<std::uint32_t>(i * kPages + page));
    }
  }
  const DeviceVector<std::byte> plan = make_plan(bucket, sequences);
  const DeviceVector<std::uint32_t> device_pages(pages);
  const Rows rows(kSequences * kRows, kSequences * kTokens);
  const FilledPool filled(kernel.type, rows, kSequences * kTokens);
  const PagedAttention job{rows.attention(plan.data()), filled.pool, 0, device_pages.data()};
  check_cuda(paged_attention(bucket, job, nullptr));
  rows.check(kernel.type, kernel.exact,
             {(kSequences - 1) * kRows, kRows, (kSequences - 1) * kTokens, kTokens});
  const std::vector<double> samples = time_launches(
      kLaunches, [&](int, cudaStream_t s) { check_cuda(paged_attention(bucket, job, s)); });
  report_rate("paged_16x256_over_4096_" + kernel.name(), samples,
              4.0 * kHeadDim * kQHeads * kSequences * kRows * kTokens, peak);
}

void run() {
  const double peak = measure_matrix_rate();
  std::vector<KernelPath> paths{KernelPath::kGeneric};
  if (has_hopper_prefill()) paths.push_back(KernelPath::kHopper);
  for (const KvType type : {KvType::kBF16, KvType::kF16}) {
    for (const bool exact : {true, false}) {
      for (const KernelPath path : paths) {
        const Kernel kernel{type, exact, path};
        bench_causal(kernel, 1, 8192, peak);
        bench_causal(kernel, 4, 2048, peak);
        bench_causal(kernel, 32, 512, peak);
        bench_paged(kernel, peak);
      }
    }
  }
  for (const KvType type : {KvType::kI8, KvType::kE4M3}) bench_paged({.type = type}, peak);
}

}  // namespace
}  // namespace tandem::bench

int main() { return tandem::bench::run_on_gpu("bench_gpu_prefill", tandem::bench::run); }
