// SPDX-License-Identifier: Apache-2.0
//
// The first chunk is kept until there is a second one.
#include "apps/tensor/large_tensor.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "apps/command_words.h"
#include "apps/tensor/tensor_output.h"
#include "common/available_memory.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::apps {
namespace {

// With less, runs are so short that reading them takes more memory than their entries.
constexpr std::uint64_t kLeastMemory = std::uint64_t{64} << 10;

}  // namespace

void add_tensor_memory(CLI::App& command, std::uint64_t& memory) {
  command
      .add_option("--memory", memory,
                  "memory for entries, such as 2GiB (0: half of what is free); larger tensors are "
                  "sorted in "
                  "temporary files in $TMPDIR")
      ->transform(size_value());
}

std::size_t tensor_memory(std::uint64_t option) {
  return std::max(option > 0 ? option : available_memory().left_bytes / 2, kLeastMemory);
}

sparse::SortMemory LargeTensor::part() const {
  const char* const folder = std::getenv("TMPDIR");
  const bool is_named = folder != nullptr && *folder != 0;
  return {memory_bytes / kParts, is_named ? folder : "/tmp"};
}

LargeTensor::LargeTensor(const std::string& path, std::size_t memory, ThreadPool& pool)
    : memory_bytes(memory) {
  bool has_chunk = false;
  sparse::read_chunks(path, part().bytes, pool, [&](sparse::CooTensor chunk) {
    sizes = chunk.sizes;
    num_read += chunk.num_entries();
    if (!has_chunk) {
      has_chunk = true;
      whole = std::move(chunk);
      return;
    }
    if (!sorted) {
      std::vector<std::size_t> modes(whole.order());
      std::iota(modes.begin(), modes.end(), std::size_t{0});
      sorted = std::make_unique<sparse::ExternalOrder>(modes, part(), pool);
      sorted->add(std::exchange(whole, {}));
    }
    sorted->add(chunk);
  });
  if (sorted) return;
  const Stopwatch watch;
  sparse::sum_duplicates(whole, pool);
  summing_ms = watch.ms();
}

void LargeTensor::visit(sparse::ExternalOrder::Visit take) {
  if (sorted) return sorted->visit(take);
  take(whole);
}

}  // namespace tandem::apps
