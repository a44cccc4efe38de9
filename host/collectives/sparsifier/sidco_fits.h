// SPDX-License-Identifier: Apache-2.0
//
// Thresholds of distributions that are fitted to magnitudes by their moments, for SIDCo.
//
// Source: Abdelmoniem et al., An efficient statistical-based gradient compression technique for
// distributed training systems, MLSys 2021.
#pragma once

#include "collectives/sparsifier/selection_kernels.h"
#include "collectives/sparsifier/sparsifier.h"

namespace tandem::collectives {

// The magnitude that a fraction `tail` of the values exceeds, by the fit of the first stage. Not
// finite or not positive if the values do not allow the fit.
double fitted_threshold(SidcoFit fit, const Moments& moments, double tail);

// The same for a later stage: the moments are those of the survivors, whose smallest magnitude is
// `smallest`. The tail of a gamma distribution is fitted by a generalised Pareto distribution.
double fitted_tail_threshold(SidcoFit fit, const Moments& survivors, double smallest, double tail);

// Q(shape, x) = the upper incomplete gamma function over gamma(shape); and its inverse in x.
double upper_gamma(double shape, double x);
double inverse_upper_gamma(double shape, double tail);

}  // namespace tandem::collectives
