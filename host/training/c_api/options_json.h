// SPDX-License-Identifier: Apache-2.0
//
// Parses the JSON options of the C ABI; README.md of host/training lists them.
//
// Errors: Error that names the field, for text that is not JSON, an unknown field (with the most
// similar known one), and a value of the wrong type or out of range. Threads: any.
#pragma once

#include <string>

#include "training/reducer/options.h"

namespace tandem::training {

struct GroupOptions {
  std::string transport = "gloo";  // or mpi
  int rank = 0;                    // only gloo; MPI provides its own
  int world = 1;
  std::string prefix = "tandem";
  std::string store_directory;
  std::string interface;
  std::string address;
  double timeout_s = 30;
};

GroupOptions group_options(const std::string& json);

struct NamedReducerOptions {
  ReducerOptions options;
  std::string timeline;  // path of a file; empty: none
};

NamedReducerOptions reducer_options(const std::string& json);

}  // namespace tandem::training
