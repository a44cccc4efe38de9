// SPDX-License-Identifier: Apache-2.0
//
// The time of an aggregation on a card with eight units, by the kernel's cycle model; beside it the
// time of merge() on one core here, and the host's time for the driver's own copies.
//
// One owner's share of a tensor of num_units elements on n ranks: num_units / n positions, n parts,
// independent supports. The kernel runs as a C++ function and its sum is compared with merge()'s;
// cycles are counted, not timed. Figures: kernel_us (modelled), link bytes, card_us (modelled: link
// of 16 GB/s, transfers, command, kernel), merge and host copies (measured, medians).
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "host/collectives/kernel_samples.h"
#include "sparse_aggregation/numerics.h"
#include "tensor/sparse/merge.h"
#include "xrt/aggregation/aggregation_plan.h"

extern "C" void sparse_aggregation(const tandem::sparse_aggregation::Word* descriptor,
                                   const tandem::sparse_aggregation::Word* positions,
                                   const tandem::sparse_aggregation::Word* values,
                                   tandem::sparse_aggregation::Word* result,
                                   std::uint32_t descriptor_words, std::uint32_t result_words);

namespace tandem::bench {
namespace {

namespace kernel = sparse_aggregation;
using device::xrt_card::AggregationPlan;
using device::xrt_card::AggregationUnitPlan;
using device::xrt_card::CardTiming;
using sparse::Reduction;
using sparse::SparseVector;

constexpr std::size_t kUnits = 8;
constexpr double kClockHz = kernel::kClockMhz * 1e6;

struct Card {
  AggregationPlan plan;
  std::vector<std::vector<kernel::Word>> inputs, results;
  RawVector<std::uint32_t> positions;
  RawVector<std::byte> values;

  std::span<std::byte> input(std::size_t unit) {
    return {reinterpret_cast<std::byte*>(inputs[unit].data()), plan.units[unit].descriptor_bytes};
  }
};

struct Share {
  std::vector<SparseVector> parts;
  device::AggregationShape shape;
  std::vector<device::AggregationSource> sources;
};

Share make_share(std::uint64_t num_positions, int num_parts, double density) {
  Share share;
  share.shape.num_positions = num_positions;
  for (int part = 0; part < num_parts; ++part) {
    share.parts.push_back(random_support(num_positions, density, static_cast<std::uint64_t>(part)));
  }
  for (const SparseVector& part : share.parts) {
    share.sources.push_back({part.indices<std::uint32_t>(), part.value_bytes()});
    share.shape.num_entries += part.num_entries();
  }
  share.shape.num_sources = share.parts.size();
  return share;
}

void pack(const Share& share, const CardTiming& timing, Card& card) {
  card.plan = device::xrt_card::plan_aggregation(share.shape, share.sources, kUnits, timing);
  card.inputs.resize(card.plan.units.size());
  for (std::size_t u = 0; u < card.plan.units.size(); ++u) {
    card.inputs[u].resize(card.plan.units[u].descriptor_bytes / kernel::kWordBytes);
    write_descriptor(card.plan.units[u], share.sources, card.input(u));
  }
}

void unpack(Card& card) {
  card.positions.clear();
  card.values.clear();
  for (std::size_t u = 0; u < card.plan.units.size(); ++u) {
    append_result(card.plan.units[u], reinterpret_cast<const std::byte*>(card.results[u].data()),
                  card.positions, card.values);
  }
}

kernel::ResultHeader run_unit(Card& card, std::size_t unit) {
  auto& result = card.results[unit];
  result.resize(card.plan.units[unit].result_bytes / kernel::kWordBytes);
  const kernel::Word* input = card.inputs[unit].data();
  ::sparse_aggregation(input, input, input, result.data(),
                       static_cast<std::uint32_t>(card.inputs[unit].size()),
                       static_cast<std::uint32_t>(result.size()));
  kernel::ResultHeader header;
  std::memcpy(&header, result.data(), sizeof(header));
  return header;
}

void verify(const Share& share, const Card& card) {
  const SparseVector sum = merge(share.parts, Reduction::kSum);
  if (std::ranges::equal(sum.indices<std::uint32_t>(), card.positions) &&
      std::ranges::equal(sum.value_bytes(), card.values)) {
    return;
  }
  std::fprintf(stderr, "sparse_aggregation_bench: wrong sum\n");
  std::exit(1);
}

double nanoseconds_per(double entries, const std::function<void()>& work) {
  std::vector<double> samples;
  for (int warm = 0; warm < 2; ++warm) work();
  for (int i = 0; i < kSamples; ++i) samples.push_back(seconds(work) * 1e9 / entries);
  return quantile(samples, 0.5);
}

void measure(std::uint64_t num_units, int ranks, double density) {
  const Share share = make_share(num_units / static_cast<std::uint64_t>(ranks), ranks, density);
  CardTiming timing;
  timing.link_bandwidth_bytes_per_s = 16e9;
  Card card;
  pack(share, timing, card);
  card.results.resize(card.plan.units.size());
  double link_s = 0, bytes_in = 0, bytes_out = 0, kernel_s = 0, accumulate = 0, emit = 0;
  for (std::size_t u = 0; u < card.plan.units.size(); ++u) {
    const AggregationUnitPlan& unit = card.plan.units[u];
    const kernel::ResultHeader header = run_unit(card, u);
    const auto in = static_cast<double>(unit.descriptor_bytes);
    const double out = static_cast<double>(header.num_words) * kernel::kWordBytes;
    bytes_in += in;
    bytes_out += out;
    link_s += timing.transfer_seconds(in) + timing.transfer_seconds(out);
    kernel_s = std::max(kernel_s, static_cast<double>(kernel::modelled_cycles(
                                      unit.header.num_sources, unit.header.num_tiles, header)) /
                                      kClockHz);
    accumulate += header.accumulate_cycles;
    emit += header.emit_cycles;
  }
  unpack(card);
  verify(share, card);
  const auto entries = static_cast<double>(share.shape.num_entries);
  std::vector<double> kernel_rates = {entries / kernel_s * 1e-6};
  print_figure("sparse_aggregation/ranks" + std::to_string(ranks) + "_density" +
                   nlohmann::json(density).dump(),
               kernel_rates, "M entries/s (modelled kernel)",
               {{"entries", entries},
                {"union", card.positions.size()},
                {"units", card.plan.units.size()},
                {"format", card.plan.units[0].header.format == kernel::kCoo ? "coo" : "bitmap"},
                {"bytes_in", bytes_in},
                {"bytes_out", bytes_out},
                {"kernel_us", kernel_s * 1e6},
                {"accumulate_share", accumulate / (accumulate + emit)},
                {"card_us", (link_s + timing.command_s + kernel_s) * 1e6},
                {"merge_ns_per_entry",
                 nanoseconds_per(entries, [&] { merge(share.parts, Reduction::kSum); })},
                {"pack_ns_per_entry", nanoseconds_per(entries, [&] { pack(share, timing, card); })},
                {"unpack_ns_per_entry", nanoseconds_per(entries, [&] { unpack(card); })}});
}

}  // namespace
}  // namespace tandem::bench

int main() {
  for (const int ranks : {8, 16, 64}) {
    for (const double density : {0.001, 0.01, 0.028}) {
      tandem::bench::measure(214'000'000, ranks, density);
    }
  }
  for (const std::uint64_t units : {100'000u, 1'000'000u, 10'000'000u}) {
    tandem::bench::measure(units, 16, 0.01);
  }
}
