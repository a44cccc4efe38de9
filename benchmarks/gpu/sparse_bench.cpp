// SPDX-License-Identifier: Apache-2.0
//
// Sparse kernels on a GPU: partition and encode of 11 M non-zeros in 214 M elements over 16 owners,
// scatter-add of the parts, compaction of the sums by their bitmap, and of a dense vector without
// one; each against a device copy in the same run.
//
// Every result is verified first against loops on the host. A figure is the median of 50 runs
// between events; three input sets rotate, so no run finds its input in the cache. ratio: the time
// of a copy of the necessary bytes at the measured bandwidth, over the measured time. One JSON line
// per figure.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>

#include "device_vector.h"
#include "sparse/bitmap_entries.h"
#include "sparse/encode_parts.h"
#include "sparse/hash_partition.h"
#include "sparse/scatter_add.h"

namespace tandem::bench {
namespace {

using namespace tandem::gpu_kernels;

constexpr std::uint32_t kEntries = 11'000'000;
constexpr std::uint64_t kUnits = 214'000'000;
constexpr int kOwners = 16;
constexpr std::uint64_t kPositions = (kUnits + kOwners - 1) / kOwners;
constexpr int kSets = 3;
constexpr int kSamples = 50;

struct Input {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};

// About kEntries ascending indices, exactly; values without zeros.
Input random_input(unsigned seed) {
  std::mt19937_64 random(seed);
  Input input;
  input.indices.reserve(kEntries);
  const double mean_gap = static_cast<double>(kUnits) / kEntries;
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    const auto cell = static_cast<std::uint64_t>(entry * mean_gap);
    const auto next = static_cast<std::uint64_t>((entry + 1.0) * mean_gap);
    input.indices.push_back(static_cast<std::uint32_t>(cell + random() % (next - cell)));
    input.values.push_back(1.0f + static_cast<float>(random() % 4096) / 1024);
  }
  return input;
}

// All that one set of buffers needs, from the input to the message bodies.
struct Set {
  explicit Set(unsigned seed)
      : input(random_input(seed)),
        indices(input.indices),
        values(input.values),
        locals(kEntries),
        values_out(kEntries),
        begins(kOwners + 1),
        workspace(partition_workspace_bytes(kEntries, kOwners)),
        bodies(2 * (coo_body_bytes(kEntries, ValueType::kF32) +
                    bitmap_body_bytes(1, kPositions, ValueType::kF32) * kOwners)) {}

  HashPartition partition_job() const {
    return {indices.data(),
            values.data(),
            kEntries,
            4,
            make_hashed_owners(kOwners, 7),
            locals.data(),
            values_out.data(),
            begins.data(),
            workspace.data()};
  }

  // After the partition has run.
  EncodeParts encode_job(bool bitmap) const {
    EncodeParts job;
    job.locals = locals.data();
    job.values = values_out.data();
    job.num_parts = kOwners;
    job.num_positions = kPositions;
    job.bodies = bodies.data();
    const auto host_begins = begins.download();
    std::uint64_t offset = 0;
    for (int part = 0; part < kOwners; ++part) {
      job.begins[part + 1] = host_begins[static_cast<std::size_t>(part) + 1];
      const std::uint64_t count = job.begins[part + 1] - job.begins[part];
      job.body_offsets[part] = offset;
      offset += bitmap ? bitmap_body_bytes(count, kPositions, ValueType::kF32)
                       : coo_body_bytes(count, ValueType::kF32);
      offset = (offset + 7) / 8 * 8;
    }
    return job;
  }

  Input input;
  DeviceVector<std::uint32_t> indices;
  DeviceVector<float> values;
  DeviceVector<std::uint32_t> locals;
  DeviceVector<float> values_out;
  DeviceVector<std::uint32_t> begins;
  DeviceVector<unsigned char> workspace, bodies;
};

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong result: ") + what);
}

// Milliseconds of each of kSamples runs of work(set).
std::vector<double> measure(const std::function<void(int)>& work) {
  cudaEvent_t start, stop;
  check_cuda(cudaEventCreate(&start));
  check_cuda(cudaEventCreate(&stop));
  std::vector<double> samples;
  for (int run = -6; run < kSamples; ++run) {
    check_cuda(cudaEventRecord(start));
    work((run + 6) % kSets);
    check_cuda(cudaEventRecord(stop));
    check_cuda(cudaEventSynchronize(stop));
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start, stop));
    if (run >= 0) samples.push_back(milliseconds);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  std::sort(samples.begin(), samples.end());
  return samples;
}

