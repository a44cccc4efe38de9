// SPDX-License-Identifier: Apache-2.0
//
// The columns of a row ascend, so the entries of a tile are consecutive.
#include "xrt/products/product_plan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

namespace product_abi = sparse_product;

struct ProductTotals {
  std::uint64_t groups = 0, steps = 0;
};

// Calls body(tile, first entry, last entry) for every tile of a row, also for empty ones.
template <typename Body>
void for_tiles(const SparseRows& rows, std::uint64_t row, const Body& body) {
  const std::uint32_t tiles = product_abi::num_tiles(static_cast<std::uint32_t>(rows.columns));
  std::uint64_t at = rows.begins[row];
  const std::uint64_t end = rows.begins[row + 1];
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    const std::uint64_t first = at;
    while (at < end &&
           static_cast<std::uint32_t>(rows.indices[at]) / product_abi::kTileColumns == tile) {
      ++at;
    }
    body(tile, first, at);
  }
}

std::uint32_t groups_of(std::uint64_t first, std::uint64_t last) {
  return static_cast<std::uint32_t>((last - first + product_abi::kLanes - 1) / product_abi::kLanes);
}

ProductTotals totals_of(const SparseRows& rows, std::uint64_t row) {
  ProductTotals totals;
  for_tiles(rows, row, [&](std::uint32_t, std::uint64_t first, std::uint64_t last) {
    const std::uint32_t groups = groups_of(first, last);
    totals.groups += groups;
    totals.steps += std::max(groups, 1u);
  });
  return totals;
}

void check_product(const SparseRows& rows) {
  if (rows.rows() <= product_abi::kMaxRows && rows.columns <= product_abi::kMaxColumns &&
      rows.columns > 0)
    return;
  throw Error("xrt", "a card multiplies up to 2^31 rows and columns, not " +
                         std::to_string(rows.rows()) + " x " + std::to_string(rows.columns));
}

// The places of the segments, and the length of the whole.
void place_segments(ProductUnitPlan& plan) {
  const auto rows = static_cast<std::uint32_t>(plan.rows.rows());
  const std::uint32_t tiles = product_abi::num_tiles(static_cast<std::uint32_t>(plan.rows.columns));
  plan.segments.resize(std::size_t{product_abi::num_blocks(rows)} * tiles);
  for (std::uint32_t row = 0; row < rows; ++row) {
    for_tiles(plan.rows, row, [&](std::uint32_t tile, std::uint64_t first, std::uint64_t last) {
      product_abi::Segment& segment = plan.segments[row / product_abi::kBlockRows * tiles + tile];
      segment.num_groups += groups_of(first, last);
      segment.num_steps += std::max(groups_of(first, last), 1u);
    });
  }
  std::uint64_t word = 1 + (plan.segments.size() + 3) / 4;
  for (std::uint32_t s = 0; s < plan.segments.size(); ++s) {
    const std::uint64_t lengths = word;
    word += product_abi::value_words(product_abi::block_rows(rows, s / tiles));
    plan.segments[s].lengths_word = static_cast<std::uint32_t>(lengths);
    plan.segments[s].groups_word = static_cast<std::uint32_t>(word);
    word += plan.segments[s].num_groups;
    if (word <= std::numeric_limits<std::uint32_t>::max()) continue;
    throw Error("xrt", "a part of the matrix has more than 2^32 words: use more cards");
  }
  plan.matrix_bytes = word * product_abi::kWordBytes;
  plan.result_bytes = std::size_t{product_abi::result_words(rows)} * product_abi::kWordBytes;
}

// Writes the groups of entries [first, last). Returns how many.
std::uint32_t pack_groups(const SparseRows& rows, std::uint64_t first, std::uint64_t last,
                          std::uint32_t tile, std::uint32_t* to) {
  const std::uint32_t groups = groups_of(first, last);
  for (std::uint32_t group = 0; group < groups; ++group, to += product_abi::kWordValues) {
    for (std::uint32_t lane = 0; lane < product_abi::kLanes; ++lane) {
      const std::uint64_t entry = first + group * product_abi::kLanes + lane;
      const bool is_entry = entry < last;
      to[lane] = is_entry ? static_cast<std::uint32_t>(rows.indices[entry]) -
                                tile * product_abi::kTileColumns
                          : product_abi::kNoEntry;
      const float value = is_entry ? rows.values[entry] : 0.0f;
      std::memcpy(to + product_abi::kLanes + lane, &value, sizeof value);
    }
  }
  return groups;
}

}  // namespace

std::uint64_t ProductUnitPlan::cycles(std::uint32_t sharers) const {
  const auto columns = static_cast<std::uint32_t>(rows.columns);
  const std::uint32_t tiles = product_abi::num_tiles(columns);
  std::uint64_t sum = product_abi::row_cycles(static_cast<std::uint32_t>(rows.rows()), tiles);
  for (std::uint32_t s = 0; s < segments.size(); ++s) {
    sum += product_abi::segment_cycles(segments[s], product_abi::tile_columns(columns, s % tiles),
                                       sharers);
  }
  return sum;
}

