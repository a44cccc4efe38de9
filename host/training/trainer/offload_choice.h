// SPDX-License-Identifier: Apache-2.0
//
// choose_offload(): whether the update of dense weights is divided over ranks, by a measurement.
//
// All ranks update and gather at the same time, a part of the parameters each, as the steps of the
// run would; the slowest counts. offload/cost_model.h then predicts a step of both kinds. The
// rates of gathers are taken a fifth lower than measured, so that what is close stays as it is.
// Collective; all ranks get the same result. Errors: TransportError.
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

// group: null for one rank, which has nobody to share with.
OffloadPrediction choose_offload(collectives::Group* group, const OffloadQuestion& question);

// Of several tables, one after another. host_bytes_per_s of the costs is measured here, alone.
OffloadPrediction predict_rows(std::vector<RowOffloadCosts> tables, int threads);

}  // namespace tandem::training
