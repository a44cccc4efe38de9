// SPDX-License-Identifier: Apache-2.0
//
// choose_offload(): measures whether the update of dense weights should be divided over ranks.
//
// All ranks update and gather a part of the parameters at the same time, as in the steps of the
// run; the slowest rank counts. offload/cost_model.h then predicts the time of a step of both
// kinds. The measured rates of gathers are reduced by a fifth, so that only a clear gain changes
// the default. Collective; all ranks get the same result. Errors: TransportError.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "collectives/group.h"
#include "training/offload/cost_model.h"
#include "training/optimizer/rules.h"

namespace tandem::training {

struct OffloadQuestion {
  std::uint64_t parameters = 0;
  UpdateRule rule = Adam{};
  int threads = 1;
  std::uint64_t bucket_bytes = 4 << 20;
  std::chrono::milliseconds timeout{60'000};
};

// group: null for one rank; it cannot share the work.
OffloadPrediction choose_offload(collectives::Group* group, const OffloadQuestion& question);

// Predicts several tables, one after another. Measures host_bytes_per_s of the costs on this rank
// only.
OffloadPrediction predict_rows(std::vector<RowOffloadCosts> tables, int threads);

}  // namespace tandem::training
