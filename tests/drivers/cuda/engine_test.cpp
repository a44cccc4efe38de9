// SPDX-License-Identifier: Apache-2.0
//
// The engine on the interpreted GPU against the CPU: the same greedy tokens, wherever the dense
// layers and attention are, also after the GPU is lost; and a golden model's.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cpu/backend.h"
#include "cuda/backend.h"
#include "cuda/compute_unit.h"
#include "gpu_kernels/simt/faults.h"
#include "host/engine/engine_rig.h"
#include "host/model/shared_models.h"

namespace tandem::engine {
namespace {

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
        device(device::cuda_backend().open(0, {})),
        compute(device->make_compute_unit()) {}

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
  void TearDown() override {
    simt::clear_faults();
    std::filesystem::remove(path_);
  }

  std::string random_model(DType dtype) {
    test::RandomLlama shape;
    shape.width = 64;
    shape.q_heads = 4;
    shape.kv_heads = 2;
    shape.head_dim = 16;
    shape.ffn_width = 96;
    test::write_random_llama(path_, shape, dtype, 7);
    return path_.string();
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

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() /
      ("tandem_cuda_engine_test_" + std::to_string(getpid()) + ".gguf");
};

constexpr Placed kPlaces[] = {{"all on cuda", true, Place::kCuda},
                              {"attention on the cpu", true, Place::kCpu},
                              {"attention on both", true, Place::kBoth},
                              {"both, two sub-batches", true, Place::kBoth, 2},
                              {"dense layers on the cpu", false, Place::kCuda}};

TEST_F(CudaEngineTest, GreedyTokensAreTheSameWhereverTheWorkIs) {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    GpuRig gpu(random_model(dtype));
    const auto engine = gpu.engine({"cpu", false, Place::kCpu});
    const auto expected = tokens(run_all(*engine, requests(gpu.rig)));
    for (const Placed& placed : kPlaces) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + ", " + placed.name);
      const auto on_gpu = gpu.engine(placed);
      EXPECT_EQ(tokens(run_all(*on_gpu, requests(gpu.rig))), expected);
    }
    const auto& stats = static_cast<cuda::CudaComputeUnit&>(*gpu.compute).gpu().queue.stats();
    EXPECT_GT(stats.graph_launches, 0u) << "decode steps of all on cuda repeat";
  }
}

TEST_F(CudaEngineTest, ALostGpuCostsNoToken) {
  GpuRig gpu(random_model(DType::kF32));
  const auto expected =
      tokens(run_all(*gpu.engine({"cpu", false, Place::kCpu}), requests(gpu.rig)));
  for (const Place attention : {Place::kCuda, Place::kBoth}) {
    GpuRig lost(path_.string());
    Fallbacks fallbacks;
    fallbacks.attention = [&] { return lost.rig.cpu_unit(64); };
    const auto cpu = device::cpu_backend().open(0, {.num_threads = 1});
    fallbacks.compute = [&] { return NamedCompute{"cpu", cpu->make_compute_unit(), 0}; };
    const auto engine = lost.engine({"lost", true, attention}, std::move(fallbacks));
    simt::set_faults({.lose_at_work = 60});
    EXPECT_EQ(tokens(run_all(*engine, requests(lost.rig))), expected);
    EXPECT_GE(simt::pieces_of_work(), 60) << "it was not lost";
    simt::clear_faults();
  }
}

TEST_F(CudaEngineTest, AGoldenModelSaysWhatTheReferenceDoes) {
  for (const char* name : {"stories260K-f32", "stories260K-f16"}) {
    const auto path = test::shared_models() / (std::string(name) + ".gguf");
    TANDEM_REQUIRE_FILE(path);
    const auto golden = nlohmann::json::parse(
        test::read_text(test::shared_models() / "golden.json"))["models"][name];
    GpuRig gpu(path.string());
    const auto engine = gpu.engine({"all on cuda", true, Place::kCuda});
    const auto& prompt = golden["prompts"][0];
    auto expected = prompt["out_ids"].get<std::vector<model::TokenId>>();
    expected.resize(8);
    const auto ids = prompt["prompt_ids"].get<std::vector<model::TokenId>>();
    EXPECT_EQ(tokens(run_all(*engine, {greedy(ids, 8)})).front(), expected) << name;
  }
}

}  // namespace
}  // namespace tandem::engine
