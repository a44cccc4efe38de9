// SPDX-License-Identifier: Apache-2.0
//
// Over WholeFile.
#include "apps/tensor/tensor_output.h"

#include "apps/command_words.h"
#include "apps/whole_file.h"

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

void save_tensor(const sparse::CooTensor& tensor, const std::string& path,
                 const sparse::WriteOptions& options, ThreadPool& pool) {
  WholeFile file("tensor", regular_target("tensor", path));
  sparse::write_tensor(tensor, file.open_path(), options, pool);
  file.keep();
}

void save_text(const std::string& text, const std::string& path) {
  WholeFile file("tensor", regular_target("tensor", path));
  file.write(text);
  file.keep();
}

}  // namespace tandem::apps
