// SPDX-License-Identifier: Apache-2.0
//
// Scores of click predictions: log loss, and the area under the ROC curve.
//
// Pure functions of log odds and labels. area_under_curve() is the share of pairs (click, no click)
// that are in the right order; equal scores count half (Hanley and McNeil 1982). It is 0.5 if all
// labels are equal or a score is not finite.
#pragma once

#include <span>

namespace tandem::training {

// In nats.
double mean_log_loss(std::span<const float> odds, std::span<const float> labels);
double area_under_curve(std::span<const float> odds, std::span<const float> labels);

}  // namespace tandem::training