std::string device_name;

// bytes: read plus written; copy_bandwidth: the same way, bytes per millisecond.
double report(const char* name, const std::vector<double>& samples, double bytes,
              double copy_bandwidth) {
  const double median = samples[samples.size() / 2];
  const double bandwidth = bytes / median;
  std::printf(
      "{\"name\": \"gpu_sparse/%s\", \"median\": %.4f, \"p10\": %.4f, \"p90\": %.4f, "
      "\"unit\": \"ms\", \"samples\": %zu, \"bytes\": %.0f, \"GB_per_s\": %.1f, "
      "\"ratio\": %.3f, \"device\": \"%s\"}\n",
      name, median, samples[samples.size() / 10], samples[samples.size() * 9 / 10], samples.size(),
      bytes, bandwidth / 1e6, copy_bandwidth > 0 ? bandwidth / copy_bandwidth : 1.0,
      device_name.c_str());
  return bandwidth;
}

void check_partition(const Set& set) {
  const auto locals = set.locals.download();
  const auto values = set.values_out.download();
  const auto begins = set.begins.download();
  const HashedOwners owners = make_hashed_owners(kOwners, 7);
  std::vector<std::uint32_t> next(begins.begin(), begins.end() - 1);
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    const Place place = place_of(owners, set.input.indices[entry]);
    const std::uint32_t at = next[place.owner]++;
    expect(at < kEntries && locals[at] == place.local && values[at] == set.input.values[entry],
           "partition");
  }
  expect(std::equal(next.begin(), next.end(), begins.begin() + 1), "begins of parts");
}

void check_bodies(const Set& set, const EncodeParts& job, bool bitmap) {
  const auto locals = set.locals.download();
  const auto values = set.values_out.download();
  const auto bodies = set.bodies.download();
  for (int part = 0; part < kOwners; ++part) {
    const unsigned char* body = bodies.data() + job.body_offsets[part];
    const std::uint32_t begin = job.begins[part], count = job.begins[part + 1] - begin;
    const std::size_t words = (kPositions + 63) / 64 * 2;
    std::vector<std::uint32_t> index_part(bitmap ? words : count);
    if (bitmap) {
      for (std::uint32_t at = begin; at < begin + count; ++at) {
        index_part[locals[at] / 32] |= 1u << (locals[at] % 32);
      }
    } else {
      std::copy_n(locals.begin() + begin, count, index_part.begin());
    }
    expect(std::memcmp(body, index_part.data(), index_part.size() * 4) == 0, "index part");
    expect(std::memcmp(body + index_part.size() * 4, values.data() + begin, count * 4u) == 0,
           "values of a body");
  }
}

struct Sums {
  Sums()
      : dense(kPositions),
        present((kPositions + 31) / 32),
        faults(std::vector<std::uint32_t>{0}),
        indices(kEntries),
        values(kEntries),
        count(1),
        workspace(take_entries_workspace_bytes(kPositions)) {}

  // Adds every part of the set as if each were a source of one partition.
  void add(const Set& set, const EncodeParts& parts) const {
    check_cuda(cudaMemsetAsync(present.data(), 0, present.size() * 4));
    for (int part = 0; part < kOwners; ++part) {
      ScatterAdd job;
      job.positions = set.locals.data() + parts.begins[part];
      job.values = set.values_out.data() + parts.begins[part];
      job.num_entries = parts.begins[part + 1] - parts.begins[part];
      job.num_positions = kPositions;
      job.dense = dense.data();
      job.present = present.data();
      job.faults = faults.data();
      check_cuda(scatter_add(job, nullptr));
    }
  }

  void clear() const { check_cuda(cudaMemset(dense.data(), 0, kPositions * sizeof(float))); }

  // Dense values without a bitmap, to entries.
  void compact() const {
    check_cuda(
        mark_present({dense.data(), ValueType::kF32, kPositions, false, present.data()}, nullptr));
    take();
  }

  void take() const {
    check_cuda(
        take_entries({present.data(), kPositions, dense.data(), ValueType::kF32, false, kEntries,
                      indices.data(), values.data(), count.data(), workspace.data()},
                     nullptr));
  }

