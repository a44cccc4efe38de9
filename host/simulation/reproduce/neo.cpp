// SPDX-License-Identifier: Apache-2.0
//
// A GPU whose host memory attends for part of the requests, against the GPU alone. Pages, lengths,
// limits and how rates are measured are those of the publication's repository (NEO-MLSys25/NEO,
// evaluation/).
#include <algorithm>
#include <cmath>

#include "simulation/reproduce/reproduce.h"
#include "simulation/serving/simulate.h"

namespace tandem::simulation {
namespace {

constexpr int kRequests = 2000, kPageTokens = 16;
constexpr double kGigabytes = 1e9;
// The number of rows from which no further prompt joins a step, if it would have no KV in host
// memory.
constexpr int kEnoughRows = 128;

// One side: the GPU alone, or with its host.
struct Side {
  double kv_tokens = 0;  // on the GPU, beside the weights
  int step_rows = 0, max_running = 0;
  int whole_prompt_rows = 0;  // see ServingOptions
  std::string host = {};      // "+cpu:47@pcie4x16", or nothing
  double host_kv_bytes = 0;
};

ServingResult serve(const char* model, const std::string& gpu, const Side& side,
                    const LoadSpec& load) {
  ServingOptions options;
  options.model = planner::model_preset(model);
  options.memory_share = 1;
  options.early_query = false;
  options.row_value_bytes = 2;
  options.page_tokens = kPageTokens;
  options.max_running = side.max_running;
  options.max_step_tokens = side.step_rows;
  options.whole_prompt_rows = side.whole_prompt_rows;
  options.attention = side.host.empty() ? AttentionPolicy::kOwn : AttentionPolicy::kAuto;
  options.keeps_requests = true;
  MachineSpec machine = parse_machine(gpu + side.host);
  if (machine.compute.sheet.name == "t4") {
    constexpr double kOfT4 = 220.0 / 320;
    machine.compute.sheet.reached.weight_bandwidth = kOfT4;
    machine.compute.sheet.reached.kv_bandwidth = kOfT4;
  }
  const double kv = side.kv_tokens * planner::kv_bytes_per_token(options.model, DType::kF16);
  machine.compute.sheet.memory_bytes =
      (options.model.parameters() * 2 + kv) / machine.compute.count;
  for (UnitSpec& unit : machine.units) unit.sheet.memory_bytes = side.host_kv_bytes;
  return simulate_serving(machine, options, Load(load, 1));
}

// Only requests that end between 30 % and 70 % of all count, as in the publication.
double requests_per_s(const ServingResult& result) {
  const std::vector<EndedRequest>& ended = result.record.ended;
  const std::size_t first = ended.size() * 3 / 10, last = ended.size() * 7 / 10;
  return static_cast<double>(last - first) / (ended[last].end_s - ended[first].end_s);
}

// Mean over the later three quarters, as the publication counts.
double seconds_per_output_token(ServingResult result) {
  std::vector<EndedRequest>& ended = result.record.ended;
  std::ranges::sort(ended, {}, [](const EndedRequest& e) { return e.request.arrival_s; });
  double sum = 0;
  const std::size_t first = ended.size() / 4;
  for (std::size_t i = first; i < ended.size(); ++i) {
    sum += (ended[i].end_s - ended[i].request.arrival_s) / ended[i].request.output;
  }
  return sum / static_cast<double>(ended.size() - first);
}

// ---- T4, Llama-2-7B, summaries: the highest rate with a second per output token.

constexpr double kMeanPrompt = 372.5, kPromptDeviation = 103.7;
constexpr double kMeanOutput = 45.3, kOutputDeviation = 8.9;

LengthRange evenly_around(double mean, double deviation) {
  const double width = std::sqrt(3.0) * deviation;
  return {static_cast<int>(std::lround(mean - width)), static_cast<int>(std::lround(mean + width))};
}

double rate_of_summaries(const Side& side) {
  LoadSpec load;
  load.kind = LoadSpec::Kind::kPoisson;
  load.requests = kRequests;
  load.prompt = evenly_around(kMeanPrompt, kPromptDeviation);
  load.output = evenly_around(kMeanOutput, kOutputDeviation);
  double low = 0.05, high = 50;
  for (int i = 0; i < 14; ++i) {
    load.amount = std::sqrt(low * high);
    const bool is_met = seconds_per_output_token(serve("llama-2-7b", "t4", side, load)) <= 1;
    (is_met ? low : high) = load.amount;
  }
  return low;
}

void add_summaries(Reproduction& result) {
  const Side alone{54 * kPageTokens, 864, 512};
  const Side beside{52 * kPageTokens, 832, 512, kEnoughRows, "+cpu:46.9@pcie3x16", 20 * kGigabytes};
  const double gain = rate_of_summaries(beside) / rate_of_summaries(alone);
  const std::vector<std::string> assumptions = {
      "54 pages of 16 tokens on the GPU alone and 52 beside the host, 20 GB of host memory for KV, "
      "steps of 864 and 832 rows, 512 sequences at most (repository)",
      "2,000 requests that arrive at random; the highest rate at which a request takes at most a "
      "second per output token on the mean (repository)",
      "lengths are even, with the mean and the deviation of the repository's trace: 372.5 and "
      "103.7 tokens of prompts, 45.3 and 8.9 of outputs",
      "the T4 reads 220 of its 320 GB/s (measured in arXiv 1903.07486)",
      "g4dn.4xlarge has 8 of the 24 cores of a Xeon 8259CL: a third of six channels of DDR4-2933, "
      "46.9 GB/s, and 80 % of that",
      "alone is vLLM with prompts in chunks; beside the host prompts are not cut, and join a step "
      "until it has 128 rows of them (repository)",
      "shares of sequences and sub-batches by predicted time, in every step"};
  result.rows.push_back(
      {"rate over the GPU alone: T4, Llama-2-7B, summaries, at a second per token", 6.63, gain,
       assumptions});
  result.rows.push_back(
      {"rate over the GPU alone: T4, Llama-2-7B, best of the figure (its latency is missing: that "
       "of the row above)",
       7.5, gain, assumptions});
}

// ---- A10G and H100: 1,000 tokens of prompts, 50 to 400 of outputs, all at once; the largest gain.

struct HostSetup {
  const char* what;
  double published;
  const char* model;
  const char* gpu;
  double kv_tokens_alone, kv_tokens_beside;
  double host_kv_gb;
  const char* host;
  std::vector<std::string> assumptions;
};

constexpr double kA10gAlone = 1650 * kPageTokens, kA10gBeside = 1600 * kPageTokens;
constexpr const char* kPagesOfA10g =
    "1,650 pages of 16 tokens on the GPU alone, 1,600 beside the host (repository)";
constexpr const char* kHostOfG5 =
    "every eight cores of an EPYC 7R32 are a chiplet that reads 32 bytes at 1.467 GHz, 46.9 GB/s, "
    "of which four cores have half; 80 % of that. Missing: what a slice of the socket gets";
constexpr const char* kMemoryOfG5 =
    "KV in 120 of the 256 GB of a g5.16xlarge (repository), and in as large a part of the others";
constexpr const char* kHostOfH100 =
    "one node of host memory: eight channels of DDR5-4800, 307 GB/s, and 80 % of that; 400 GB for "
    "KV";

double kv_tokens_of_h100() {
  const planner::ModelShape model = planner::model_preset("llama-3.1-70b");
  const double memory = 2 * planner::device_preset("h100-sxm").memory_bytes;
  return (0.95 * memory - 2 * model.parameters()) / planner::kv_bytes_per_token(model, DType::kF16);
}

std::vector<HostSetup> host_setups() {
  const char* model = "llama-3.1-8b";
  const double of_h100 = kv_tokens_of_h100();
  const std::vector<std::string> g5 = {kPagesOfA10g, kHostOfG5, kMemoryOfG5};
  return {{"A10G, 4 cores (g5.2xlarge), Llama-3.1-8B", 1.122, model, "a10g", kA10gAlone,
           kA10gBeside, 15, "+cpu:23.5@pcie4x16", g5},
          {"A10G, 8 cores (g5.4xlarge), Llama-3.1-8B", 1.133, model, "a10g", kA10gAlone,
           kA10gBeside, 30, "+cpu:46.9@pcie4x16", g5},
          {"A10G, 16 cores (g5.8xlarge), Llama-3.1-8B", 1.297, model, "a10g", kA10gAlone,
           kA10gBeside, 60, "+cpu:93.9@pcie4x16", g5},
          {"A10G, 32 cores (g5.16xlarge), Llama-3.1-8B", 1.793, model, "a10g", kA10gAlone,
           kA10gBeside, 120, "+cpu:187.8@pcie4x16", g5},
          {"A10G, Llama-3.1-8B, best of another figure (its lengths and its instance are missing: "
           "those of 8 cores)",
           1.26, model, "a10g", kA10gAlone, kA10gBeside, 30, "+cpu:46.9@pcie4x16", g5},
          {"two H100, Llama-3.1-70B (its pages, host and lengths are missing)",
           1.14,
           "llama-3.1-70b",
           "2*h100-sxm/nvlink4",
           of_h100,
           of_h100,
           400,
           "+cpu:307.2@pcie5x16",
           {"KV in what 95 % of the memory of both GPUs leaves beside the weights", kHostOfH100,
            "lengths of the A10G"}}};
}

ReproducedRow best_gain(const HostSetup& setup) {
  constexpr int kStepRows = 20480, kMostRunning = 1024;
  const Side alone{setup.kv_tokens_alone, kStepRows, kMostRunning, kStepRows};
  const Side beside{setup.kv_tokens_beside,       kStepRows, kMostRunning, kEnoughRows, setup.host,
                    setup.host_kv_gb * kGigabytes};
  LoadSpec load;
  load.amount = kRequests;
  load.requests = kRequests;
  load.prompt = {900, 1100};
  double best = 0;
  for (const int output : {50, 100, 200, 300, 400}) {
    load.output = {output * 9 / 10, output * 11 / 10};
    best = std::max(best, requests_per_s(serve(setup.model, setup.gpu, beside, load)) /
                              requests_per_s(serve(setup.model, setup.gpu, alone, load)));
  }
  std::vector<std::string> assumptions = setup.assumptions;
  assumptions.insert(
      assumptions.end(),
      {"2,000 requests at once; the rate of those that end between 30 and 70 % of all; prompts of "
       "900 to 1,100 tokens, outputs of 50, 100, 200, 300 or 400, 10 % around; the largest gain "
       "(repository)",
       "85 % of the GPU's bandwidth for weights, 80 % for KV, all in 16 bits",
       "prompts are not cut (repository); alone, all that fit join a step; beside the host, they "
       "join until a step has 128 rows of them",
       "shares of sequences and sub-batches by predicted time, in every step"});
  return {std::string("throughput over the GPU alone: ") + setup.what, setup.published, best,
          std::move(assumptions)};
}

}  // namespace

Reproduction reproduce_neo() {
  Reproduction result{"neo", "NEO, arXiv 2411.01142", {}};
  add_summaries(result);
  for (const HostSetup& setup : host_setups()) result.rows.push_back(best_gain(setup));
  return result;
}

}  // namespace tandem::simulation
