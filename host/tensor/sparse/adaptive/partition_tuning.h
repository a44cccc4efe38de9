// SPDX-License-Identifier: Apache-2.0
//
// Options of an adaptive partition, tuned for a tensor's structure and kept for the next time.
//
// tuned_options() takes them from a file, or searches them (bayesian_search.h) and adds them to it.
// The structure is the order, sizes and number of entries, each to a power of two, and the threads.
// File: one line for each structure, the latest last, at most kMostStructures. A file that is
// damaged, or cannot be written, only costs a search. Processes: any number, also at once: a change
// is made under a lock, in a new file that takes the place of the old one. Threads: one caller.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "common/function_ref.h"
#include "tensor/sparse/adaptive/adaptive_partition.h"

namespace tandem::sparse {

constexpr std::size_t kMostStructures = 64;

std::string structure_key(const CooTensor& tensor, int threads);

// cache, home: of $XDG_CACHE_HOME and $HOME, or null. Empty if neither is an absolute path.
std::string tuning_file(const char* cache, const char* home);

// [5] each in [0, 1] -> options.
AdaptiveOptions options_at(std::span<const double> point);

std::optional<AdaptiveOptions> kept_options(const std::string& file, const std::string& key);
// Returns whether they were written.
bool keep_options(const std::string& file, const std::string& key, const AdaptiveOptions& options);

struct TuningSource {
  std::string file;  // empty: nothing is kept
  std::size_t evaluations = 24;
};

// seconds: measures some iterations with these options.
AdaptiveOptions tuned_options(const CooTensor& tensor, int threads, const TuningSource& source,
                              FunctionRef<double(const AdaptiveOptions&)> seconds);

}  // namespace tandem::sparse
