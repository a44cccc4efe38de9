// SPDX-License-Identifier: Apache-2.0
//
// Specialised by the number of the other modes, and for rows of one step.
#include "tensor/sparse/kernels/mttkrp_block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/sparse/kernels/mttkrp_block.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "tensor/sparse/kernels/mttkrp.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::sparse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// kOthers: how many modes are multiplied; 0: as many as the block has. kStride: likewise.
template <typename Value, std::size_t kOthers, std::size_t kStride>
HWY_INLINE void add_entries(const MttkrpBlock<Value>& block) {
  const hn::CappedTag<Value, kFactorStep> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const std::size_t others = kOthers == 0 ? block.order - 1 : kOthers;
  const std::size_t stride = kStride == 0 ? block.stride : kStride;
  std::size_t modes[kMaxOrder];
  for (std::size_t i = 0; i < others; ++i) modes[i] = i < block.mode ? i : i + 1;
  const std::uint16_t* distances = block.distances;
  for (std::size_t entry = 0; entry < block.num_entries; ++entry, distances += block.order) {
    const Value* rows[kOthers == 0 ? kMaxOrder : kOthers];
    for (std::size_t i = 0; i < others; ++i) {
      rows[i] = block.rows[modes[i]] + distances[modes[i]] * stride;
    }
    Value* const out = block.out + distances[block.mode] * stride;
    const auto value = hn::Set(tag, block.values[entry]);
    for (std::size_t column = 0; column < stride; column += lanes) {
      auto product = value;
      for (std::size_t i = 0; i + 1 < others; ++i) {
        product = hn::Mul(product, hn::LoadU(tag, rows[i] + column));
      }
      const auto before = hn::LoadU(tag, out + column);
      hn::StoreU(others == 0
                     ? hn::Add(before, product)
                     : hn::MulAdd(product, hn::LoadU(tag, rows[others - 1] + column), before),
                 tag, out + column);
    }
  }
}

// Entries whose products are made before the first is added: a sum waits for the one before it only
// where both have the same row.
constexpr std::size_t kGroup = 4;

// As add_entries(), for rows of one vector.
template <typename Value, std::size_t kOthers>
HWY_INLINE void add_groups(const MttkrpBlock<Value>& block) {
  const hn::CappedTag<Value, kFactorStep> tag;
  constexpr std::size_t kOrder = kOthers + 1;
  const Value* rows[kOthers];
  std::size_t modes[kOthers];
  for (std::size_t i = 0; i < kOthers; ++i) {
    modes[i] = i < block.mode ? i : i + 1;
    rows[i] = block.rows[modes[i]];
  }
  const std::uint16_t* at = block.distances;
  const Value* value = block.values;
  Value* const out = block.out;
  const std::size_t mode = block.mode, groups = block.num_entries / kGroup;
  for (std::size_t group = 0; group < groups; ++group) {
    hn::Vec<decltype(tag)> products[kGroup];
#pragma GCC unroll 4
    for (std::size_t e = 0; e < kGroup; ++e) {
      products[e] = hn::Set(tag, value[e]);
      for (std::size_t i = 0; i < kOthers; ++i) {
        const std::size_t row = at[e * kOrder + modes[i]];
        products[e] = hn::Mul(products[e], hn::LoadU(tag, rows[i] + row * kFactorStep));
      }
    }
#pragma GCC unroll 4
    for (std::size_t e = 0; e < kGroup; ++e) {
      Value* const to = out + at[e * kOrder + mode] * kFactorStep;
      hn::StoreU(hn::Add(hn::LoadU(tag, to), products[e]), tag, to);
    }
    at += kGroup * kOrder;
    value += kGroup;
  }
  MttkrpBlock<Value> rest = block;
  rest.distances = at;
  rest.values = value;
  rest.num_entries -= groups * kGroup;
  add_entries<Value, kOthers, kFactorStep>(rest);
}

template <typename Value, std::size_t kStride>
void add_by_order(const MttkrpBlock<Value>& block) {
  switch (block.order) {
    case 2:
      return add_entries<Value, 1, kStride>(block);
    case 3:
      return add_entries<Value, 2, kStride>(block);
    case 4:
      return add_entries<Value, 3, kStride>(block);
    default:
      return add_entries<Value, 0, kStride>(block);
  }
}

template <typename Value>
void add_any(const MttkrpBlock<Value>& block) {
  if (block.stride != kFactorStep) return add_by_order<Value, 0>(block);
  const bool is_vector = hn::Lanes(hn::CappedTag<Value, kFactorStep>()) == kFactorStep;
  if (is_vector && block.order == 3) return add_groups<Value, 2>(block);
  if (is_vector && block.order == 4) return add_groups<Value, 3>(block);
  add_by_order<Value, kFactorStep>(block);
}

void add_f32(const MttkrpBlock<float>& block) { add_any(block); }
void add_f64(const MttkrpBlock<double>& block) { add_any(block); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::sparse {

HWY_EXPORT(add_f32);
HWY_EXPORT(add_f64);

void add_block(const MttkrpBlock<float>& block) { HWY_DYNAMIC_DISPATCH(add_f32)(block); }
void add_block(const MttkrpBlock<double>& block) { HWY_DYNAMIC_DISPATCH(add_f64)(block); }

}  // namespace tandem::sparse
#endif
