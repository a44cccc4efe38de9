// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor`: sparse tensors in files.
#include "apps/tensor/tensor_commands.h"

namespace tandem::apps {

void add_tensor(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "tensor", "Describe, convert and generate sparse tensors: `tandem tensor features --help`");
  command->require_subcommand(1);
  add_tensor_features(*command);
  add_tensor_generate(*command);
  add_tensor_convert(*command);
  add_tensor_stats(*command);
  add_tensor_spy(*command);
  add_tensor_bench(*command);
  add_tensor_cpd(*command);
}

}  // namespace tandem::apps