std::vector<ProductUnitPlan> plan_product(const SparseRows& rows, std::size_t num_units) {
  check_product(rows);
  std::vector<std::uint64_t> steps = {0};
  for (std::uint64_t row = 0; row < rows.rows(); ++row) {
    steps.push_back(steps.back() + totals_of(rows, row).steps);
  }
  std::vector<ProductUnitPlan> plans;
  std::uint64_t first = 0;
  for (std::size_t unit = 0; unit < num_units; ++unit) {
    const std::uint64_t bound = steps.back() * (unit + 1) / num_units;
    const auto last =
        static_cast<std::uint64_t>(std::ranges::lower_bound(steps, bound) - steps.begin());
    if (last > first) {
      ProductUnitPlan& plan = plans.emplace_back();
      plan.first_row = first;
      plan.rows = rows.slice(first, last);
      place_segments(plan);
    }
    first = std::max(first, last);
  }
  return plans;
}

void pack_matrix(const ProductUnitPlan& plan, std::span<std::byte> to) {
  const SparseRows& rows = plan.rows;
  const std::uint32_t tiles = product_abi::num_tiles(static_cast<std::uint32_t>(rows.columns));
  auto* words = reinterpret_cast<std::uint32_t*>(to.data());
  std::ranges::fill(to, std::byte{0});
  const product_abi::MatrixHeader header = {
      product_abi::kMagic,
      product_abi::kAbiVersion,
      static_cast<std::uint32_t>(plan.matrix_bytes / product_abi::kWordBytes),
      static_cast<std::uint32_t>(rows.rows()),
      static_cast<std::uint32_t>(rows.columns),
      1,
      {}};
  std::memcpy(to.data(), &header, sizeof header);
  std::memcpy(to.data() + product_abi::kWordBytes, plan.segments.data(),
              plan.segments.size() * sizeof(product_abi::Segment));
  std::vector<std::uint64_t> filled(plan.segments.size(), 0);
  for (std::uint64_t row = 0; row < rows.rows(); ++row) {
    for_tiles(rows, row, [&](std::uint32_t tile, std::uint64_t first, std::uint64_t last) {
      const std::size_t s = row / product_abi::kBlockRows * tiles + tile;
      const product_abi::Segment& segment = plan.segments[s];
      const std::uint32_t groups =
          pack_groups(rows, first, last, tile,
                      words + (segment.groups_word + filled[s]) * product_abi::kWordValues);
      words[std::uint64_t{segment.lengths_word} * product_abi::kWordValues +
            row % product_abi::kBlockRows] = groups;
      filled[s] += groups;
    });
  }
}

double modelled_seconds(std::span<const ProductUnitPlan> plans, const ProductCard& card) {
  if (plans.empty()) return 0;
  const double vector_bytes = 4.0 * static_cast<double>(plans[0].rows.columns);
  double seconds = card.timing.command_s + static_cast<double>(card.num_vectors) *
                                               card.timing.transfer_seconds(vector_bytes);
  std::uint64_t slowest = 0;
  for (const ProductUnitPlan& plan : plans) {
    seconds += card.timing.transfer_seconds(static_cast<double>(plan.result_bytes));
    slowest = std::max(slowest, plan.cycles(card.sharers));
  }
  return seconds + static_cast<double>(slowest) / (product_abi::kClockMhz * 1e6);
}

SparseRates product_rates(const SparseRows& matrix, const ProductCard& card) {
  check_product(matrix);
  const auto columns = static_cast<std::uint32_t>(matrix.columns);
  const std::uint32_t tiles = product_abi::num_tiles(columns);
  ProductTotals all;
  for (std::uint64_t row = 0; row < matrix.rows(); ++row) {
    const ProductTotals totals = totals_of(matrix, row);
    all.groups += totals.groups;
    all.steps += totals.steps;
  }
  const auto seconds = [](double cycles) { return cycles / (product_abi::kClockMhz * 1e6); };
  const auto units = static_cast<double>(card.num_units);
  const auto rows = static_cast<double>(std::max<std::uint64_t>(matrix.rows(), 1));
  const auto entries = static_cast<double>(std::max<std::uint64_t>(matrix.entries(), 1));
  const auto read = static_cast<double>(product_abi::port_cycles(all.groups));
  const double waits = std::max(0.0, static_cast<double>(all.steps) - read);
  double fixed_cycles = product_abi::kStartCycles;
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    fixed_cycles += static_cast<double>(product_abi::segment_cycles(
        {0, 0, 0, 0}, product_abi::tile_columns(columns, tile), card.sharers));
  }
  constexpr double kWordCycles =
      static_cast<double>(product_abi::kWordBytes) / product_abi::kPortBytesPerCycle;
  constexpr double kRowCyclesPerTile = kWordCycles / product_abi::kWordValues;
  constexpr double kRowCycles = (1 + kWordCycles) / product_abi::kWordValues;
  SparseRates rates;
  rates.is_modelled = true;
  rates.fixed_s = card.timing.command_s +
                  static_cast<double>(card.num_vectors) *
                      card.timing.transfer_seconds(4.0 * static_cast<double>(matrix.columns)) +
                  units * card.timing.transfer_s + seconds(fixed_cycles);
  rates.row_s = seconds((waits / rows + kRowCyclesPerTile * tiles + kRowCycles) / units) +
                (card.timing.transfer_seconds(4.0) - card.timing.transfer_s);
  rates.entry_s = seconds(read / entries / units);
  return rates;
}

}  // namespace tandem::device::xrt_card
