// SPDX-License-Identifier: Apache-2.0
//
// The deepest stream is reduced first, since it costs most.
#include "apps/card/depth_search.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::apps {
namespace {

// The streams that have grown, the deepest first.
std::vector<StreamPlace> grown_streams(const StreamDepths& needs) {
  std::vector<StreamPlace> grown;
  for (const auto& [place, depth] : needs) grown.push_back(place);
  std::stable_sort(grown.begin(), grown.end(), [&needs](const auto& left, const auto& right) {
    return needs.at(left) > needs.at(right);
  });
  return grown;
}

}  // namespace

LeastDepths find_least_depths(const std::function<DepthRun(const StreamDepths& fixed)>& run) {
  const DepthRun first = run({});
  LeastDepths result;
  result.runs = 1;
  if (!first.passed) {
    throw Error("card",
                "the command fails whatever depths its streams have; `tandem card run` "
                "says what the cards find: " +
                    first.problem);
  }
  StreamDepths depths;
  for (const auto& [place, stated] : first.streams) depths[place] = 1;
  for (const auto& [place, depth] : first.needs) depths[place] = depth;
  // If only one stream has grown, its depth is already the least.
  const std::vector<StreamPlace> grown = grown_streams(first.needs);
  for (const StreamPlace& place : grown) {
    if (grown.size() == 1) break;
    StreamDepths others = depths;
    others.erase(place);
    const DepthRun trial = run(others);
    ++result.runs;
    if (!trial.passed) {
      throw Error("card", "runs differ: the command passed before, and not with more room: " +
                              trial.problem);
    }
    const auto needed = trial.needs.find(place);
    depths[place] = needed == trial.needs.end() ? 1 : needed->second;
  }
  if (!depths.empty()) {
    const DepthRun proof = run(depths);
    ++result.runs;
    if (!proof.passed || !proof.needs.empty()) {
      throw Error("card", "runs differ: depths that were enough for one run were not for the next" +
                              (proof.problem.empty() ? "" : ": " + proof.problem));
    }
  }
  for (const auto& [place, depth] : depths) {
    const auto stated = first.streams.find(place);
    result.streams.push_back({place, stated == first.streams.end() ? 0 : stated->second, depth});
  }
  return result;
}

}  // namespace tandem::apps
