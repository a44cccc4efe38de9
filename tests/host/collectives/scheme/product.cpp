// SPDX-License-Identifier: Apache-2.0
//
// Inputs from a counter-based generator; the expected sums in a dense array.
#include "host/collectives/scheme/product.h"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "collectives/aggregator/aggregator.h"
#include "collectives/frames/communicator.h"
#include "collectives/scheme/scheme.h"
#include "tensor/sparse/merge.h"

namespace tandem::test {
namespace {

using namespace tandem::collectives;

std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ull;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

// [count] the rank's value of every unit; 0: it has no entry there.
std::vector<std::uint64_t> input_values(std::uint64_t seed, int rank, std::uint64_t count) {
  constexpr std::array<std::uint64_t, 6> kPerMille = {10, 0, 100, 500, 1000, 2};
  const std::uint64_t of_rank = mix(mix(seed + count) + static_cast<std::uint64_t>(rank));
  const std::uint64_t per_mille = kPerMille[of_rank % kPerMille.size()];
  std::vector<std::uint64_t> values(count);
  for (std::uint64_t unit = 0; unit < count; ++unit) {
    const std::uint64_t draw = mix(of_rank + unit);
    if (draw % 1000 < per_mille) values[unit] = mix(draw) | 1;
  }
  return values;
}

SparseVector sparse_of(const std::vector<std::uint64_t>& values) {
  SparseVector vector(Domain{values.size(), 1}, DType::kU64);
  vector.resize(static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](auto value) { return value != 0; })));
  std::size_t entry = 0;
  for (std::size_t unit = 0; unit < values.size(); ++unit) {
    if (values[unit] == 0) continue;
    vector.indices<std::uint32_t>()[entry] = static_cast<std::uint32_t>(unit);
    vector.values<std::uint64_t>()[entry++] = values[unit];
  }
  return vector;
}

// Empty where `reduced` is exactly `expected`, in which 0 may be absent.
std::string difference(const Reduced& reduced, const std::vector<std::uint64_t>& expected) {
  const auto* sparse = std::get_if<SparseVector>(&reduced);
  const SparseVector sum =
      sparse ? *sparse : compact(std::get<DenseVector>(reduced), Reduction::kSum);
  if (sum.domain() != Domain{expected.size(), 1}) return "the domain is another one";
  std::uint64_t next = 0;  // first unit that no entry has stood for yet
  const auto absent_until = [&](std::uint64_t end) {
    return std::all_of(expected.begin() + static_cast<std::ptrdiff_t>(next),
                       expected.begin() + static_cast<std::ptrdiff_t>(end),
                       [](auto value) { return value == 0; });
  };
  for (std::size_t entry = 0; entry < sum.num_entries(); ++entry) {
    const std::uint64_t unit = sum.indices<std::uint32_t>()[entry];
    if (unit < next || unit >= expected.size()) return "indices are not ascending";
    if (!absent_until(unit)) return "a unit is missing before " + std::to_string(unit);
    if (sum.values<std::uint64_t>()[entry] != expected[unit]) {
      return "unit " + std::to_string(unit) + " has a wrong sum";
    }
    next = unit + 1;
  }
  return absent_until(expected.size()) ? "" : "units are missing at the end";
}

SchemeSettings settings_of(int world, Codec codec) {
  SchemeSettings settings;
  settings.wire = DType::kU64;
  settings.codec = codec;
  settings.server_count = (world + 1) / 2;
  for (int rank = 0; rank < world; ++rank) settings.node_of_rank.push_back(rank / 3);
  return settings;
}

std::string refusal_of(const Scheme& scheme, int world, std::uint64_t count, Codec codec) {
  Problem problem;
  problem.world = world;
  problem.domain = {count, 1};
  problem.wire = DType::kU64;
  problem.codec = codec;
  fill_independent(problem, 0.1);
  return scheme.refusal(problem);
}

std::vector<const Scheme*> chosen_schemes(const std::vector<std::string>& names) {
  std::vector<const Scheme*> schemes;
  if (names.empty()) schemes.assign(all_schemes().begin(), all_schemes().end());
  for (const std::string& name : names) schemes.push_back(&scheme_by_name(name));
  return schemes;
}

std::vector<Codec> chosen_codecs(std::vector<Codec> codecs) {
  if (!codecs.empty()) return codecs;
  codecs.assign(all_codecs().begin(), all_codecs().end());
  codecs.push_back(Codec::kAuto);
  return codecs;
}

}  // namespace

std::vector<std::string> run_product(Transport& transport, const ProductOptions& options) {
  std::vector<std::string> failures;
  const auto aggregator = make_cpu_aggregator();
  std::uint32_t call = options.first_call;
  for (const std::uint64_t count : options.counts) {
    std::vector<std::uint64_t> expected(count);
    for (int rank = 0; rank < transport.world(); ++rank) {
      const auto values = input_values(options.seed, rank, count);
      for (std::uint64_t unit = 0; unit < count; ++unit) expected[unit] += values[unit];
    }
    const SparseVector own = sparse_of(input_values(options.seed, transport.rank(), count));
    for (const Scheme* scheme : chosen_schemes(options.schemes)) {
      SchemeMemory memory;
      for (const Codec codec : chosen_codecs(options.codecs)) {
        const std::string name = std::string(scheme->name()) + ", codec " +
                                 std::string(codec_name(codec)) + ", " + std::to_string(count) +
                                 " units, rank " + std::to_string(transport.rank()) + " of " +
                                 std::to_string(transport.world());
        const std::string refusal = refusal_of(*scheme, transport.world(), count, codec);
        if (!refusal.empty()) {
          failures.push_back(name + ": refused: " + refusal);
          continue;
        }
        try {
          Communicator ranks(transport, call++, Deadline::after(options.timeout));
          const std::string wrong =
              difference(scheme->allreduce(ranks, own, settings_of(transport.world(), codec),
                                           memory, *aggregator),
                         expected);
          if (!wrong.empty()) failures.push_back(name + ": " + wrong);
        } catch (const Error& error) {
          failures.push_back(name + ": " + error.what());
          return failures;
        }
      }
    }
  }
  return failures;
}

}  // namespace tandem::test
