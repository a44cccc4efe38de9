// SPDX-License-Identifier: Apache-2.0
//
// The kernels of every instruction set that this machine has give the same bits.
#include <gtest/gtest.h>

#include "hwy/targets.h"
#include "reference.h"
#include "training/optimizer/kernels.h"

namespace tandem::training::test {
namespace {

// The arrays after every rule has been applied once, one after another.
std::vector<std::uint32_t> after_all_rules() {
  constexpr std::size_t kCount = 1003;
  Values weights = random_values(kCount, 1), first(kCount), second(kCount), sum(1);
  const Values gradient = random_values(kCount, 2);
  std::vector<std::uint16_t> copy(kCount);
  const KernelValues values = {weights.data(), gradient.data(), first.data(),
                               second.data(),  copy.data(),     true};
  const StepFactors step = {4, 0.01, 0.3};
  apply_adam(factors_of(Adam{}, step), values, kCount);
  apply_row_adam(factors_of(RowAdam{.weight_decay = 0.1}, step), values, kCount);
  apply_sgd(factors_of(Sgd{.momentum = 0.9, .nesterov = true, .weight_decay = 0.1}, step), values,
            kCount);
  KernelValues row = values;
  row.first = sum.data();
  apply_rowwise_adagrad(factors_of(RowwiseAdagrad{.weight_decay = 0.1}, step), row, kCount);
  std::vector<std::uint32_t> bits = bits_of(weights);
  for (const Values& more : {first, second, sum}) {
    for (const std::uint32_t one : bits_of(more)) bits.push_back(one);
  }
  bits.insert(bits.end(), copy.begin(), copy.end());
  return bits;
}

TEST(OptimizerKernels, EveryInstructionSetGivesTheSameBits) {
  const auto best = after_all_rules();
  const std::int64_t here = hwy::SupportedTargets();
  int tried = 0;
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t set = std::int64_t{1} << bit;
    if ((here & set) == 0) continue;
    hwy::SetSupportedTargetsForTest(here & ~(set - 1));  // and what comes after it
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    EXPECT_EQ(after_all_rules(), best) << hwy::TargetName(set);
    ++tried;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GE(tried, 1);
}

}  // namespace
}  // namespace tandem::training::test
