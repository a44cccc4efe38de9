// SPDX-License-Identifier: Apache-2.0
//
// KernelModel: the description of a kernel that decides its time: loops, pragmas, depths,
// dependences and accesses.
//
// v++ makes it and stores it as JSON in the kernel's library, as the text
// tandem_time_model_<kernel>. The card counts events while the kernel runs (run_counts.h).
// estimate.h computes the time from both. Cycles are those of the kernel's clock. Errors:
// Error("time", ...) for a damaged text. Pure.
#pragma once

#include <string>
#include <vector>

namespace tandem::timing {

// Of one iteration; accesses of the loop itself, not of the loops in it. Of branches that exclude
// each other, those of one.
struct ArrayUse {
  std::string array;
  double reads = 0;
  double writes = 0;
  double invariant = 0;  // reads that the pipelined loop around needs once per entry
  double banks = 1;      // 0: registers, any number of accesses
};

// A value that a later iteration needs: it is ready after `cycles`, and needed `distance`
// iterations later. Through an inner loop: `cycles` of each copy of it, or, of 0, of its own.
struct Recurrence {
  double cycles = 0;
  double distance = 1;
  int inner = -1;       // the path passes through this inner loop, by index; -1: none
  bool certain = true;  // false: the addresses may be equal
  std::string what;     // "fadd"
  int line = 0;
  double device_reads = 0;  // on the path, each of a port's latency
};

struct LoopModel {
  std::string file;
  int line = 0;
  int header = 0;            // counters: executions of the header, ...
  std::vector<int> latches;  // ... of the branches back to it, ...
  int entries = 0;           // ... and entries of the loop
  bool tests_first = false;  // the loop ends in its header, so the header runs once more per entry
  int parent = -1;
  std::string pipeline;    // "pragma", "auto", "off" or "" (a loop around others)
  double wanted_ii = 0;    // of the pragma; 0: none
  int unroll = 1;          // 0: completely
  double fixed_trips = 0;  // per entry, known when it is compiled; 0: not known
  double depth = 1;        // cycles of one iteration
  double chain = 0;        // of them, those that a copy waits for the copy before
  bool balanced = false;   // the chain is one operation that may be done in any order
  bool perfect = false;    // nothing but the inner loop is in it, or code that joins the inner one
  std::vector<Recurrence> recurrences;
  std::vector<ArrayUse> arrays;
};

// A load or store that may go to device memory, or a copy of bytes.
struct SiteModel {
  int block = 0;  // counter
  int loop = -1;  // of the function, by index
  bool writes = false;
  int copy = -1;  // the other site of a memcpy; -1: not a copy
  double element_bytes = 4;
  std::string array;  // name of the array if the memory is local
  double banks = 1;
  int line = 0;
};

struct CallModel {
  std::string callee;
  int block = 0;  // counter
  int loop = -1;
  bool process = false;  // it is a process of a dataflow region
};

// A step of a function, or of an iteration of a loop that is not pipelined: a loop, a call or a
// copy. It begins when the steps before it have ended that it depends on.
struct PhaseModel {
  int home = -1;                        // the loop around it, by index; -1: none
  int loop = -1, call = -1, site = -1;  // one of them, by index; a copy: the site that writes
  std::vector<int> after;               // earlier phases, by index
};

struct FunctionModel {
  std::string name;
  int entry = 0;  // counter
  double depth = 1;
  bool streams = false;  // reads or writes streams
  std::vector<LoopModel> loops;
  std::vector<int> sites;  // indices into KernelModel::sites
  std::vector<CallModel> calls;
  std::vector<PhaseModel> phases;
};

// A read or write of a stream. The card is told before each, and replays them (stream_replay.h).
struct StreamPoint {
  int function = 0;  // by index
  int loop = -1;     // of the function, by index
  bool writes = false;
  double offset = 0;  // cycles from the start of an iteration
  int block = 0;      // counter
  std::string stream;
  bool varies = false;  // each iteration of `loop` has a stream of its own
};

// Arithmetic of a block on floating-point values; where a kernel has none, on integers.
struct OperationCount {
  int block = 0;  // counter
  double operations = 0;
};

struct KernelModel {
  std::string kernel;  // the function's name in the IR
  double clock_mhz = 300;
  std::vector<FunctionModel> functions;
  std::vector<SiteModel> sites;
  std::vector<StreamPoint> points;
  std::vector<OperationCount> operations;
  std::vector<std::string> unknown;  // functions without a known latency
  int num_counters = 0;
};

std::string write_model(const KernelModel& model);
KernelModel read_model(const std::string& text);

}  // namespace tandem::timing
