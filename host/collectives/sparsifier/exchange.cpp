// SPDX-License-Identifier: Apache-2.0
//
// Lists of indices of disjoint, ordered parts are joined; lists that overlap are merged.
#include "collectives/sparsifier/exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "collectives/sparsifier/narrow_exchange.h"

namespace tandem::collectives {
namespace {

// A message is the indices, then the note.
std::vector<Indices> gather_indices(StepContext& context, const Indices& own,
                                    const CallOptions& options) {
  Indices message(own.size() + 1);
  std::ranges::copy(own, message.begin());
  message.back() = context.note;
  const auto received = allgatherv(context.group, std::as_bytes(std::span(message)), options);
  std::vector<Indices> lists;
  for (const auto& bytes : received) {
    TANDEM_CHECK_OP(bytes.size(), >=, sizeof(std::uint32_t));
    Indices& list = lists.emplace_back(bytes.size() / sizeof(std::uint32_t));
    std::memcpy(list.data(), bytes.data(), list.size() * sizeof(std::uint32_t));
    context.notes.push_back(list.back());
    list.pop_back();
  }
  return lists;
}

Indices union_of_lists(std::vector<const Indices*> lists) {
  std::erase_if(lists, [](const Indices* list) { return list->empty(); });
  std::sort(lists.begin(), lists.end(),
            [](const Indices* a, const Indices* b) { return a->front() < b->front(); });
  Indices all;
  bool disjoint = true;
  for (const Indices* list : lists) {
    disjoint = disjoint && (all.empty() || all.back() < list->front());
    all.insert(all.end(), list->begin(), list->end());
  }
  if (disjoint) return all;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void reduce_values_at(StepContext& context, ResidualStore& store, const Indices& indices,
                      const ReduceOptions& options) {
  std::vector<float> values = store.at(indices);
  if (is_narrow(options)) {
    context.remainder = narrow_mean(context.group, values, options);
  } else if (!values.empty()) {
    allreduce(context.group, DenseView::of(values), dense_options(options));
  }
  context.result.mean = make_sparse(store.size(), indices, values);
  context.result.sent = static_cast<double>(indices.size());
}

SparseTensor own_mean(Group& group, std::uint64_t num_values, const Indices& own,
                      std::span<const float> values, const ReduceOptions& options) {
  SparseView view;
  view.num_units = num_values;
  view.num_entries = own.size();
  view.indices = own.data();
  view.values = values.data();
  view.sorted_unique = true;
  ReduceOptions mean = options;
  mean.reduction = Reduction::kMean;
  return sparse_allreduce(group, view, mean);
}

double over(double part, double whole) { return whole > 0 ? part / whole : 1; }

}  // namespace

ReduceOptions dense_options(const ReduceOptions& options) {
  ReduceOptions dense = options;
  if (dense.scheme != "dense_ring") dense.scheme = "auto";  // by size only
  dense.reduction = Reduction::kMean;
  dense.wire.reset();
  return dense;
}

SparseTensor make_sparse(std::uint64_t num_values, const Indices& indices,
                         std::span<const float> values) {
  SparseTensor tensor;
  tensor.num_units = num_values;
  tensor.num_entries = indices.size();
  tensor.indices.resize(indices.size() * sizeof(std::uint32_t));
  tensor.values.resize(indices.size() * sizeof(float));
  if (indices.empty()) return tensor;
  std::memcpy(tensor.indices.data(), indices.data(), tensor.indices.size());
  std::memcpy(tensor.values.data(), values.data(), tensor.values.size());
  return tensor;
}

std::uint64_t sum_of(const std::vector<std::uint32_t>& notes) {
  return std::accumulate(notes.begin(), notes.end(), std::uint64_t{0});
}

void count_selected(StepContext& context, const std::vector<std::uint64_t>& counts) {
  StepResult& result = context.result;
  context.counts = counts;
  result.selected = counts[static_cast<std::size_t>(context.group.rank())];
  result.selected_total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  result.selected_most = *std::max_element(counts.begin(), counts.end());
  const auto n = static_cast<double>(counts.size());
  const auto total = static_cast<double>(result.selected_total);
  const double most = static_cast<double>(result.selected_most);
  result.inefficiency = total > 0 ? most * n / total - 1 : 0;
}

void reduce_own(StepContext& context, ResidualStore& store, const Indices& own,
                const ReduceOptions& options) {
  const std::uint64_t num_values = store.size();
  const std::vector<float> values = store.at(own);
  std::vector<std::uint64_t> counts;
  const std::uint64_t count = own.size();
  for (const auto& bytes :
       allgatherv(context.group, std::as_bytes(std::span(&count, 1)), options)) {
    std::memcpy(&counts.emplace_back(), bytes.data(), sizeof(count));
  }
  if (is_narrow(options)) {
    NarrowMean reduced = narrow_own_mean(context.group, num_values, own, values, options);
    context.result.mean = make_sparse(num_values, reduced.indices, reduced.values);
    context.remainder = std::move(reduced.remainder);
  } else {
    context.result.mean = own_mean(context.group, num_values, own, values, options);
  }
  count_selected(context, counts);
  const double meant = static_cast<double>(context.result.selected_total) /
                       static_cast<double>(context.group.world());
  context.result.sent = meant;
  context.result.build_up = over(static_cast<double>(context.result.mean.num_entries), meant);
}

Indices reduce_union(StepContext& context, ResidualStore& store, const Indices& own,
                     Selectors selectors, const ReduceOptions& options, const Indices& known) {
  const std::vector<Indices> lists = gather_indices(context, own, options);
  std::vector<const Indices*> parts{&known};
  std::vector<std::uint64_t> counts;
  for (const Indices& list : lists) {
    parts.push_back(&list);
    counts.push_back(list.size());
  }
  Indices indices = union_of_lists(std::move(parts));
  reduce_values_at(context, store, indices, options);
  count_selected(context, counts);
  const double share =
      selectors == Selectors::kEveryRankAll ? static_cast<double>(context.group.world()) : 1;
  const double meant = static_cast<double>(context.result.selected_total) / share +
                       static_cast<double>(known.size());
  context.result.build_up = over(static_cast<double>(indices.size()), meant);
  return indices;
}

void reduce_agreed(StepContext& context, ResidualStore& store, const Indices& indices,
                   const ReduceOptions& options) {
  reduce_values_at(context, store, indices, options);
  context.result.selected = context.result.selected_total = context.result.selected_most =
      indices.size();
}

}  // namespace tandem::collectives
