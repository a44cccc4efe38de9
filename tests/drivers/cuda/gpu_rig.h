// SPDX-License-Identifier: Apache-2.0
//
// An engine with a GPU (real or interpreted) beside its CPU, over a small random model.
//
// Cases skip with the reason without a GPU, and fail without one under TANDEM_TEST_REQUIRE=cuda.
// TANDEM_TEST_CUDA_KERNELS: the GPU's policy for kernels (registry.h).
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cpu/backend.h"
#include "cuda/backend.h"
#include "engine/engine.h"
#include "host/engine/engine_rig.h"
#include "support/scratch_path.h"

namespace tandem::engine {

enum class Place { kCpu, kCuda, kBoth };

struct Placed {
  const char* name;
  bool compute_on_cuda;
  Place attention;
  int sub_batches = 1;
};

// A rig with a GPU beside its CPU.
class GpuRig {
 public:
  explicit GpuRig(const std::string& path)
      : rig(path),
        device(device::cuda_backend().open(0, options())),
        compute(device->make_compute_unit()) {}

  static device::DeviceOptions options() {
    device::DeviceOptions options;
    if (const char* kernels = std::getenv("TANDEM_TEST_CUDA_KERNELS")) {
      options.values.set("cuda-kernels", kernels);
    }
    return options;
  }

  NamedUnit cuda_unit(std::uint32_t num_pages) {
    device::AttentionUnitOptions options;
    options.geometry = rig.geometry();
    options.max_pages = num_pages;
    return {"cuda:0", device->make_attention_unit(options)};
  }

  std::unique_ptr<Engine> engine(const Placed& placed, Fallbacks fallbacks = {}) {
    std::vector<NamedUnit> units;
    if (placed.attention != Place::kCpu) units.push_back(cuda_unit(32));
    if (placed.attention != Place::kCuda) units.push_back(rig.cpu_unit(32));
    EngineOptions options;
    options.num_sub_batches = placed.sub_batches;
    options.max_step_tokens = 24;
    options.compute_id = placed.compute_on_cuda ? "cuda:0" : "cpu";
    return rig.engine_on(placed.compute_on_cuda ? *compute : rig.compute(), std::move(units),
                         options, std::move(fallbacks));
  }

  EngineRig rig;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<device::ComputeUnit> compute;
};

class CudaEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!device::cuda_backend().enumerate({}).empty()) return;
    std::string why = device::cuda_backend().unavailable_reason();
    if (why.empty()) why = "no GPU here";
    const char* required = std::getenv("TANDEM_TEST_REQUIRE");
    if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
      FAIL() << why;
    }
    GTEST_SKIP() << why;
  }

  std::string random_model(DType dtype) {
    test::RandomLlama shape;
    shape.width = 64;
    shape.q_heads = 4;
    shape.kv_heads = 2;
    shape.head_dim = 16;
    shape.ffn_width = 96;
    test::write_random_llama(file_.path(), shape, dtype, 7);
    return file_.string();
  }
  static std::vector<Request> requests(const EngineRig& rig) {
    std::vector<Request> all;
    for (const std::uint32_t seed : {1u, 2u, 3u}) {
      all.push_back(greedy(rig.prompt(5 + 11 * seed, seed), 6));
    }
    return all;
  }
  static std::vector<std::vector<model::TokenId>> tokens(const std::vector<Answer>& answers) {
    std::vector<std::vector<model::TokenId>> all;
    for (const Answer& answer : answers) all.push_back(answer.tokens);
    return all;
  }

  const test::ScratchPath file_{"model.gguf"};
};

}  // namespace tandem::engine
