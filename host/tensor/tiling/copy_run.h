// SPDX-License-Identifier: Apache-2.0
//
// FieldCopy: a copy plan in progress. The constructor starts it and finish() ends it.
//
// The constructor sends to the other ranks and copies between this rank's own boxes; finish()
// stores what the others sent. In between the caller may read everything except the target's copied
// points, and must not write the source's. `pool` copies the rank's own pieces. There is one
// message per peer. Ownership: borrows all arguments. Threads: one caller; `pool` runs the pieces.
// Errors: those of the courier; Error for a message of the wrong size.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/thread_pool.h"
#include "tensor/tiling/copy_plan.h"
#include "tensor/tiling/courier.h"
#include "tensor/tiling/field.h"

namespace tandem::tiling {

template <typename Value, std::size_t kDims>
class FieldCopy {
 public:
  // courier: null if there is only one rank.
  FieldCopy(const Field<Value, kDims>& source, Field<Value, kDims>& target,
            const CopyPlan<kDims>& plan, Courier* courier, ThreadPool& pool)
      : target_(target), plan_(plan) {
    if (!plan.sends.empty() || !plan.receives.empty()) start(source, *courier);
    pool.run(plan.local.size(), [&](std::size_t at) { copy(source, plan.local[at]); });
  }

  void finish() {
    if (!delivery_) return;
    for (std::size_t i = 0; i < plan_.receives.size(); ++i) {
      const Received received = delivery_->next();
      unpack(plan_.receives.at(received.rank), received.bytes);
    }
    delivery_->finish();
    delivery_.reset();
  }

 private:
  using Piece = CopyPiece<kDims>;

  static std::size_t local_of(const Field<Value, kDims>& field, std::size_t number) {
    std::size_t low = 0, high = field.num_boxes();  // numbers ascend
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (field.number(middle) <= number ? low : high) = middle;
    }
    return low;
  }
  static std::size_t row_bytes(const Piece& piece) {
    return static_cast<std::size_t>(piece.region.extent(kDims - 1)) * sizeof(Value);
  }
  static std::size_t bytes_of(const std::vector<Piece>& pieces) {
    std::size_t bytes = 0;
    for (const Piece& piece : pieces) {
      bytes += static_cast<std::size_t>(piece.region.size()) * sizeof(Value);
    }
    return bytes;
  }
  static Point<kDims> moved(Point<kDims> point, const Point<kDims>& by) {
    for (std::size_t d = 0; d < kDims; ++d) point[d] += by[d];
    return point;
  }

  void start(const Field<Value, kDims>& source, Courier& courier) {
    std::vector<Parcel> parcels;
    for (const auto& [peer, pieces] : plan_.sends) {
      Parcel& parcel = parcels.emplace_back(Parcel{peer, {}});
      parcel.bytes.resize(bytes_of(pieces));
      std::byte* to = parcel.bytes.data();
      for (const Piece& piece : pieces) {
        const auto from = source.view(local_of(source, piece.from));
        for_rows(piece.region, [&](const Point<kDims>& point) {
          std::memcpy(to, from.at(moved(point, piece.shift)), row_bytes(piece));
          to += row_bytes(piece);
        });
      }
    }
    std::vector<int> sources;
    for (const auto& each : plan_.receives) sources.push_back(each.first);
    delivery_ = courier.start(std::move(parcels), std::move(sources));
  }

  void copy(const Field<Value, kDims>& source, const Piece& piece) {
    const auto from = source.view(local_of(source, piece.from));
    const auto to = target_.view(local_of(target_, piece.to));
    for_rows(piece.region, [&](const Point<kDims>& point) {
      std::copy_n(from.at(moved(point, piece.shift)), piece.region.extent(kDims - 1), to.at(point));
    });
  }

  void unpack(const std::vector<Piece>& pieces, std::span<const std::byte> bytes) {
    if (bytes.size() != bytes_of(pieces)) {
      throw Error("tiling", "a rank sent cells of another layout; start all ranks alike");
    }
    const std::byte* from = bytes.data();
    for (const Piece& piece : pieces) {
      const auto to = target_.view(local_of(target_, piece.to));
      for_rows(piece.region, [&](const Point<kDims>& point) {
        std::memcpy(to.at(point), from, row_bytes(piece));
        from += row_bytes(piece);
      });
    }
  }

  Field<Value, kDims>& target_;
  const CopyPlan<kDims>& plan_;
  std::unique_ptr<Delivery> delivery_;
};

}  // namespace tandem::tiling
