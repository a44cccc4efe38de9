// SPDX-License-Identifier: Apache-2.0
//
// Load: the arrival times and lengths of requests, from a line of text or a recorded trace.
//
//   batch:64,prompt=1024,output=1024,requests=256   64 in flight until 256 are done
//   poisson:8,prompt=100..2000,output=256           8 requests per second
//   burst:32,every=10                               32 at once every 10 seconds
// Lengths are numbers or ranges A..B, drawn uniformly. `requests` or `seconds` limits the run. A
// trace is CSV with a header; load.cpp lists the names of columns that published traces use. The
// same seed gives the same requests. Threads: one. Errors: Error("load" or "trace", ...).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::simulation {

constexpr int kMostTokens = 100'000'000;  // of a prompt, of an output

struct SimulatedRequest {
  double arrival_s = 0;
  int prompt = 0, output = 0;  // tokens, at least 1
};

struct LengthRange {
  int least = 0, most = 0;
};

struct LoadSpec {
  enum class Kind { kBatch, kPoisson, kBurst };
  Kind kind = Kind::kBatch;
  double amount = 1;  // requests in flight, per second, or at once
  double every_s = 10;
  LengthRange prompt{512, 512}, output{128, 128};
  std::int64_t requests = 0;  // 0: limited by seconds, or four rounds of a batch
  double seconds = 0;
  // Whether the text leaves this open, so that a default is used.
  bool assumes_prompt = true, assumes_output = true, assumes_requests = false;
  bool assumes_every = true;
};

LoadSpec parse_load(std::string_view text);
// Returns the defaults that the text leaves open, such as "prompt=512,requests=16"; empty: none.
std::string assumptions_of(const LoadSpec& spec);

// Reads arrival, prompt and output of every line. Times are seconds, or dates with a time of day;
// the first time becomes 0. Skips lines with an output of 0. Throws an error with the line number
// for a wrong number of fields, text that is not a number, a length that is negative or above
// kMostTokens, and a time that is negative or not sorted.
std::vector<SimulatedRequest> read_trace(std::istream& in);

// A sequence of requests in the order of their arrival.
class Load {
 public:
  Load(const LoadSpec& spec, std::uint64_t seed);
  explicit Load(std::vector<SimulatedRequest> trace);

  // The number of requests in flight; the caller then sets the time of each next(). 0: requests
  // have their own arrival times.
  int in_flight() const;
  std::optional<SimulatedRequest> next();
  std::int64_t num_requests() const { return num_requests_; }  // 0: not known

 private:
  double uniform();  // [0, 1)
  int draw(const LengthRange& range);

  LoadSpec spec_;
  std::mt19937_64 random_;
  std::vector<SimulatedRequest> trace_;
  bool is_trace_ = false;
  std::int64_t num_requests_ = 0, num_given_ = 0;
  double time_s_ = 0;
};

}  // namespace tandem::simulation
