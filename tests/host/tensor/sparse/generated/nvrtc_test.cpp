// SPDX-License-Identifier: Apache-2.0
//
// Every point of the CUDA grammar compiles by NVRTC without a spill, for two architectures.
#include <gmock/gmock.h>

#include <iostream>
#include <regex>
#include <set>

#include "common/error.h"
#include "tensor/sparse/generated/cuda_source.h"
#include "tensor/sparse/generated/nvrtc_compiler.h"

namespace tandem::sparse {
namespace {

using testing::HasSubstr;
using testing::Not;

class NvrtcTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!nvrtc_.reason().empty()) GTEST_SKIP() << nvrtc_.reason();
  }
  NvrtcCompiler nvrtc_;
};

int number_before(const std::string& text, const std::string& words) {
  std::smatch found;
  return std::regex_search(text, found, std::regex("([0-9]+) " + words)) ? std::stoi(found[1]) : -1;
}

TEST_P(NvrtcTest, CompilesTheWholeGrammarWithoutSpills) {
  int most_registers = 0;
  for (const KernelPattern& pattern : cuda_grammar_points(128)) {
    if (pattern.mode > 0) continue;  // its source is that of mode 0
    const CompiledCuda compiled = nvrtc_.compile(pattern, GetParam());
    ASSERT_THAT(compiled.code.substr(0, 4), testing::StrEq("\177ELF")) << key(pattern);
    ASSERT_THAT(compiled.code, HasSubstr("tandem_kernel")) << key(pattern);
    const int registers = number_before(compiled.messages, "registers");
    if (registers < 0) continue;  // this version does not tell
    most_registers = std::max(most_registers, registers);
    EXPECT_LE(registers, 128) << key(pattern);  // 16 warps of a multiprocessor at least
    EXPECT_EQ(number_before(compiled.messages, "bytes spill stores"), 0) << key(pattern);
    EXPECT_EQ(number_before(compiled.messages, "bytes stack frame"), 0) << key(pattern);
  }
  std::cout << GetParam() << ": at most " << most_registers << " registers\n";
}

TEST_P(NvrtcTest, TellsWhatIsWrongWithASource) {
  try {
    nvrtc_.compile_source("__global__ void k() { nonsense(); }", GetParam());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nonsense"));
    EXPECT_THAT(error.what(), HasSubstr(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, NvrtcTest, testing::Values("sm_80", "sm_90"),
                         [](const auto& info) { return info.param; });

TEST(CudaSource, FixesWhatThePatternSays) {
  KernelPattern pattern{
      KernelProduct::kMttkrp, 4, 1, 16, 1, 1, KernelValue::kF32, KernelIndex::kU16,
      KernelEnd::kNone};
  EXPECT_THAT(cuda_source(pattern), HasSubstr("sum_row<3, 16, float>(job);"));
  EXPECT_THAT(cuda_source(pattern), HasSubstr("job.end = RowEnd::kNone;"));
  EXPECT_THAT(cuda_source(pattern), HasSubstr("job.parts = 1;"));
  EXPECT_THAT(cuda_source(pattern), HasSubstr("tandem_kernel(RowSums job)"));
  const auto without_key = [](std::string source) { return source.substr(source.find('\n')); };
  KernelPattern first = pattern;
  first.mode = 0;
  EXPECT_EQ(without_key(cuda_source(pattern)), without_key(cuda_source(first)));
  KernelPattern ttv{KernelProduct::kTtv, 2, 0, 1, 1, 1, KernelValue::kF32, KernelIndex::kI32,
                    KernelEnd::kNone,    3};
  EXPECT_THAT(cuda_source(ttv), HasSubstr("dot_fibre<3, float>(job);"));
  ttv.fibre = 0;
  EXPECT_THAT(cuda_source(ttv), HasSubstr("dot_row<float>(job);"));
  ttv.product = KernelProduct::kTtm;
  ttv.columns = 16;
  EXPECT_THAT(cuda_source(ttv), HasSubstr("sum_row<1, 16, float>(job);"));
  pattern = {KernelProduct::kSpmm, 2, 0, 64, 1, 1, KernelValue::kF32, KernelIndex::kI32,
             KernelEnd::kBiasSilu};
  EXPECT_THAT(cuda_source(pattern), HasSubstr("sum_row<1, 64, float>(job);"));
  EXPECT_THAT(cuda_source(pattern), HasSubstr("job.end = RowEnd::kBiasSilu;"));
  pattern.product = KernelProduct::kAttention;
  pattern.end = KernelEnd::kNone;
  EXPECT_THAT(cuda_source(pattern), HasSubstr("attend_row<64>(job);"));
  EXPECT_THAT(cuda_source(pattern), HasSubstr("tandem_kernel(EntryDots job)"));
  EXPECT_THAT(cuda_source(pattern), Not(HasSubstr("job.end")));
}

TEST(CudaSource, TheGrammarEndsWhereWarpsDo) {
  const KernelPattern spmm{
      KernelProduct::kSpmm, 2, 0, 32, 1, 1, KernelValue::kF32, KernelIndex::kI32, KernelEnd::kBias};
  const auto with = [&](auto change) {
    KernelPattern pattern = spmm;
    change(pattern);
    return is_in_cuda_grammar(pattern);
  };
  EXPECT_TRUE(is_in_cuda_grammar(spmm));
  EXPECT_TRUE(with([](auto& p) { p.columns = 16; }));
  EXPECT_FALSE(with([](auto& p) { p.columns = 48; }));
  EXPECT_FALSE(with([](auto& p) { p.columns = 288; }));
  EXPECT_FALSE(with([](auto& p) { p.value = KernelValue::kF64; }));
  EXPECT_FALSE(with([](auto& p) { p.value = KernelValue::kBf16; }));
  EXPECT_FALSE(with([](auto& p) { p.fibre = 1; })) << "of fibres alone";
  EXPECT_FALSE(with([](auto& p) { p.block_rows = 2; }));
  EXPECT_FALSE(with([](auto& p) { p.index = KernelIndex::kI64; }));
  EXPECT_FALSE(with([](auto& p) { p.product = KernelProduct::kSddmm; }));  // with a bias
  EXPECT_FALSE(with([](auto& p) {
    p.product = KernelProduct::kSddmm;
    p.end = KernelEnd::kNone;
    p.columns = 16;
  }));
  std::set<KernelProduct> products;
  for (const KernelPattern& point : cuda_grammar_points(64)) {
    EXPECT_TRUE(is_in_cuda_grammar(point)) << key(point);
    products.insert(point.product);
  }
  EXPECT_EQ(products.size(), 7u);
}

}  // namespace
}  // namespace tandem::sparse
