// SPDX-License-Identifier: Apache-2.0
//
// Linear: LinearOp as products on a team of threads (cpu/products.h). Threads: one caller.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/products.h"

namespace tandem::device::cpu {

class Linear {
 public:
  explicit Linear(Team& team) : products_(team) {}

  // Returns the bytes of weights read. Throws Error on shapes that do not fit.
  std::uint64_t run(const LinearOp& op);

  // For callers with separate products, such as experts.
  Products& products() { return products_; }

 private:
  Products products_;
  std::vector<Product> targets_;
};

}  // namespace tandem::device::cpu
