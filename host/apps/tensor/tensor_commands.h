// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor`, of the program `tandem-tensor`, and its subcommands. Each function adds one to
// the command line; its callback runs it.
//
// Errors: Error, from options and files.
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::apps {

void add_tensor(CLI::App& app);
// Subcommands of tensor.
void add_tensor_bench(CLI::App& tensor);
void add_tensor_convert(CLI::App& tensor);
void add_tensor_cpd(CLI::App& tensor);
void add_tensor_features(CLI::App& tensor);
void add_tensor_generate(CLI::App& tensor);
void add_tensor_spy(CLI::App& tensor);
void add_tensor_stats(CLI::App& tensor);

}  // namespace tandem::apps
