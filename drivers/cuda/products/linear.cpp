// SPDX-License-Identifier: Apache-2.0
//
// The layout of forms and results in scratch, and the three kinds of launches.
#include "cuda/products/linear.h"

#include <algorithm>
#include <array>

#include "common/error.h"
#include "gemm/product_targets.h"

namespace tandem::cuda {
namespace {

using gpu_kernels::kMaxTargets;

// What a record of products holds.
struct ProductLaunch {
  Products* products = nullptr;
  ProductRows rows;
  int num_targets = 0;
  Target targets[kMaxTargets];
};

cudaError_t launch_products(const ProductLaunch& job, cudaStream_t stream) {
  job.products->run(job.rows, {job.targets, static_cast<std::size_t>(job.num_targets)}, stream);
  return cudaSuccess;
}

constexpr std::size_t kAlignment = 16;

bool is_aligned(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % kAlignment == 0; }

}  // namespace

struct Linear::Places {
  // Appends room for `bytes`; returns its offset.
  std::size_t add(std::size_t bytes) {
    const std::size_t at = size;
    size += (bytes + 255) / 256 * 256;
    return at;
  }
  std::array<bool, 5> wanted{};  // by RowForm
  bool prepares = false;
  std::size_t f32 = 0, bf16 = 0, f16 = 0, e4m3 = 0, e4m3_scales = 0, q8 = 0, q8_notes = 0;
  std::size_t results = 0;  // of outputs that are not aligned, one after the other
  std::size_t size = 0;

  bool wants(RowForm form) const { return wanted[static_cast<std::size_t>(form)]; }
  static std::size_t result_bytes(const LinearInput& input, const LinearOutput& output) {
    return static_cast<std::size_t>(input.rows * output.weight->out_features()) * sizeof(float) +
           kAlignment;
  }

