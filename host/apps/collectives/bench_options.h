// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem allreduce-bench`: the tensor, the schemes, the ranks and the samples.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::apps {

struct BenchOptions {
  // The gradient of a rank.
  std::string pattern = "synthetic";  // synthetic, zipf or top-k
  std::uint64_t elements = 1'000'000;
  double density = 0.01;
  double skew = 1;        // entries in the busiest of n even ranges, divided by the mean
  double overlap = -1;    // overlap of the supports of two ranks; -1: independent supports
  std::string corpus;     // zipf: a text file
  int tokens = 8192;      // zipf: a rank's batch
  int width = 64;         // zipf: values of an embedding row
  std::string gradients;  // top-k: a folder of gradient-<rank>.f32
  std::uint64_t seed = 1;

  // The call.
  std::vector<std::string> schemes;  // empty: auto, and all schemes that can run
  std::string codec = "auto";
  std::string type = "f32";
  std::string wire;  // wire type; empty: the same as `type`
  std::string reduction = "sum";
  std::string aggregator = "cpu";  // cpu, or a device's id: xrt:0, cuda:0
  int ranks_per_node = 0;

  // The ranks.
  std::string transport = "inproc";
  int world = 0;  // 0: four ranks; with mpirun, its number of ranks
  int rank = -1;  // gloo, nccl: -1 starts all ranks here
  // process id of the program that started this rank; the rank ends with it; 0: none
  int launcher = 0;
  std::string store;      // gloo: a folder that all ranks see, or redis://host:port
  std::string interface;  // gloo: the interface to listen on
  std::string address;    // gloo: the address to listen on, by name or number

  bool symmetric = false;  // nccl: by windows of symmetric memory
  int gpu = -1;            // nccl: this rank's device; -1: the device with the rank's number

  // The measurement.
  int samples = 30;
  int warmup = 3;
  double timeout_s = 60;
  bool verify = true;
  bool json = false;
  bool explain = false;
  std::string matrix;  // path without suffix: writes .csv and .svg
};

// The number of ranks, for transports whose launcher does not give it.
int world_of(const BenchOptions& options);

void add_bench_options(CLI::App& command, BenchOptions& options);

// Throws Error with the name of an option that has a wrong value, or no effect with this pattern or
// transport.
void check_bench_options(const CLI::App& command, const BenchOptions& options);

}  // namespace tandem::apps
