// SPDX-License-Identifier: Apache-2.0
//
// Over WholeFile.
#include "apps/tensor/tensor_output.h"

#include <spdlog/fmt/fmt.h>

#include "apps/command_words.h"
#include "apps/whole_file.h"
#include "common/available_memory.h"
#include "common/error.h"
#include "tensor/sparse/kernels/mttkrp.h"

namespace tandem::apps {

void add_tensor_file(CLI::App& command, std::string& path) {
  command
      .add_option("file", path,
                  ".tns text with or without a header, or Matrix Market; plain or gzip")
      ->required()
      ->check(CLI::ExistingFile);
}

void add_tensor_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "CPU threads (0: all cores)")->check(in_range(0, 1024));
}

std::string sizes_words(const std::vector<std::uint64_t>& sizes) {
  std::string text;
  for (const std::uint64_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

void add_header(sparse::WriteOptions& options) {
  if (options.format != sparse::TextFormat::kTns) {
    throw Error("tensor", "--header is for .tns files; a Matrix Market file has its own");
  }
  options.format = sparse::TextFormat::kTnsWithHeader;
}

double dense_bytes(const sparse::CooTensor& tensor, std::size_t columns, double value_bytes) {
  const std::size_t padded =
      (columns + sparse::kFactorStep - 1) / sparse::kFactorStep * sparse::kFactorStep;
  double rows = 0;
  for (const std::uint64_t size : tensor.sizes) rows += static_cast<double>(size);
  return rows * static_cast<double>(padded) * value_bytes;
}

void check_dense_memory(double bytes, const std::string& what, const std::string& advice) {
  const auto left = static_cast<double>(available_memory().left_bytes);
  if (bytes <= left) return;
  throw Error("tensor", fmt::format("{} take up to {:.1f} GB here, and {:.1f} GB are left; give {}",
                                    what, bytes / 1e9, left / 1e9, advice));
}

void check_factor_memory(const sparse::CooTensor& tensor, std::size_t columns, double value_bytes) {
  constexpr double kCopies = 3;  // the factors, and the threads' partial sums
  check_dense_memory(kCopies * dense_bytes(tensor, columns, value_bytes),
                     fmt::format("factors of {} columns", columns),
                     "fewer columns, or a tensor of shorter modes");
}

void save_tensor(const sparse::CooTensor& tensor, const std::string& path,
                 const sparse::WriteOptions& options, ThreadPool& pool) {
  WholeFile file("tensor", regular_target("tensor", path));
  sparse::WriteOptions writing = options;
  writing.name = path;
  sparse::write_tensor(tensor, file.open_path(), writing, pool);
  file.keep();
}

void save_text(const std::string& text, const std::string& path) {
  WholeFile file("tensor", regular_target("tensor", path));
  file.write(text);
  file.keep();
}

}  // namespace tandem::apps
