// SPDX-License-Identifier: Apache-2.0
//
// Reports the progress while a model is loaded, and the types of its weights afterwards.
//
// Threads: one.
#pragma once

#include <functional>
#include <string>

#include "engine/weights/weight_loader.h"

namespace tandem::apps {

// Returns a function that reports the fraction that is loaded. On a terminal it rewrites one line,
// otherwise it logs every 10 percent.
std::function<void(double)> load_progress(const std::string& path);

// Logs how many weights --quantize converted, or warns that it converted none.
void log_weights(const engine::LoadedWeights& weights, const std::string& quantize);

}  // namespace tandem::apps
