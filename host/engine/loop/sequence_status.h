// SPDX-License-Identifier: Apache-2.0
//
// SequenceStatus: a request that waits or runs, as an operator sees it. Threads: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv_cache/prefix_index.h"
#include "engine/request.h"

namespace tandem::engine {

// Pages of one unit with consecutive numbers, which hold consecutive blocks of a sequence.
struct PageRun {
  int unit = 0;
  std::uint32_t first = 0, count = 0;

  bool operator==(const PageRun&) const = default;
};

struct SequenceStatus {
  RequestId id = 0;
  bool running = false;  // false: it waits, for the first time or for pages
  int prompt_tokens = 0, cached_tokens = 0, computed_tokens = 0, generated_tokens = 0;
  double queued_s = 0;                       // until its first step
  std::optional<double> first_token_s = {};  // since submit(); empty before the first token
  std::vector<PageRun> pages = {};           // pages of its KV, in the order of its blocks
  std::size_t pages_left_out = 0;            // pages after the last listed run
};

constexpr std::size_t kMostPageRuns = 1024;
// The runs of these blocks, at most kMostPageRuns. `left_out`: the number of the other blocks.
std::vector<PageRun> page_runs(std::span<const BlockPlace> blocks, std::size_t& left_out);

}  // namespace tandem::engine
