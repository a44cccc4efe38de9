// SPDX-License-Identifier: Apache-2.0
//
// A GPU whose host memory attends for part of the requests, against the GPU alone.
#include "simulation/reproduce/reproduce.h"
#include "simulation/serving/simulate.h"

namespace tandem::simulation {
namespace {

struct HostSetup {
  const char* what;
  double published;
  const char* gpu;
  const char* host;
  const char* model;
  const char* of_host;
};

constexpr HostSetup kHostSetups[] = {
    {"T4, Llama-2-7B", 7.5, "t4:16.1", "cpu:85@host", "llama-2-7b",
     "host memory of a g4dn instance with half of six channels of DDR4-2933 (85 GB/s)"},
    {"A10G, Llama-3.1-8B", 1.26, "a10g", "cpu:50@host", "llama-3.1-8b",
     "host memory of a g5.4xlarge: a sixth of the threads of its socket, 50 GB/s"},
    {"A10G with more CPU, Llama-3.1-8B", 1.793, "a10g", "cpu:190@host", "llama-3.1-8b",
     "host memory of a g5.16xlarge: all eight channels of DDR4-2933, 190 GB/s"},
    {"two H100, Llama-3.1-70B", 1.14, "2*h100-sxm/nvlink4", "cpu:300@host", "llama-3.1-70b",
     "host memory of eight channels of DDR5-4800, 300 GB/s"},
};

double host_tokens_per_s(const HostSetup& setup, bool with_host) {
  ServingOptions options;
  options.model = planner::model_preset(setup.model);
  options.memory_share = 0.95;
  options.early_query = false;
  options.attention = with_host ? AttentionPolicy::kAuto : AttentionPolicy::kOwn;
  LoadSpec load;
  load.amount = 128;
  load.requests = 384;
  load.prompt = {500, 1500};
  load.output = {100, 300};
  const std::string machine =
      with_host ? std::string(setup.gpu) + "+" + setup.host : std::string(setup.gpu);
  return simulate_serving(parse_machine(machine), options, Load(load, 1)).tokens_per_s();
}

}  // namespace

Reproduction reproduce_neo() {
  Reproduction result{"neo", "NEO, arXiv 2411.01142", {}};
  for (const HostSetup& setup : kHostSetups) {
    result.rows.push_back(
        {std::string("throughput over the GPU alone: ") + setup.what,
         setup.published,
         host_tokens_per_s(setup, true) / host_tokens_per_s(setup, false),
         {setup.of_host, "80 % of the bandwidth of host memory, 85 and 80 % of the GPU's",
          "weights and KV in 16 bits, 95 % of the GPU's memory for them",
          "128 requests in flight, prompts of 500 to 1,500 and outputs of 100 to 300 tokens: the "
          "publication takes traces and keeps the latency",
          "shares of sequences and sub-batches by predicted time, in every step"}});
  }
  return result;
}

}  // namespace tandem::simulation
