// SPDX-License-Identifier: Apache-2.0
//
// What the source of a kernel says about its time: loops, pragmas, depths, dependences, accesses.
//
// v++ makes it and puts it as JSON into the kernel's library, as the text
// tandem_time_model_<kernel>. The card counts while the kernel runs (run_counts.h); estimate.h
// makes a time of both. Cycles are those of the kernel's clock. Errors: Error("time", ...) for a
// damaged text. Pure.
#pragma once

#include <string>
#include <vector>

namespace tandem::timing {

// Of one iteration; an operation of the loop itself, not of the loops in it.
struct ArrayUse {
  std::string array;
  double reads = 0;
  double writes = 0;
  double banks = 1;  // 0: registers, any number of accesses
};

// A value that the next iterations need: `cycles` later, `distance` iterations on.
struct Recurrence {
  double cycles = 0;
  double distance = 1;
  int inner = -1;       // the path goes through this loop, by index; -1: none
  bool certain = true;  // false: addresses that may be equal
  std::string what;     // "fadd"
  int line = 0;
};

struct LoopModel {
  std::string file;
  int line = 0;
  int header = 0;            // counters: runs of the header, ...
  std::vector<int> latches;  // ... of the branches back, ...
  int entries = 0;           // ... and entries of the loop
  bool tests_first = false;  // the header leaves the loop: it runs once more per entry
  int parent = -1;
  std::string pipeline;  // "pragma", "auto", "off" or "" (a loop around others)
  double wanted_ii = 0;  // of the pragma; 0: none
  int unroll = 1;        // 0: completely
  double depth = 1;      // cycles of one iteration
  bool perfect = false;  // nothing but the inner loop is in it
  std::vector<Recurrence> recurrences;
  std::vector<ArrayUse> arrays;
};

// A load or store that may go to device memory, or a copy of bytes.
struct SiteModel {
  int block = 0;  // counter
  int loop = -1;  // of the function, by index
  bool writes = false;
  int copy = -1;  // the other site of a memcpy; -1: no copy
  double element_bytes = 4;
  std::string array;  // its name where the memory is local
  double banks = 1;
  int line = 0;
};

struct CallModel {
  std::string callee;
  int block = 0;  // counter
  int loop = -1;
  bool process = false;  // of a dataflow region
};

struct FunctionModel {
  std::string name;
  int entry = 0;  // counter
  double depth = 1;
  bool streams = false;  // reads or writes streams
  std::vector<LoopModel> loops;
  std::vector<int> sites;  // indices into KernelModel::sites
  std::vector<CallModel> calls;
};

struct KernelModel {
  std::string kernel;  // the function's name in the IR
  double clock_mhz = 300;
  std::vector<FunctionModel> functions;
  std::vector<SiteModel> sites;
  std::vector<std::string> unknown;  // functions without a known latency
  int num_counters = 0;
};

std::string write_model(const KernelModel& model);
KernelModel read_model(const std::string& text);

}  // namespace tandem::timing
