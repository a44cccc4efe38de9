// SPDX-License-Identifier: Apache-2.0
//
// Selector: chooses the fastest scheme for a bucket, by cost models corrected with measured times.
//
// One per bucket and rank. All ranks make the same decision, because it depends only on the headers
// of the call. Per call:
//     header.profile = selector.header(own, world);           // before the exchange of headers
//     const Scheme& scheme = selector.choose(profiles, problem, machine);   // after it
//     ... scheme.allreduce(...) ...
//     selector.record(seconds, bytes_sent, bytes_received);   // on success
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "collectives/frames/vocabulary.h"
#include "collectives/scheme/scheme.h"
#include "collectives/selection/link_probe.h"
#include "collectives/selection/profile.h"

namespace tandem::collectives {

struct SelectorOptions {
  int initial_profiles = 2;     // calls that carry sketches at first
  int profile_period = 64;      // calls between sketches later
  double drift = 0.25;          // relative change of the entries above which a new profile is made
  double disappointment = 1.5;  // ratio measured / predicted above which other schemes are tried
  // a scheme replaces the present one at this share of its time, or less
  double switching_gain = 0.9;
  std::span<const Scheme* const> candidates;  // empty: all_schemes()
};

// One line of the ranking.
struct Candidate {
  const Scheme* scheme = nullptr;
  std::string refusal;    // not empty: it cannot run
  Cost cost;              // cost by the model
  double expected_s = 0;  // predicted seconds, corrected by the measurements
  double measured_s = 0;  // median over its last calls, slowest rank; 0: not tried
  double ratio = 0;       // median of measured over predicted; 0: not tried
  int num_measured = 0;
};

class Selector {
 public:
  explicit Selector(SelectorOptions options = {});

  // Bytes for the header of the next call, made with `own`. The first calls carry sketches, and so
  // do the call after a drift (a rank's entries off by more than `drift`) and every
  // profile_period-th. Between them the counts scale the profile. 24 bytes; with a sketch 8 KB and
  // a hash per entry.
  ByteBuffer header(const SparseVector& own, int world);

  // profiles: [world], every rank's header() in rank order. problem: all but the counts and
  // imbalances (world, ranks_per_node, domain, wire, reduction, codec). Models run again only when
  // counts move by 5 %, or the machine or the options change. Throws Error if no candidate can run;
  // TransportError (kGarbage) naming the rank whose header does not parse.
  const Scheme& choose(std::span<const ByteBuffer> profiles, const Problem& problem,
                       const MachineModel& machine);

  // Records that the call took `seconds` on this rank. The next header reports it. The maximum over
  // ranks divided by the model's prediction corrects the scheme (median of the last 8; of two
  // middle ones the lower).
  void record(double seconds, std::uint64_t bytes_sent, std::uint64_t bytes_received);

  // The candidates of the last choose(), best first, those that cannot run last.
  const std::vector<Candidate>& ranking() const { return ranking_; }
  const Problem& problem() const { return problem_; }
  bool profile_due() const { return profile_due_; }

  // The ranking as a table, with steps, bytes, predicted, expected and measured times, and why the
  // first one was chosen.
  std::string explanation() const;

 private:
  struct Measured {
    std::vector<double> seconds;  // times of the last calls
    std::vector<double> ratios;   // measured over predicted by the model
    int last_epoch = 0;           // num_profiles_ when it was last measured
  };
  struct Report;

  void learn(std::span<const Report> reports);
  void update_problem(const Problem& problem, std::span<const Report> reports);
  bool must_evaluate(const MachineModel& machine) const;
  void evaluate(const MachineModel& machine);
  void expect();
  // The correction of a scheme that was never tried: the least ratio among the schemes of its
  // class, which use the aggregator or do not.
  double class_ratio(bool uses_aggregator) const;
  void choose();
  // If the best scheme measures more than `disappointment` times its prediction, each scheme that
  // the model alone predicts below that measured time is tried, at most twice. `switching_gain`
  // keeps decisions from alternating.
  const Candidate* find_trial(const Candidate& incumbent) const;

  SelectorOptions options_;
  // Equal on all ranks.
  Problem profiled_;  // the problem that the last sketches describe
  Problem problem_;
  double profiled_entries_ = 0;  // mean entries of a rank in profiled_
  int num_profiles_ = 0;
  int calls_since_profile_ = 0;
  bool profile_due_ = true;  // the next call carries sketches
  Problem evaluated_;        // with the machine, the input of the costs in ranking_
  MachineModel evaluated_on_;
  int evaluated_profile_ = 0;
  std::map<std::string, Measured, std::less<>> measured_;
  std::vector<Candidate> ranking_;
  const Scheme* incumbent_ = nullptr;  // the best scheme so far
  const Scheme* chosen_ = nullptr;     // the scheme that runs: the incumbent, or one that is tried
  double chosen_model_s_ = 0;
  std::string reason_;
  // Values of this rank only.
  double own_seconds_ = 0;  // time of the last call; 0: there was none, or it failed
  std::uint64_t own_sent_ = 0, own_received_ = 0;
  std::uint64_t own_profiled_entries_ = 0;
};

}  // namespace tandem::collectives
