// SPDX-License-Identifier: Apache-2.0
//
// What is said while a model is loaded: the progress, and what became of its matrices.
//
// Threads: one.
#pragma once

#include <functional>
#include <string>

#include "engine/weights/weight_loader.h"

namespace tandem::apps {

// Takes the fraction that is read: a line that is rewritten on a terminal, elsewhere a log entry
// every 10 percent.
std::function<void(double)> load_progress(const std::string& path);

// Logs what --quantize has made of the weights, or warns that it has made nothing.
void log_weights(const engine::LoadedWeights& weights, const std::string& quantize);

}  // namespace tandem::apps
