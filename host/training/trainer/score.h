// SPDX-License-Identifier: Apache-2.0
//
// Scores of clicks: log loss, and the area under the curve of true over false positives.
//
// Pure functions of log odds and labels. area_under_curve() is the share of pairs of a click and no
// click that are in the right order; equal scores count half (Hanley and McNeil 1982). 0.5 where
// all labels are equal or a score is not finite.
#pragma once

#include <span>

namespace tandem::training {

// In nats.
double mean_log_loss(std::span<const float> odds, std::span<const float> labels);
double area_under_curve(std::span<const float> odds, std::span<const float> labels);

}  // namespace tandem::training
