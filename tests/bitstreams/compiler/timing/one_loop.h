// SPDX-License-Identifier: Apache-2.0
//
// A kernel of one loop, for tests of its time.
#pragma once

#include "bitstreams/compiler/timing/estimate.h"

namespace tandem::timing {

// One pipelined loop of `trips` iterations in one entry; counters: function, header, entries.
struct OneLoop {
  OneLoop(std::uint64_t trips, double depth) {
    model.kernel = "k";
    model.num_counters = 3;
    FunctionModel function;
    function.name = "k";
    LoopModel loop;
    loop.file = "k.cpp";
    loop.line = 7;
    loop.header = 1;
    loop.latches = {1};
    loop.entries = 2;
    loop.pipeline = "auto";
    loop.depth = depth;
    function.loops = {loop};
    PhaseModel phase;
    phase.loop = 0;
    function.phases = {phase};
    model.functions = {function};
    counts.counters = {1, trips, 1};
    card.banks = {timed_bank("DDR[0]", 0, 1 << 30)};
  }
  LoopModel& loop() { return model.functions[0].loops[0]; }
  // Consecutive accesses of `bytes` in all, in one run, by a site in the loop.
  void add_site(double bytes, std::uint64_t accesses, bool writes, std::uint64_t address,
                std::uint64_t runs = 1) {
    SiteModel site;
    site.block = 1;
    site.loop = 0;
    site.writes = writes;
    model.functions[0].sites.push_back(static_cast<int>(model.sites.size()));
    model.sites.push_back(site);
    SiteRecord record;
    record.accesses = accesses;
    record.bytes = static_cast<std::uint64_t>(bytes);
    record.runs = runs;
    record.first = address + 1;
    counts.sites.push_back(record);
  }
  RunTime time() const { return estimate(model, counts, arguments, card); }

  KernelModel model;
  RunCounts counts;
  std::vector<TimedArgument> arguments = {{"in", "gmem0", 0}, {"out", "gmem1", 1 << 20}};
  TimedCard card;
};

}  // namespace tandem::timing
