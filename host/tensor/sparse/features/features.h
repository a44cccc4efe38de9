// SPDX-License-Identifier: Apache-2.0
//
// The features of a sparse tensor: how its entries are distributed over slices and fibres.
//
// A fibre has one free mode, a slice has two; all other modes are fixed. Three kinds of counts, for
// every order: entries of each slice (a row for each pair of modes), entries of each fibre (a row
// for each mode), and non-empty fibres of each slice (a row for each pair a < b: its fibres along
// b). Slices and fibres without entries count as 0. Names: Torun et al., "A Sparse Tensor Generator
// with Efficient Feature Extraction", arXiv 2405.04944; imbalance is max / average - 1 here. Cost:
// a count of each mode's fibres, in an array if it is small enough, otherwise by a sort. Threads:
// one caller. A result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

enum class CountKind : std::uint8_t { kEntriesPerSlice, kEntriesPerFiber, kFibersPerSlice };

const char* count_kind_name(CountKind kind);

// The summary of the counts of one kind. In a tensor without entries all fields but `all` are 0.
struct CountSummary {
  double all = 0;              // number of slices or fibres, including empty ones
  std::uint64_t nonempty = 0;  // number of those with an entry
  double density = 0;          // nonempty / all
  std::uint64_t max = 0, min = 0, deviation = 0;  // of those with an entry; deviation = max - min
  std::uint64_t sum = 0;
  double average = 0, imbalance = 0, standard_deviation = 0, cv = 0;  // empty ones count as 0
  double average_nonempty = 0, imbalance_nonempty = 0, standard_deviation_nonempty = 0,
         cv_nonempty = 0;  // over those with an entry
};

struct FeatureRow {
  CountKind kind = CountKind::kEntriesPerSlice;
  std::vector<std::size_t> modes;  // the free modes: the fibre's mode, or the slice's pair
  CountSummary counts;
};

struct TensorFeatures {
  std::vector<std::uint64_t> sizes;
  std::uint64_t num_entries = 0;
  double density = 0;             // entries / cells
  double slices = 0, fibers = 0;  // over all pairs, over all modes
  std::uint64_t nonempty_slices = 0, nonempty_fibers = 0;
  double slice_density = 0, fiber_density = 0;
  std::vector<FeatureRow> rows;  // by kind, then by modes
};

// Sorts the rows, and computes what follows from them, the sizes and the number of entries.
void complete_features(TensorFeatures& features);

// `tensor`: duplicates are summed, in lexicographic order (sum_duplicates()).
TensorFeatures features_of(const CooTensor& tensor, ThreadPool& pool);

}  // namespace tandem::sparse
