// SPDX-License-Identifier: Apache-2.0
//
// Shared by the subcommands of `tandem tensor`: the thread option, timing, and writing of complete
// files.
//
// Threads: one caller.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/files/write_tensor.h"

namespace tandem::apps {

void add_tensor_file(CLI::App& command, std::string& path);
void add_tensor_threads(CLI::App& command, int& threads);

// Measures milliseconds since its construction.
class Stopwatch {
 public:
  double ms() const {
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - start_;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// "4 x 5 x 6"
std::string sizes_words(const std::vector<std::uint64_t>& sizes);

// Adds the header that --header requests. Errors: Error if the format has its own header.
void add_header(sparse::WriteOptions& options);

// A row of padded columns for each index of each mode.
double dense_bytes(const sparse::CooTensor& tensor, std::size_t columns, double value_bytes);

// Throws Error("tensor", "WHAT take up to .. GB here, ..; give ADVICE") unless they fit into
// memory.
void check_dense_memory(double bytes, const std::string& what, const std::string& advice);
// For the factors of all modes, and what the threads need beside them for partial sums.
void check_factor_memory(const sparse::CooTensor& tensor, std::size_t columns, double value_bytes);

// Writes a tensor or a text. The file appears complete, or not at all.
void save_tensor(const sparse::CooTensor& tensor, const std::string& path,
                 const sparse::WriteOptions& options, ThreadPool& pool);
void save_text(const std::string& text, const std::string& path);

}  // namespace tandem::apps