  Places(const Products& products, const LinearInput& input,
         std::span<const LinearOutput> outputs) {
    for (const LinearOutput& output : outputs) {
      const RowForm form = products.row_form(*output.weight->matrix(), input.rows);
      wanted[static_cast<std::size_t>(form)] = true;
    }
    const auto values = static_cast<std::size_t>(input.rows * input.width);
    const auto rows = static_cast<std::size_t>(input.rows);
    const bool as_it_is = input.function == gpu_kernels::RowFunction::kNone &&
                          input.picks == nullptr && is_aligned(input.x);
    const bool only_f32 = std::ranges::count(wanted, true) == (wants(RowForm::kF32) ? 1 : 0);
    prepares = !as_it_is || !only_f32;
    if (prepares) {
      if (wants(RowForm::kF32)) f32 = add(values * sizeof(float));
      if (wants(RowForm::kBF16)) bf16 = add(values * 2);
      if (wants(RowForm::kF16)) f16 = add(values * 2);
      if (wants(RowForm::kE4M3)) {
        e4m3 = add(values);
        e4m3_scales = add(rows * sizeof(float));
      }
      if (wants(RowForm::kQ8)) {
        q8 = add(values);
        q8_notes = add(values / 32 * sizeof(gpu_kernels::Q8Note));
      }
    }
    results = size;
    for (const LinearOutput& output : outputs) {
      if (!is_aligned(output.out)) add(result_bytes(input, output));
    }
  }
};

Linear::Linear(Gpu& gpu)
    : queue_(gpu.queue),
      workspace_(gpu.device_memory, Products::workspace_bytes(), Purpose::kWorkspace),
      products_(workspace_.data(), gpu.queue.stream().get(), {.e4m3_rows = gpu.e4m3_rows}) {}

std::uint64_t Linear::run(const LinearInput& input, std::span<const LinearOutput> outputs) {
  if (input.rows == 0 || outputs.empty()) return 0;
  const Places places(products_, input, outputs);
  queue_.begin(0, 0, places.size);
  std::byte* scratch = queue_.scratch();
  ProductRows rows;
  rows.rows = input.rows;
  rows.in_features = input.width;
  if (!places.prepares) {
    rows.f32 = input.x;
  } else {
    const auto at = [&](RowForm form, std::size_t offset) {
      return places.wants(form) ? scratch + offset : nullptr;
    };
    rows.f32 = reinterpret_cast<float*>(at(RowForm::kF32, places.f32));
    rows.bf16 = reinterpret_cast<gpu_kernels::BF16*>(at(RowForm::kBF16, places.bf16));
    rows.f16 = reinterpret_cast<gpu_kernels::F16*>(at(RowForm::kF16, places.f16));
    rows.e4m3 = reinterpret_cast<gpu_kernels::E4M3*>(at(RowForm::kE4M3, places.e4m3));
    rows.e4m3_scales = reinterpret_cast<float*>(at(RowForm::kE4M3, places.e4m3_scales));
    rows.q8 = reinterpret_cast<std::int8_t*>(at(RowForm::kQ8, places.q8));
    rows.q8_notes = reinterpret_cast<gpu_kernels::Q8Note*>(at(RowForm::kQ8, places.q8_notes));
    prepare(input, rows);
  }
  multiply(rows, outputs, places);
  move_out(input, outputs, places);
  std::uint64_t bytes = 0;
  for (const LinearOutput& output : outputs) bytes += output.weight->size_bytes();
  return bytes;
}

void Linear::prepare(const LinearInput& input, const ProductRows& rows) {
  auto& job = queue_.add<gpu_kernels::prepare_rows>("preparing rows of a product");
  job.rows = input.rows;
  job.width = static_cast<int>(input.width);
  job.x = input.x;
  job.picks = input.picks;
  job.function = input.function;
  job.weight = input.norm;
  job.epsilon = input.norm_epsilon;
  job.up = input.up;
  job.to.f32 = const_cast<float*>(rows.f32);
  job.to.bf16 = const_cast<gpu_kernels::BF16*>(rows.bf16);
  job.to.f16 = const_cast<gpu_kernels::F16*>(rows.f16);
  job.to.e4m3 = const_cast<gpu_kernels::E4M3*>(rows.e4m3);
  job.to.e4m3_scales = const_cast<float*>(rows.e4m3_scales);
  job.to.q8 = const_cast<std::int8_t*>(rows.q8);
  job.to.q8_notes = const_cast<gpu_kernels::Q8Note*>(rows.q8_notes);
}

void Linear::multiply(const ProductRows& rows, std::span<const LinearOutput> outputs,
                      const Places& places) {
  std::byte* result = queue_.scratch() + places.results;
  for (std::size_t first = 0; first < outputs.size(); first += kMaxTargets) {
    auto& job = queue_.add<launch_products>("multiplying matrices");
    job.products = &products_;
    job.rows = rows;
    const std::size_t last = std::min(outputs.size(), first + kMaxTargets);
    for (std::size_t i = first; i < last; ++i) {
      const LinearOutput& output = outputs[i];
      Target& target = job.targets[job.num_targets++];
      target.weight = output.weight->matrix();
      target.bias = output.bias;
      target.out = output.out;
      target.accumulate = output.accumulate;
      if (is_aligned(output.out)) continue;
      target.out = reinterpret_cast<float*>(result);
      target.accumulate = false;
      result += (Places::result_bytes({.rows = rows.rows}, output) + 255) / 256 * 256;
    }
  }
}

void Linear::move_out(const LinearInput& input, std::span<const LinearOutput> outputs,
                      const Places& places) {
  const std::byte* result = queue_.scratch() + places.results;
  for (const LinearOutput& output : outputs) {
    if (is_aligned(output.out)) continue;
    auto& job = queue_.add<gpu_kernels::prepare_rows>("moving results of a product");
    job.rows = input.rows;
    job.width = static_cast<int>(output.weight->out_features());
    job.x = reinterpret_cast<const float*>(result);
    job.to.f32 = output.out;
    job.to.accumulate = output.accumulate;
    result += (Places::result_bytes(input, output) + 255) / 256 * 256;
  }
}

}  // namespace tandem::cuda
