// SPDX-License-Identifier: Apache-2.0
//
// Lists the running and the waiting sequences in one pass.
#include "engine/loop/sequence_status.h"

#include "engine/loop/engine_loop.h"

namespace tandem::engine {
namespace {

SequenceStatus sequence_status(const Sequence& sequence, bool running) {
  SequenceStatus status{.id = sequence.id(),
                        .running = running,
                        .prompt_tokens = sequence.num_prompt_tokens(),
                        .cached_tokens = sequence.num_cached_tokens(),
                        .computed_tokens = sequence.num_computed,
                        .generated_tokens = sequence.num_generated(),
                        .queued_s = sequence.times().queued};
  if (sequence.num_generated() > 0) status.first_token_s = sequence.times().time_to_first_token;
  status.pages = page_runs(sequence.table.blocks, status.pages_left_out);
  return status;
}

}  // namespace

std::vector<PageRun> page_runs(std::span<const BlockPlace> blocks, std::size_t& left_out) {
  std::vector<PageRun> runs;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& [unit, page] = blocks[i];
    if (!runs.empty() && runs.back().unit == unit &&
        runs.back().first + runs.back().count == page) {
      ++runs.back().count;
    } else if (runs.size() < kMostPageRuns) {
      runs.push_back({unit, page, 1});
    } else {
      left_out = blocks.size() - i;
      return runs;
    }
  }
  left_out = 0;
  return runs;
}

std::vector<SequenceStatus> EngineLoop::sequences() const {
  std::vector<SequenceStatus> all;
  for (const auto& sequence : running_) all.push_back(sequence_status(*sequence, true));
  waiting_.for_each([&](Sequence& sequence) { all.push_back(sequence_status(sequence, false)); });
  return all;
}

}  // namespace tandem::engine
