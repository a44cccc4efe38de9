// SPDX-License-Identifier: Apache-2.0
//
// Models with experts on a GPU against the CPU: the same greedy tokens.
#include <cstring>
#include <random>

#include "drivers/cuda/gpu_rig.h"
#include "support/family_files.h"

namespace tandem::engine {
namespace {

// The family's shapes in f32, whose products are exact to rounding on both.
std::string saved_in_f32(const test::ScratchPath& path, const std::string& family) {
  test::FamilyFile file = test::family_file(family);
  file.numbers["context_length"] = 512;
  test::GgufWriter writer;
  writer.set_string("general.architecture", file.architecture);
  for (const auto& [key, value] : file.numbers) {
    writer.set_u32(file.architecture + "." + key, value);
  }
  test::set_test_vocabulary(writer, 320);
  std::uint32_t seed = 0;
  for (const auto& [name, dims] : file.tensors) {
    writer.add_tensor(
        name, dims, DType::kF32,
        [seed = ++seed, is_vector = dims.size() == 1](std::byte* data, std::size_t size) {
          std::mt19937 random(seed);
          std::uniform_real_distribution<float> any(-0.3f, 0.3f);
          for (std::size_t at = 0; at < size; at += sizeof(float)) {
            const float value = is_vector ? 1.0f : any(random);
            std::memcpy(data + at, &value, sizeof value);
          }
        });
  }
  writer.save(path.path());
  return path.string();
}

TEST_F(CudaEngineTest, ModelsWithExpertsChooseTheSameTokensAsOnTheCpu) {
  for (const char* family : {"mixtral", "qwen2moe", "qwen3moe"}) {
    SCOPED_TRACE(family);
    const test::ScratchPath path{"experts.gguf"};
    GpuRig gpu(saved_in_f32(path, family));
    const auto on_cpu = gpu.engine({"cpu", false, Place::kCpu});
    const auto expected = tokens(run_all(*on_cpu, requests(gpu.rig)));
    const auto on_gpu = gpu.engine({"all on cuda", true, Place::kCuda});
    EXPECT_EQ(tokens(run_all(*on_gpu, requests(gpu.rig))), expected);
  }
}

}  // namespace
}  // namespace tandem::engine
