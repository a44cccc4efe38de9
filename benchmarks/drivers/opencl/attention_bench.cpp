// SPDX-License-Identifier: Apache-2.0
//
// Decode attention on an OpenCL device: KV bytes read per second, as a fraction of the device's
// read bandwidth measured in the same run (attention_run.h).
//
// One batch of 8 sequences with 4096 tokens each, 32 query and 8 KV heads of 128, F16 and I8, and
// one long sequence. Exit code 1 where a result is wrong.
#include "drivers/attention_run.h"
#include "opencl/backend.h"

int main(int argc, char** argv) {
  using tandem::DType;
  const tandem::device::Backend& backend = tandem::device::opencl_backend();
  if (backend.enumerate({}).empty()) {
    std::cerr << "no OpenCL device here\n";
    return 1;
  }
  const auto device = backend.open(0, {});
  const tandem::bench::AttentionShape shapes[] = {
      {"gqa32_8_d128_ctx4096_batch8_f16", 32, 8, 128, 4096, 8, DType::kF16},
      {"gqa32_8_d128_ctx4096_batch8_i8", 32, 8, 128, 4096, 8, DType::kI8},
      {"gqa32_8_d128_ctx32768_batch1_f16", 32, 8, 128, 32768, 1, DType::kF16},
      {"mha32_d128_ctx1024_batch8_f16", 32, 32, 128, 1024, 8, DType::kF16},
  };
  const auto measure = [&](const tandem::bench::AttentionShape& shape) {
    return tandem::bench::measure_attention(*device, shape, 1e-6, "opencl_attention/", argv[0]);
  };
  return tandem::bench::measure_shapes(shapes, argc, argv, measure) ? 0 : 1;
}
