// SPDX-License-Identifier: Apache-2.0
//
// OpDispatch: the one visitor of a compute unit. It calls the unit's handle(const XOp&) for an
// operation, and says which operations have a handler.
//
// A unit makes OpDispatch<Unit> its friend, keeps its handlers private, and forwards supports() and
// enqueue() to it. Threads: those of the unit. Cost: one indirect call per operation.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <variant>

#include "device/compute_ops.h"
#include "device/op_summary.h"

namespace tandem::device {

template <typename Unit>
class OpDispatch {
 public:
  template <typename Operation>
  static constexpr bool has() {
    return requires(Unit & unit, const Operation& op) { unit.handle(op); };
  }

  static bool supports(OpKind kind) {
    static constexpr auto kHas = []<std::size_t... index>(std::index_sequence<index...>) {
      return std::array{has<std::variant_alternative_t<index, Op>>()...};
    }
    (std::make_index_sequence<kNumOpKinds>());
    return kHas[static_cast<std::size_t>(kind)];
  }

  // Throws Error for an operation without a handler.
  static void enqueue(Unit& unit, const Op& op) {
    std::visit(
        [&]<typename Operation>(const Operation& operation) {
          if constexpr (has<Operation>()) {
            unit.handle(operation);
          } else {
            refuse(op);
          }
        },
        op);
  }
};

}  // namespace tandem::device
