// SPDX-License-Identifier: Apache-2.0
//
// Selector: which scheme reduces a bucket fastest, by cost models corrected with measured times.
//
// One per bucket and rank; all ranks take the same decisions, because those depend only on what the
// headers of the call carry. Per call:
//     header.profile = selector.header(own, world);           // before the exchange of headers
//     const Scheme& scheme = selector.choose(profiles, problem, machine);   // after it
//     ... scheme.allreduce(...) ...
//     selector.record(seconds, bytes_sent, bytes_received);   // on success
// Profiles: the first calls carry sketches, as does the call after a drift (a rank's entries off by
// more than 25 %) and every 64th; between them counts scale the profile.
// Learning: each call reports the time of the one before; its maximum over ranks over the predicted
// time corrects the scheme's later predictions (median of the last 8). When the best measures much
// worse than predicted, the next best is tried; a scheme is left only for one that is clearly
// better, so decisions do not flap.
// Cost: tens of bytes per header; 8 KB where it carries a sketch. Threads: one. Errors:
// TransportError (kGarbage) naming the rank whose header does not parse.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "collectives/scheme/scheme.h"
#include "collectives/selection/link_probe.h"
#include "collectives/selection/profile.h"
#include "collectives/transport/payload.h"

namespace tandem::collectives {

struct SelectorOptions {
  int initial_profiles = 2;     // calls that carry sketches at first
  int profile_period = 64;      // calls between sketches later
  double drift = 0.25;          // relative change of entries that asks for a new profile
  double disappointment = 1.5;  // measured over predicted that makes the next best worth a try
  double switching_gain = 0.9;  // a scheme must promise this share of the present one's time
  std::span<const Scheme* const> candidates;  // empty: all_schemes()
};

// One line of the ranking.
struct Candidate {
  const Scheme* scheme = nullptr;
  std::string refusal;     // not empty: it cannot run
  Cost cost;               // by the model
  double predicted_s = 0;  // corrected by what was measured
  double measured_s = 0;   // median over its last calls, slowest rank; 0: not tried
  int num_measured = 0;
};

class Selector {
 public:
  explicit Selector(SelectorOptions options = {});

  // Bytes for the header of the call about to be made with `own`.
  ByteBuffer header(const SparseVector& own, int world);

  // profiles: [world], every rank's header() in rank order. problem: all but the counts and
  // imbalances (world, ranks_per_node, domain, wire, reduction, codec). Throws Error where no
  // candidate can run.
  const Scheme& choose(std::span<const ByteBuffer> profiles, Problem problem,
                       const MachineModel& machine);

  // The call took `seconds` here.
  void record(double seconds, std::uint64_t bytes_sent, std::uint64_t bytes_received);

  // Of the last choose(), best first, those that cannot run last.
  const std::vector<Candidate>& ranking() const { return ranking_; }
  const Problem& problem() const { return problem_; }
  bool profile_due() const { return profile_due_; }

  // The ranking as a table, with steps, bytes, predicted and measured times, and why the first one
  // was chosen.
  std::string explanation() const;

 private:
  struct Measured {
    std::vector<double> seconds;  // the last ones
    std::vector<double> ratios;   // measured over predicted by the model
  };
  struct Report;

  void learn(std::span<const Report> reports);
  void update_problem(Problem problem, std::span<const Report> reports);
  void rank_candidates(const MachineModel& machine);
  void settle();
  double correction(std::string_view scheme) const;

  SelectorOptions options_;
  // Alike on all ranks.
  std::vector<RankProfile> profiles_;  // the last that were exchanged
  Problem problem_;
  double profiled_entries_ = 0;  // mean over ranks, of profiles_
  int num_profiles_ = 0;
  int calls_since_profile_ = 0;
  bool profile_due_ = true;  // the next call carries sketches
  std::map<std::string, Measured, std::less<>> measured_;
  std::vector<Candidate> ranking_;
  const Scheme* chosen_ = nullptr;
  double chosen_model_s_ = 0;
  std::string reason_;
  // This rank's own.
  double own_seconds_ = 0;  // of the last call; 0: none, or it failed
  std::uint64_t own_sent_ = 0, own_received_ = 0;
  std::uint64_t own_profiled_entries_ = 0;
};

}  // namespace tandem::collectives
