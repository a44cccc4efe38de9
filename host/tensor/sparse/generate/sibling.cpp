// SPDX-License-Identifier: Apache-2.0
//
// Looks up two rows of the features.
#include "tensor/sparse/generate/sibling.h"

#include <string>

#include "common/error.h"

namespace tandem::sparse {
namespace {

const CountSummary& row_of(const TensorFeatures& features, CountKind kind,
                           const std::vector<std::size_t>& modes) {
  for (const FeatureRow& row : features.rows) {
    if (row.kind == kind && row.modes == modes) return row.counts;
  }
  throw Error("generate", std::string("the features have no row ") + count_kind_name(kind) +
                              " of the last modes, from which a sibling is made");
}

}  // namespace

TensorPlan plan_sibling(const TensorFeatures& features) {
  const CooTensor checked(features.sizes);  // throws for sizes that no tensor has
  TensorPlan plan{features.sizes, features.num_entries};
  const std::size_t order = features.sizes.size();
  const CountSummary& fibers = row_of(features, CountKind::kEntriesPerFiber, {order - 1});
  plan.fibers = fibers.nonempty;
  plan.cv_entries = fibers.cv_nonempty;
  plan.most_entries = fibers.max;
  if (order == 1) {
    plan.slices = plan.most_fibers = plan.fibers;
  } else {
    const CountSummary& slices =
        row_of(features, CountKind::kFibersPerSlice, {order - 2, order - 1});
    plan.slices = slices.nonempty;
    plan.cv_fibers = slices.cv_nonempty;
    plan.most_fibers = slices.max;
  }
  check_plan(plan);
  return plan;
}

}  // namespace tandem::sparse
