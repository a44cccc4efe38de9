// SPDX-License-Identifier: Apache-2.0
//
// Every part has its place in the columns before it is copied.
#include "tensor/sparse/files/tensor_builder.h"

#include <algorithm>

namespace tandem::sparse {

TensorBuilder::TensorBuilder(const LineBlocks& file, EntryForm form, ThreadPool& pool)
    : file_(file), form_(std::move(form)), pool_(pool), greatest_(form_.order, 0) {
  tensor_.sizes = form_.sizes;
  tensor_.indices.resize(form_.order);
}

void TensorBuilder::add(std::string_view lines, std::uint64_t first_line) {
  const std::vector<EntryPart> parts = parse_entries(lines, form_, pool_);
  if (!parts.empty() && parts.back().fault) {
    const EntryFault& fault = *parts.back().fault;
    const auto before = std::count(lines.data(), fault.line, '\n');
    file_.fail(first_line + static_cast<std::uint64_t>(before), fault.text);
  }
  std::vector<std::size_t> begins{tensor_.num_entries()};
  for (const EntryPart& part : parts) {
    begins.push_back(begins.back() + part.values.size());
    for (std::size_t mode = 0; mode < form_.order; ++mode) {
      greatest_[mode] = std::max(greatest_[mode], part.greatest[mode]);
    }
  }
  for (std::size_t mode = 0; mode < form_.order; ++mode) {
    tensor_.indices[mode].resize(begins.back(), greatest_[mode]);
  }
  tensor_.values.resize(begins.back());
  pool_.run(parts.size(), [&](std::size_t part) { append(parts[part], begins[part]); });
}

void TensorBuilder::append(const EntryPart& part, std::size_t begin) {
  for (std::size_t mode = 0; mode < form_.order; ++mode) {
    IndexColumn& column = tensor_.indices[mode];
    for (std::size_t i = 0; i < part.values.size(); ++i) {
      column.set(begin + i, part.indices[i * form_.order + mode]);
    }
  }
  std::copy(part.values.begin(), part.values.end(),
            tensor_.values.begin() + static_cast<std::ptrdiff_t>(begin));
}

CooTensor TensorBuilder::take() {
  CooTensor taken = std::move(tensor_);
  tensor_ = {};
  tensor_.sizes = form_.sizes;
  tensor_.indices.resize(form_.order);
  num_taken_ += taken.num_entries();
  if (taken.sizes.empty()) {
    for (const std::uint64_t greatest : greatest_) taken.sizes.push_back(greatest + 1);
  }
  return taken;
}

}  // namespace tandem::sparse
