// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on a GPU, in the shapes of a Llama 3 8B layer.
//
// Few rows: bytes of weights per time, against a device copy in the same run. Many rows: operations
// per time, against cuBLASLt's bf16 product of 8192 x 8192 x 8192. Weights rotate through sets
// larger than the cache. 64 outputs are verified first, against double-precision loops (relative
// norm of the difference below 2 %: rows are rounded to 8 bits, and weights to bf16 for many rows).
// One JSON line per figure; exit code 77 without a GPU.
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>

#include "cuda/products/lt_matmul.h"
#include "cuda/products/products.h"
#include "norm/row_preparation.h"
#include "tensor/quantize.h"
#include "timing.h"

namespace tandem::bench {
namespace {

using namespace tandem::cuda;
using gpu_kernels::StoredType;

constexpr std::int64_t kUniqueRows = 64;  // the others repeat them
constexpr std::size_t kRotatedBytes = std::size_t{400} << 20;

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value;
  std::vector<float> values(count);
  for (float& x : values) x = value(random);
  return values;
}

// The rows that weights of one type and width repeat.
struct UniqueRows {
  UniqueRows(DType type, std::int64_t columns)
      : dtype(type), width(columns), values(static_cast<std::size_t>(kUniqueRows * columns)) {
    const auto row_values = static_cast<std::size_t>(width);
    const std::size_t row_bytes = dtype_row_bytes(dtype, row_values);
    const std::vector<float> wanted = random_floats(values.size(), 1);
    stored.resize(kUniqueRows * row_bytes);
    for (std::size_t row = 0; row < kUniqueRows; ++row) {
      quantize_row(dtype, wanted.data() + row * row_values, stored.data() + row * row_bytes,
                   row_values);
      dequantize_row(dtype, stored.data() + row * row_bytes, values.data() + row * row_values,
                     row_values);
    }
  }

  DType dtype;
  std::int64_t width;
  std::vector<float> values;  // [kUniqueRows, width]
  std::vector<std::byte> stored;
};

struct Weight {
  Weight(const UniqueRows& rows, std::int64_t outputs)
      : data(stored_bytes(stored_type(rows.dtype), outputs, rows.width)),
        matrix{stored_type(rows.dtype), outputs, rows.width, data.data(), nullptr} {
    const DeviceVector<std::byte> file(rows.stored);
    for (std::int64_t first = 0; first < outputs; first += kUniqueRows) {
      store_rows(matrix, first, std::min(kUniqueRows, outputs - first), file.data(), data.data(),
                 nullptr);
    }
    check_cuda(cudaDeviceSynchronize());
  }

  DeviceVector<std::byte> data;
  Matrix matrix;
};

// Random rows in every form that products read, but e4m3.
struct Rows {
  Rows(std::int64_t rows, std::int64_t width)
      : values(random_floats(static_cast<std::size_t>(rows * width), 2)),
        f32(values),
        bf16(values.size()),
        f16(values.size()),
        q8(values.size()),
        notes(values.size() / 32) {
    gpu_kernels::RowPreparation job;
    job.rows = rows;
    job.width = static_cast<int>(width);
    job.x = f32.data();
    job.to.bf16 = bf16.data();
    job.to.f16 = f16.data();
    job.to.q8 = q8.data();
    job.to.q8_notes = notes.data();
    check_cuda(gpu_kernels::prepare_rows(job, nullptr));
    check_cuda(cudaDeviceSynchronize());
    all = {rows,    width,   f32.data(), bf16.data(), f16.data(),
           nullptr, nullptr, q8.data(),  notes.data()};
  }

  std::vector<float> values;
  DeviceVector<float> f32;
  DeviceVector<gpu_kernels::BF16> bf16;
  DeviceVector<gpu_kernels::F16> f16;
  DeviceVector<std::int8_t> q8;
  DeviceVector<gpu_kernels::Q8Note> notes;
  ProductRows all;
};

void expect_right(const UniqueRows& weight, std::int64_t num_outputs, const Rows& rows,
                  const DeviceVector<float>& out) {
  const std::vector<float> got = out.download();
  const auto outputs = static_cast<std::size_t>(num_outputs);
  const auto width = static_cast<std::size_t>(weight.width);
  const std::size_t step = static_cast<std::size_t>(rows.all.rows + 15) / 16;
  double difference = 0, norm = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows.all.rows); row += step) {
    for (std::size_t output = 0; output < kUniqueRows; ++output) {
      double sum = 0;
      for (std::size_t i = 0; i < width; ++i) {
        sum += static_cast<double>(rows.values[row * width + i]) *
               static_cast<double>(weight.values[output * width + i]);
      }
      for (std::size_t at = output; at < outputs; at += kUniqueRows) {
        const double error = static_cast<double>(got[row * outputs + at]) - sum;
        difference += error * error;
        norm += sum * sum;
      }
    }
  }
  if (!(std::sqrt(difference / norm) < 0.02)) throw std::runtime_error("a product is wrong");
}

struct Shape {
  const char* name;
  std::vector<std::int64_t> outputs;  // of the targets of one call
  std::int64_t width;
};
const Shape kShapes[] = {{"qkv_6144x4096", {4096, 1024, 1024}, 4096},
                         {"o_4096x4096", {4096}, 4096},
                         {"gate_up_28672x4096", {14336, 14336}, 4096},
                         {"down_4096x14336", {4096}, 14336}};

