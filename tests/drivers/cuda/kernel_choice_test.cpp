// SPDX-License-Identifier: Apache-2.0
//
// The choice between kernel paths on an interpreted GPU that says it is of compute capability 9.0.
#include "cuda/trials/kernel_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "cuda/attention/attention_unit.h"
#include "cuda/device.h"
#include "cuda/trials/decode_trial.h"
#include "cuda/trials/prefill_trial.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::cuda {
namespace {

using gpu_kernels::KernelPath;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class KernelChoiceTest : public testing::Test {
 protected:
  void SetUp() override { be_of(90); }
  void TearDown() override {
    simt::set_lazy(false);
    simt::clear_faults();
  }

  void be_of(int capability) {
    simt::Faults faults;
    faults.capability = capability;
    simt::set_faults(faults);
  }
  GpuKernels kernels(KernelPolicy policy) {
    return {policy, [this](const std::string& line) { notes_.push_back(line); }};
  }
  void make_unit(KernelPolicy policy, DType kv_dtype = DType::kF8E4M3) {
    CudaDevice device(0, kernels(policy));
    device::AttentionUnitOptions options;
    options.geometry = {2, 8, 2, 64, 16, kv_dtype};
    options.max_pages = 16;
    device.make_attention_unit(options);
  }
  static gpu_kernels::DecodeShape decode_shape(const Gpu& gpu) {
    gpu_kernels::DecodeShape shape;
    shape.type = gpu_kernels::KvType::kF16;
    shape.q_heads = 4;
    shape.kv_heads = 2;
    shape.head_dim = 64;
    shape.page_tokens = 16;
    shape.num_processors = gpu.traits.num_processors;
    shape.shared_bytes = gpu.traits.shared_bytes;
    return shape;
  }
  // A trial of decode attention whose Hopper path attends to so many tokens more of one sequence.
  std::string note_of_tokens_off(std::size_t sequence, int tokens) {
    Gpu gpu(0, "cuda:0", kernels(KernelPolicy::kTrial));
    const auto plan = [&](const gpu_kernels::DecodeBucket& bucket,
                          std::span<const gpu_kernels::DecodeGroup> groups,
                          std::span<const std::int32_t> rows, std::span<std::byte> to) {
      std::vector<gpu_kernels::DecodeGroup> changed(groups.begin(), groups.end());
      if (bucket.shape.path == KernelPath::kHopper) changed[sequence].num_attend += tokens;
      return gpu_kernels::plan_decode(bucket, changed, rows, to);
    };
    choose_path(gpu, decode_trial(gpu, decode_shape(gpu), 1, 0, plan));
    return notes_.back();
  }
  // A trial whose paths write these bytes into every result, and whose kernels are counted.
  KernelPath try_bytes(KernelPolicy policy, int generic, int hopper, bool has_hopper = true) {
    Gpu gpu(0, "cuda:0", kernels(policy));
    PathTrial trial;
    trial.what = "an example";
    trial.has_hopper = has_hopper;
    trial.parts = {{"values", 100, 1e-4}};
    trial.prepare = [&] { ++prepared_; };
    trial.launch = [&](KernelPath path, float* results, cudaStream_t stream) {
      ++launches_;
      const int value = path == KernelPath::kHopper ? hopper : generic;
      return cudaMemsetAsync(results, value, 100 * sizeof(float), stream);
    };
    return choose_path(gpu, trial);
  }

  std::vector<std::string> notes_;
  int prepared_ = 0, launches_ = 0;
};

TEST_F(KernelChoiceTest, WordsArePolicies) {
  EXPECT_EQ(kernel_policy("generic"), KernelPolicy::kGeneric);
  EXPECT_EQ(kernel_policy("hopper"), KernelPolicy::kHopper);
  EXPECT_EQ(kernel_policy("trial"), KernelPolicy::kTrial);
  EXPECT_THROW(kernel_policy("fastest"), Error);
  EXPECT_THROW(kernel_policy(""), Error);
}

TEST_F(KernelChoiceTest, NothingIsRunUnlessTried) {
  EXPECT_EQ(try_bytes(KernelPolicy::kGeneric, 1, 1), KernelPath::kGeneric);
  EXPECT_EQ(try_bytes(KernelPolicy::kHopper, 1, 1), KernelPath::kHopper);
  EXPECT_THAT(notes_, ElementsAre());
  EXPECT_EQ(try_bytes(KernelPolicy::kTrial, 1, 1, false), KernelPath::kGeneric);
  EXPECT_EQ(try_bytes(KernelPolicy::kHopper, 1, 1, false), KernelPath::kGeneric);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("there are no others"), HasSubstr("no others")));
  EXPECT_EQ(prepared_ + launches_, 0);
}

TEST_F(KernelChoiceTest, ATrialRunsBothAndSaysWhichItTook) {
  const KernelPath taken = try_bytes(KernelPolicy::kTrial, 0x3f, 0x3f);
  EXPECT_EQ(prepared_, 1);
  EXPECT_GT(launches_, 2);
  const char* name = taken == KernelPath::kHopper ? ": Hopper kernels" : ": generic kernels";
  EXPECT_THAT(notes_, ElementsAre(AllOf(HasSubstr("cuda:0: an example"), HasSubstr(name),
                                        HasSubstr("by a trial"))));
}

