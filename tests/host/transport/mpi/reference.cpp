// SPDX-License-Identifier: Apache-2.0
//
// Inputs of both types have the same supports: skewed, and nothing on rank 1.
#include "host/transport/mpi/reference.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "collectives/scheme/scheme.h"
#include "tensor/sparse/generate/synthetic.h"
#include "transport/mpi/checked.h"

namespace tandem::test {
namespace {

using collectives::DenseVector;
using collectives::Domain;
using collectives::SparseVector;

constexpr Domain kDomain{50'000, 1};

template <typename T>
constexpr DType dtype_of() {
  return std::is_same_v<T, float> ? DType::kF32 : DType::kU64;
}

// A fiftieth of the units, 60 % of them in the first eighth; rank 1 holds nothing.
template <typename T>
SparseVector input_of(int rank, int world) {
  sparse::SyntheticOptions options;
  options.domain = kDomain;
  options.density = 0.02;
  sparse::set_first_eighth_skew(options);
  const SparseVector floats = sparse::synthetic_gradient(options, rank, world, 11);
  SparseVector input(kDomain, dtype_of<T>());
  if (rank == 1) return input;
  input.resize(floats.num_entries());
  for (std::size_t at = 0; at < floats.num_entries(); ++at) {
    input.indices<std::uint32_t>()[at] = floats.indices<std::uint32_t>()[at];
    const float value = floats.values<float>()[at];
    if constexpr (std::is_same_v<T, float>) {
      input.values<T>()[at] = value;
    } else {
      input.values<T>()[at] = 0x9e3779b97f4a7c15u * (at + 1) + static_cast<unsigned>(rank);
    }
  }
  return input;
}

template <typename T>
std::vector<T> dense_of(const SparseVector& sparse) {
  std::vector<T> dense(kDomain.num_units);
  for (std::size_t at = 0; at < sparse.num_entries(); ++at) {
    dense[sparse.indices<std::uint32_t>()[at]] = sparse.values<T>()[at];
  }
  return dense;
}

template <typename T>
std::vector<T> dense_of(const collectives::Reduced& reduced) {
  if (const auto* sparse = std::get_if<SparseVector>(&reduced)) return dense_of<T>(*sparse);
  const auto values = std::get<DenseVector>(reduced).template values<T>();
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
void compare(transport::Transport& transport, std::uint32_t& call) {
  const SparseVector input = input_of<T>(transport.rank(), transport.world());
  std::vector<T> expected = dense_of<T>(input);
  const auto type = std::is_same_v<T, float> ? MPI_FLOAT : MPI_UINT64_T;
  MPI_Allreduce(MPI_IN_PLACE, expected.data(), static_cast<int>(expected.size()), type, MPI_SUM,
                MPI_COMM_WORLD);
  for (const collectives::Scheme* scheme : collectives::all_schemes()) {
    collectives::Communicator ranks(transport, call++, Deadline::after(std::chrono::seconds(240)));
    collectives::SchemeSettings settings;
    settings.wire = dtype_of<T>();
    collectives::SchemeMemory memory;
    const auto aggregator = collectives::make_cpu_aggregator();
    const auto reduced = scheme->allreduce(ranks, input, settings, memory, *aggregator);
    const std::vector<T> sum = dense_of<T>(reduced);
    if (sum != expected) {
      throw std::runtime_error(std::string(scheme->name()) + " differs from MPI_Allreduce in " +
                               (std::is_same_v<T, float> ? "f32" : "u64"));
    }
  }
}

}  // namespace

void compare_with_mpi_allreduce(transport::Transport& transport) {
  std::uint32_t call = 1;
  compare<std::uint64_t>(transport, call);
  compare<float>(transport, call);
}

}  // namespace tandem::test
