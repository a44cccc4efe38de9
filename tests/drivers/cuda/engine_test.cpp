// SPDX-License-Identifier: Apache-2.0
//
// The engine on a GPU against the CPU: the same greedy tokens, for every place of dense layers and
// attention; and a golden model.
#include <nlohmann/json.hpp>

#include "cuda/compute/compute_unit.h"
#include "drivers/cuda/gpu_rig.h"
#include "host/model/shared_models.h"

namespace tandem::engine {
namespace {

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
