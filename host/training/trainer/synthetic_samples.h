// SPDX-License-Identifier: Apache-2.0
//
// Makes samples for the recommender without a data set: clicks drawn from a planted model, for
// use as RecommenderSamples (recommender_samples.h). Threads: any.
#pragma once

#include <memory>

#include "training/trainer/recommender_samples.h"

namespace tandem::training {

std::unique_ptr<RecommenderSamples> synthetic_samples(const RecommenderConfig& config,
                                                      std::uint64_t seed);

}  // namespace tandem::training
