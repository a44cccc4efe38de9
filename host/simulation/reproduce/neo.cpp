// SPDX-License-Identifier: Apache-2.0
//
// A GPU whose host memory attends for part of the requests, against the GPU alone. Pages, lengths
// and limits are those that the publication's repository (NEO-MLSys25/NEO, evaluation/) states.
#include <algorithm>

#include "simulation/reproduce/reproduce.h"
#include "simulation/serving/simulate.h"

namespace tandem::simulation {
namespace {

struct HostSetup {
  const char* what;
  double published;
  const char* model;
  const char* gpu;
  const char* host;
  double gpu_kv_tokens;  // that fit beside the weights
  double host_kv_gb;
  int step_rows;  // at most
  LengthRange prompt;
  std::vector<int> outputs;  // means, 10 % around; the largest gain counts
  const char* of_gpu;
  const char* of_host;
};

constexpr int kRequests = 800, kMostRunning = 1024;
constexpr int kPromptRows = 1200;
constexpr double kOfT4 = 220.0 / 320;

constexpr const char* kPagesOfT4 =
    "54 pages of 16 tokens on the GPU and at most 832 rows in a step (repository); the T4 reads "
    "220 of its 320 GB/s (measured in arXiv 1903.07486)";
constexpr const char* kPagesOfA10g = "1,650 pages of 16 tokens on the GPU (repository)";
constexpr const char* kPagesOfH100 =
    "17 GB of the two H100 hold KV: what is left of 95 % of the memory beside the weights";
constexpr const char* kHostOfG4 =
    "g4dn.4xlarge: a third of the cores of a Xeon 8259CL with six channels of DDR4-2933, 85 GB/s";
constexpr const char* kHostOfG5 = "g5 instances: 50 GB/s for every eight cores of an EPYC 7R32";

const HostSetup kHostSetups[] = {
    {"T4, Llama-2-7B, summaries, at a second of latency",
     6.63,
     "llama-2-7b",
     "t4",
     "cpu:85@pcie3x16",
     864,
     20,
     832,
     {269, 476},
     {45},
     kPagesOfT4,
     kHostOfG4},
    {"T4, Llama-2-7B, best of the figure (its lengths are missing: those of the summaries)",
     7.5,
     "llama-2-7b",
     "t4",
     "cpu:85@pcie3x16",
     864,
     20,
     832,
     {269, 476},
     {45},
     kPagesOfT4,
     kHostOfG4},
    {"A10G (g5.4xlarge), Llama-3.1-8B, best of 50 to 400 output tokens",
     1.133,
     "llama-3.1-8b",
     "a10g",
     "cpu:50@pcie4x16",
     26400,
     30,
     kPromptRows,
     {900, 1100},
     {50, 100, 200, 300, 400},
     kPagesOfA10g,
     kHostOfG5},
    {"A10G, Llama-3.1-8B, best of the figure (its lengths are missing: those of the row above)",
     1.26,
     "llama-3.1-8b",
     "a10g",
     "cpu:50@pcie4x16",
     26400,
     30,
     kPromptRows,
     {900, 1100},
     {50, 100, 200, 300, 400},
     kPagesOfA10g,
     kHostOfG5},
    {"A10G with more CPU (g5.8xlarge), Llama-3.1-8B",
     1.297,
     "llama-3.1-8b",
     "a10g",
     "cpu:100@pcie4x16",
     26400,
     60,
     kPromptRows,
     {900, 1100},
     {50, 100, 200, 300, 400},
     kPagesOfA10g,
     kHostOfG5},
    {"A10G with more CPU (g5.16xlarge), Llama-3.1-8B",
     1.793,
     "llama-3.1-8b",
     "a10g",
     "cpu:190@pcie4x16",
     26400,
     120,
     kPromptRows,
     {900, 1100},
     {50, 100, 200, 300, 400},
     kPagesOfA10g,
     kHostOfG5},
    {"two H100, Llama-3.1-70B",
     1.14,
     "llama-3.1-70b",
     "2*h100-sxm/nvlink4",
     "cpu:300@pcie5x16",
     52000,
     400,
     kPromptRows,
     {900, 1100},
     {50, 100, 200, 300, 400},
     kPagesOfH100,
     "one node of host memory: eight channels of DDR5-4800, 300 GB/s; lengths of the A10G"},
};

// Memory for the weights and so many tokens.
void set_tokens(planner::ComputeGroup& group, const planner::ModelShape& model, double tokens) {
  const double kv = tokens * planner::kv_bytes_per_token(model, DType::kF16);
  group.sheet.memory_bytes = (model.parameters() * 2 + kv) / group.count;
}

double host_tokens_per_s(const HostSetup& setup, bool with_host, int output) {
  ServingOptions options;
  options.model = planner::model_preset(setup.model);
  options.memory_share = 1;
  options.early_query = false;
  options.max_running = kMostRunning;
  options.max_step_tokens = setup.step_rows;
  options.attention = with_host ? AttentionPolicy::kAuto : AttentionPolicy::kOwn;
  const std::string host = with_host ? std::string("+") + setup.host : std::string();
  MachineSpec machine = parse_machine(setup.gpu + host);
  if (machine.compute.sheet.name == "t4") {
    machine.compute.sheet.reached.weight_bandwidth = kOfT4;
    machine.compute.sheet.reached.kv_bandwidth = kOfT4;
  }
  set_tokens(machine.compute, options.model, setup.gpu_kv_tokens);
  for (UnitSpec& unit : machine.units) unit.sheet.memory_bytes = setup.host_kv_gb * 1e9;
  LoadSpec load;
  load.amount = kRequests;
  load.requests = kRequests;
  load.prompt = setup.prompt;
  load.output = {output * 9 / 10, output * 11 / 10};
  return simulate_serving(machine, options, Load(load, 1)).tokens_per_s();
}

}  // namespace

Reproduction reproduce_neo() {
  Reproduction result{"neo", "NEO, arXiv 2411.01142", {}};
  for (const HostSetup& setup : kHostSetups) {
    double best = 0;
    for (const int output : setup.outputs) {
      best = std::max(
          best, host_tokens_per_s(setup, true, output) / host_tokens_per_s(setup, false, output));
    }
    result.rows.push_back(
        {std::string("throughput over the GPU alone: ") + setup.what,
         setup.published,
         best,
         {setup.of_gpu, setup.of_host,
          "80 % of the bandwidth of host memory; of an A10G and an H100 85 % for weights, 80 % for "
          "KV",
          "weights and KV in 16 bits; 800 requests at once, lengths within 10 % of their means "
          "(repository), those of summaries within the trace's range",
          "prompts are not cut, and one at a time joins a step: the publication takes prompts out "
          "of a step while the CPU would wait",
          "shares of sequences and sub-batches by predicted time, in every step"}});
  }
  return result;
}

}  // namespace tandem::simulation