TEST_F(KernelChoiceTest, KernelsWhoseResultsDifferAreNotTaken) {
  EXPECT_EQ(try_bytes(KernelPolicy::kTrial, 0x3f, 0x3e), KernelPath::kGeneric);
  EXPECT_EQ(try_bytes(KernelPolicy::kTrial, 0x3f, 0xff), KernelPath::kGeneric);  // no numbers
  EXPECT_EQ(try_bytes(KernelPolicy::kTrial, 0xff, 0xff), KernelPath::kGeneric);
  EXPECT_THAT(notes_, testing::Each(AllOf(HasSubstr("generic kernels"), HasSubstr("differ"))));
  EXPECT_EQ(notes_.size(), 3u);
}

TEST_F(KernelChoiceTest, PartsOfResultsHaveTheirOwnScale) {
  Gpu gpu(0, "cuda:0", kernels(KernelPolicy::kTrial));
  PathTrial trial;
  trial.has_hopper = true;
  trial.parts = {{"small", 1, 1e-3}, {"large", 1, 1e-3, false}};
  trial.prepare = [] {};
  float small = 1, large = 1000;
  trial.launch = [&](KernelPath path, float* results, cudaStream_t) {
    const bool is_hopper = path == KernelPath::kHopper;
    results[0] = is_hopper ? small : 1;
    results[1] = is_hopper ? large : 1000;
    return cudaSuccess;
  };
  const auto agrees = [&] {
    choose_path(gpu, trial);
    return notes_.back().find("by a trial") != std::string::npos;
  };
  EXPECT_TRUE(agrees());
  small = 1.01f;
  EXPECT_FALSE(agrees());
  small = 1, large = 1000.01f;
  EXPECT_FALSE(agrees());
}

TEST_F(KernelChoiceTest, ATokenTooFewOrTooManyIsSeen) {
  EXPECT_THAT(note_of_tokens_off(4, 0), HasSubstr("by a trial"));
  for (const std::size_t sequence : {0u, 4u, 6u}) {
    EXPECT_THAT(note_of_tokens_off(sequence, -1), HasSubstr("differ by more")) << sequence;
    EXPECT_THAT(note_of_tokens_off(sequence, 1), HasSubstr("differ by more")) << sequence;
  }
}

TEST_F(KernelChoiceTest, TrialsAreInOrderOnStreamsThatWaitForNoOther) {
  simt::set_lazy(true);
  CudaDevice device(0, kernels(KernelPolicy::kTrial));
  EXPECT_THAT(notes_, ElementsAre(AllOf(HasSubstr("overlap"), HasSubstr("by a trial"))));
  Gpu gpu(0, "cuda:0", kernels(KernelPolicy::kTrial));
  choose_decode_path(gpu, decode_shape(gpu));
  EXPECT_THAT(notes_, testing::Each(HasSubstr("by a trial")));
}

TEST_F(KernelChoiceTest, ARefusedLaunchIsAnError) {
  Gpu gpu(0, "cuda:0", kernels(KernelPolicy::kTrial));
  PathTrial trial;
  trial.has_hopper = true;
  trial.parts = {{"values", 1, 0}};
  trial.prepare = [] {};
  trial.launch = [](KernelPath, float*, cudaStream_t) { return cudaErrorInvalidValue; };
  EXPECT_THROW(choose_path(gpu, trial), Error);
}

TEST_F(KernelChoiceTest, AttentionUnitsTryDecodeInTheirOwnShape) {
  make_unit(KernelPolicy::kTrial);
  EXPECT_THAT(notes_,
              testing::Contains(AllOf(HasSubstr("decode attention of 8/2 heads of 64 in f8"),
                                      HasSubstr("by a trial"))));
}

TEST_F(KernelChoiceTest, AttentionOfChunksIsTriedWhereHopperHasItsType) {
  Gpu gpu(0, "cuda:0", kernels(KernelPolicy::kTrial));
  gpu_kernels::PrefillShape shape{.type = gpu_kernels::KvType::kF16,
                                  .q_heads = 8,
                                  .kv_heads = 2,
                                  .head_dim = 64,
                                  .page_tokens = 16,
                                  .block_bytes = gpu.traits.block_shared_bytes};
  choose_prefill_path(gpu, shape);
  shape.type = gpu_kernels::KvType::kI8;
  EXPECT_EQ(choose_prefill_path(gpu, shape), KernelPath::kGeneric);
  choose_causal_path(gpu);
  EXPECT_THAT(notes_, testing::Contains(AllOf(HasSubstr("attention of chunks of 8/2 heads of 64"),
                                              HasSubstr("by a trial"))));
  EXPECT_THAT(notes_, testing::Contains(HasSubstr("there are no others")));
  EXPECT_THAT(notes_, testing::Contains(AllOf(HasSubstr("attention in chunks of 8/2 heads of 128"),
                                              HasSubstr("by a trial"))));
  EXPECT_THAT(notes_, testing::Each(testing::Not(HasSubstr("differ by"))));
}

TEST_F(KernelChoiceTest, OlderGpusHaveGenericKernelsOnly) {
  be_of(80);
  make_unit(KernelPolicy::kHopper);
  EXPECT_THAT(notes_, testing::Contains(
                          AllOf(HasSubstr("decode attention"), HasSubstr("there are no others"))));
}

}  // namespace
}  // namespace tandem::cuda
