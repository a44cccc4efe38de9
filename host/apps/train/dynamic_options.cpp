// SPDX-License-Identifier: Apache-2.0
//
// Tokens that leave, and tokens that are chosen, would both decide what a block computes.
#include "apps/train/dynamic_options.h"

#include <spdlog/fmt/fmt.h>

#include <string>

#include "apps/command_words.h"
#include "common/error.h"

namespace tandem::apps {

namespace {

constexpr const char* kDynamicGroup = "Work that changes";

void add_attention_options(CLI::App& command, DynamicChoice& choice) {
  command
      .add_option("--sparse-attention", choice.sparse_attention,
                  "share of the attention that is computed: blocks of 64 keys count by an "
                  "estimate, the largest first (0: all of it)")
      ->check(in_range(0, 1))
      ->group(kDynamicGroup);
  command
      .add_option("--sparse-attention-last", choice.sparse_attention_last,
                  "with --sparse-attention: the share of the last block; blocks in between have "
                  "shares in between (0: all blocks have the same)")
      ->check(in_range(0, 1))
      ->group(kDynamicGroup);
}

}  // namespace

void add_dynamic_options(CLI::App& command, DynamicChoice& choice) {
  command
      .add_option("--expert-capacity", choice.expert_capacity,
                  "the most tokens that an expert takes, as a multiple of an equal share; further "
                  "tokens skip it (0: no limit)")
      ->check(not_negative())
      ->group(kDynamicGroup);
  command
      .add_option("--expert-skew", choice.expert_skew,
                  "expert i's logit is less by i times this in the last block, and by less in "
                  "earlier ones; it rises from 0 as --depth falls from 1; needs --pipeline")
      ->check(not_negative())
      ->group(kDynamicGroup);
  add_attention_options(command, choice);
  command
      .add_option("--early-exit", choice.early_exit,
                  "cosine of a block's output and input at which a token leaves for the output "
                  "(0: none leaves); needs --pipeline")
      ->check(in_range(0, 1))
      ->group(kDynamicGroup);
  command
      .add_option("--depth", choice.depth,
                  "share of a row's tokens that every second block computes; it falls from 1 "
                  "between a tenth and seven tenths of the run (1: all); needs --pipeline")
      ->check(in_range(0, 1))
      ->group(kDynamicGroup);
  command
      .add_option("--sparse-products", choice.sparse_products,
                  "with --prune: share of zeros from which products with a matrix are sparse (0: "
                  "never)")
      ->check(in_range(0, 1))
      ->group(kDynamicGroup);
}

void check_dynamic_options(const TrainOptions& options, std::optional<int> experts) {
  const DynamicChoice& choice = options.dynamics;
  const bool has_exits = choice.early_exit > 0, has_depth = choice.depth < 1;
  if (!experts && (has_exits || has_depth || choice.sparse_attention > 0)) {
    throw Error("train",
                "--sparse-attention, --early-exit and --depth are for decoders, and this model is "
                "none");
  }
  if (choice.depth == 0) {
    throw Error("train", "--depth 0 leaves no token to a block; take a share above 0");
  }
  const bool is_skewed = choice.expert_skew > 0;
  if ((choice.expert_capacity > 0 || is_skewed) && experts.value_or(0) == 0) {
    throw Error("train",
                "--expert-capacity and --expert-skew are for a model with experts; --model-config "
                "names one by "
                "its fields experts and experts_used");
  }
  if (choice.sparse_attention_last > 0 && choice.sparse_attention == 0) {
    throw Error("train",
                "--sparse-attention-last needs --sparse-attention, the share of the first block");
  }
  if (has_exits && (has_depth || choice.sparse_attention > 0)) {
    throw Error("train", "--early-exit cannot be combined with " +
                             std::string(has_depth ? "--depth" : "--sparse-attention") +
                             ": choose one of them");
  }
  if ((has_exits || has_depth || is_skewed) && options.pipeline.ranks == 0) {
    const char* option = has_exits ? "--early-exit" : has_depth ? "--depth" : "--expert-skew";
    throw Error("train", std::string(option) +
                             " needs --pipeline, the number of ranks (1: this rank alone)");
  }
}

training::OptionValues described_dynamics(const DynamicChoice& choice) {
  const auto number = [](double value) { return fmt::format("{}", value); };
  return {{"--expert-capacity", number(choice.expert_capacity)},
          {"--expert-skew", number(choice.expert_skew)},
          {"--sparse-attention", number(choice.sparse_attention)},
          {"--sparse-attention-last", number(choice.sparse_attention_last)},
          {"--early-exit", number(choice.early_exit)},
          {"--depth", number(choice.depth)},
          {"--sparse-products", number(choice.sparse_products)}};
}

training::DynamicBlocks dynamic_blocks(const TrainOptions& options) {
  const DynamicChoice& choice = options.dynamics;
  training::DynamicBlocks blocks;
  blocks.expert_capacity = static_cast<float>(choice.expert_capacity);
  blocks.attention_mass = static_cast<float>(choice.sparse_attention);
  blocks.attention_mass_last = static_cast<float>(choice.sparse_attention_last);
  blocks.exit_likeness = static_cast<float>(choice.early_exit);
  if (options.pruning.is_on()) blocks.sparse_from = static_cast<float>(choice.sparse_products);
  return blocks;
}

}  // namespace tandem::apps