  // Returns the number of entries of the union.
  std::uint32_t check(const Set& set, const EncodeParts& parts) const {
    const auto locals = set.locals.download();
    const auto given = set.values_out.download();
    std::vector<float> sums(kPositions, 0.0f);
    for (std::uint32_t at = 0; at < parts.begins[kOwners]; ++at) sums[locals[at]] += given[at];
    const auto got_indices = indices.download();
    const auto got_values = values.download();
    std::uint32_t entry = 0;
    for (std::uint32_t position = 0; position < kPositions; ++position) {
      if (sums[position] == 0.0f) continue;
      expect(got_indices[entry] == position && got_values[entry] == sums[position], "sums");
      ++entry;
    }
    expect(count.download().front() == entry && faults.download().front() == 0, "size of union");
    return entry;
  }

  DeviceVector<float> dense;
  DeviceVector<std::uint32_t> present, faults, indices;
  DeviceVector<float> values;
  DeviceVector<std::uint32_t> count;
  DeviceVector<unsigned char> workspace;
};

// Both ways from sums to entries; leaves the sums of `set` alone in the dense values. Returns the
// number of entries of the union.
std::uint32_t check_sums(const Sums& sums, const Set& set, const EncodeParts& parts) {
  sums.clear();
  sums.add(set, parts);
  sums.take();
  sums.check(set, parts);
  check_cuda(cudaMemset(sums.present.data(), 0xff, sums.present.size() * 4));  // compact() finds it
  sums.compact();
  return sums.check(set, parts);
}

void report_entries(const Sums& sums, const Set& set, const EncodeParts& parts,
                    double copy_bandwidth) {
  const double num_union = check_sums(sums, set, parts);
  report("take_entries_of_sums", measure([&](int) { sums.take(); }),
         static_cast<double>(kPositions) / 8 + 12 * num_union, copy_bandwidth);
  report("compaction", measure([&](int) { sums.compact(); }),
         static_cast<double>(kPositions) * 4 + 8 * num_union, copy_bandwidth);
}

void run() {
  std::vector<std::unique_ptr<Set>> sets;
  for (unsigned seed = 1; seed <= kSets; ++seed) sets.push_back(std::make_unique<Set>(seed));
  std::vector<EncodeParts> coo, bitmap;
  for (const auto& set : sets) {
    check_cuda(hash_partition(set->partition_job(), nullptr));
    check_partition(*set);
    coo.push_back(set->encode_job(false));
    bitmap.push_back(set->encode_job(true));
    check_cuda(encode_coo(coo.back(), nullptr));
    check_bodies(*set, coo.back(), false);
    check_cuda(encode_bitmap(bitmap.back(), nullptr));
    check_bodies(*set, bitmap.back(), true);
  }
  const Sums sums;
  check_sums(sums, *sets[0], coo[0]);

  const auto set_of = [&](int set) -> Set& { return *sets[static_cast<std::size_t>(set)]; };
  constexpr std::size_t kCopyBytes = std::size_t{1} << 30;
  const DeviceVector<unsigned char> from(kCopyBytes), to(kCopyBytes);
  const double copy = report(
      "copy_1GiB", measure([&](int) {
        check_cuda(cudaMemcpyAsync(to.data(), from.data(), kCopyBytes, cudaMemcpyDeviceToDevice));
      }),
      2.0 * kCopyBytes, 0);
  const double entry_bytes = 8.0 * kEntries;
  const double bitmap_bytes = static_cast<double>(kPositions) / 8 * kOwners;
  report("partition", measure([&](int set) {
           check_cuda(hash_partition(set_of(set).partition_job(), nullptr));
         }),
         2 * entry_bytes, copy);
  report("encode_coo", measure([&](int set) {
           check_cuda(encode_coo(coo[static_cast<std::size_t>(set)], nullptr));
         }),
         2 * entry_bytes, copy);
  report("encode_bitmap", measure([&](int set) {
           check_cuda(encode_bitmap(bitmap[static_cast<std::size_t>(set)], nullptr));
         }),
         1.5 * entry_bytes + bitmap_bytes, copy);
  report("partition_and_encode_bitmap", measure([&](int set) {
           check_cuda(hash_partition(set_of(set).partition_job(), nullptr));
           check_cuda(encode_bitmap(bitmap[static_cast<std::size_t>(set)], nullptr));
         }),
         1.5 * entry_bytes + bitmap_bytes, copy);
  report("scatter_add_16_sources",
         measure([&](int set) { sums.add(set_of(set), coo[static_cast<std::size_t>(set)]); }),
         2 * entry_bytes, copy);
  report_entries(sums, *sets[0], coo[0], copy);
}

}  // namespace
}  // namespace tandem::bench

int main() {
  return tandem::bench::run_on_gpu("bench_gpu_sparse", [] {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess) {
      tandem::bench::device_name = properties.name;
    }
    tandem::bench::run();
  });
}