// Weights of one shape and type, as many sets as the cache cannot hold.
struct Layers {
  Layers(DType dtype, const Shape& of) : shape(of), rows(dtype, of.width) {
    for (const std::int64_t outputs : shape.outputs) {
      bytes += stored_bytes(stored_type(dtype), outputs, shape.width);
    }
    const std::size_t count = std::max<std::size_t>(2, kRotatedBytes / bytes + 1);
    for (std::size_t set = 0; set < count; ++set) {
      auto& weights = sets.emplace_back();
      for (const std::int64_t outputs : shape.outputs) {
        weights.push_back(std::make_unique<Weight>(rows, outputs));
      }
    }
  }

  const Shape& shape;
  UniqueRows rows;
  std::vector<std::vector<std::unique_ptr<Weight>>> sets;
  std::size_t bytes = 0;  // of a set
};

std::vector<double> time_calls(Products& products, const Layers& layers, const Rows& x) {
  std::vector<std::unique_ptr<DeviceVector<float>>> outs;
  for (const std::int64_t outputs : layers.shape.outputs) {
    outs.push_back(
        std::make_unique<DeviceVector<float>>(static_cast<std::size_t>(x.all.rows * outputs)));
  }
  const auto call = [&](std::size_t set, cudaStream_t stream) {
    std::vector<Target> targets;
    for (std::size_t t = 0; t < outs.size(); ++t) {
      targets.push_back({&layers.sets[set][t]->matrix, nullptr, outs[t]->data(), false});
    }
    products.run(x.all, targets, stream);
  };
  call(0, nullptr);
  check_cuda(cudaDeviceSynchronize());
  for (std::size_t t = 0; t < outs.size(); ++t) {
    expect_right(layers.rows, layers.shape.outputs[t], x, *outs[t]);
  }
  return time_launches(static_cast<int>(layers.sets.size()), [&](int i, cudaStream_t stream) {
    call(static_cast<std::size_t>(i), stream);
  });
}

std::string name_of(DType dtype, const Shape& shape, std::int64_t rows) {
  return std::string(dtype_name(dtype)) + "/" + shape.name + "/rows_" + std::to_string(rows);
}

void bench_few_rows(Products& products, double copy_bandwidth) {
  for (const DType dtype : {DType::kBF16, DType::kQ8_0, DType::kQ6_K, DType::kQ4_K, DType::kQ4_0}) {
    for (const Shape& shape : kShapes) {
      const Layers layers(dtype, shape);
      for (const std::int64_t rows : {1, 4, 8, 16}) {
        if (dtype == DType::kBF16 && rows > 8) continue;
        const Rows x(rows, shape.width);
        // weights once; rows come from the cache except the first time
        report("gpu_products/" + name_of(dtype, shape, rows), time_calls(products, layers, x),
               static_cast<double>(layers.bytes), copy_bandwidth);
      }
    }
  }
}

// Operations per millisecond; ratio to `best`.
double report_operations(const std::string& name, const std::vector<double>& samples,
                         double operations, double best) {
  const double median = samples[samples.size() / 2], rate = operations / median;
  std::printf(
      "{\"name\": \"gpu_products/%s\", \"median\": %.5f, \"p10\": %.5f, \"p90\": %.5f, "
      "\"unit\": \"ms\", \"samples\": %zu, \"TFLOP_per_s\": %.1f, \"ratio\": %.3f, "
      "\"device\": \"%s\"}\n",
      name.c_str(), median, samples[samples.size() / 10], samples[samples.size() * 9 / 10],
      samples.size(), rate / 1e9, best > 0 ? rate / best : 1.0, device_name().c_str());
  std::fflush(stdout);
  return rate;
}

double bench_library(std::int64_t size) {
  const auto count = static_cast<std::size_t>(size * size);
  const Rows x(size, size);
  const DeviceVector<float> out(count);
  const DeviceVector<std::byte> workspace(LtMatmul::kWorkspaceBytes);
  LtMatmul matmul(workspace.data());
  const MatmulShape shape{StoredType::kBF16, size, size, size, size, false, false};
  const MatmulOperands operands{x.bf16.data(), x.bf16.data(), nullptr,
                                nullptr,       nullptr,       out.data()};
  matmul.run(shape, operands, nullptr);
  check_cuda(cudaDeviceSynchronize());
  const auto samples =
      time_launches(4, [&](int, cudaStream_t stream) { matmul.run(shape, operands, stream); });
  return report_operations("cublas_lt_bf16_8192", samples,
                           2.0 * static_cast<double>(count) * static_cast<double>(size), 0);
}

void bench_many_rows(Products& products) {
  const double best = bench_library(8192);
  for (const DType dtype : {DType::kBF16, DType::kQ4_K, DType::kQ8_0}) {
    for (const Shape& shape : kShapes) {
      const Layers layers(dtype, shape);
      for (const std::int64_t rows : {64, 512, 4096}) {
        const Rows x(rows, shape.width);
        double operations = 0;
        for (const std::int64_t outputs : shape.outputs) {
          operations += 2.0 * static_cast<double>(rows * outputs * shape.width);
        }
        report_operations(name_of(dtype, shape, rows), time_calls(products, layers, x), operations,
                          best);
      }
    }
  }
}

void run() {
  const DeviceVector<std::byte> workspace(Products::workspace_bytes());
  Products products(workspace.data(), nullptr);
  check_cuda(cudaDeviceSynchronize());
  bench_few_rows(products, report_copy("gpu_products/copy_1GiB"));
  bench_many_rows(products);
}

}  // namespace
}  // namespace tandem::bench

int main() { return tandem::bench::run_on_gpu("bench_gpu_products", tandem::bench::run); }
