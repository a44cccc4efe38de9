// SPDX-License-Identifier: Apache-2.0
//
// The product scheme x codec x count on an existing transport, with exact sums of u64.
//
// Every rank of the transport calls run_product() with equal options. The input of a rank follows
// from (seed, rank, count) alone, so every rank knows the expected union without communicating.
// Some ranks hold nothing, some everything. Node sizes are uneven and only some ranks are servers,
// for the schemes that care. Cost: tens of thousands of messages; a second or so over threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/codec/codec.h"
#include "transport/transport.h"

namespace tandem::test {

struct ProductOptions {
  std::vector<std::string> schemes;        // empty: all
  std::vector<collectives::Codec> codecs;  // empty: all, and auto
  std::vector<std::uint64_t> counts = {0, 1, 63, 64, 1000, 10007};
  std::uint64_t seed = 1;
  std::uint32_t first_call = 1;               // the calls are numbered from here
  std::chrono::milliseconds timeout{30'000};  // of each call
};

// What went wrong on this rank: a line per case, empty when all sums are exact. A broken transport
// ends the run.
std::vector<std::string> run_product(transport::Transport& transport,
                                     const ProductOptions& options = {});

}  // namespace tandem::test
