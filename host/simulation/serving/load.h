// SPDX-License-Identifier: Apache-2.0
//
// Load: which requests arrive when, from a line of text or a recorded trace.
//
//   batch:64,prompt=1024,output=1024,requests=256   64 in flight until 256 are done
//   poisson:8,prompt=100..2000,output=256           8 requests per second
//   burst:32,every=10                               32 at once every 10 seconds
// Lengths are numbers or ranges A..B, drawn evenly. `requests` bounds the run, or `seconds`. A
// trace is CSV with a header; columns are known by the names of published traces (load.cpp).
// The same seed gives the same requests. Threads: one. Errors: Error("load" or "trace", ...).
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
  double amount = 1;  // in flight; per second; at once
  double every_s = 10;
  LengthRange prompt{512, 512}, output{128, 128};
  std::int64_t requests = 0;  // 0: by seconds, or four rounds of a batch
  double seconds = 0;
};

LoadSpec parse_load(std::string_view text);

// Reads arrival, prompt and output of every line. Times are seconds, or dates with a time of day;
// the first is 0. Lines with an output of 0 are left out. Refused with the line: other numbers of
// fields, no numbers, lengths that are negative or above kMostTokens, times that are negative or
// not sorted.
std::vector<SimulatedRequest> read_trace(std::istream& in);

// Requests in the order of their arrival.
class Load {
 public:
  Load(const LoadSpec& spec, std::uint64_t seed);
  explicit Load(std::vector<SimulatedRequest> trace);

  // In flight at a time; then next() gives requests whose time the caller sets. 0: they arrive by
  // themselves.
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
