// SPDX-License-Identifier: Apache-2.0
//
// The fused append against rope() and append_kv() one after the other, bit for bit.
#include "rope/rope_append.h"

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/random_floats.h"

namespace tandem::gpu_kernels {
namespace {

constexpr std::size_t kRows = 5;

struct Shape {
  KvType type;
  int head_dim, pairs, q_heads, kv_heads;
  bool interleaved, v_first;
};

// One pool and one set of rows, the same at every construction.
class Setting {
 public:
  explicit Setting(const Shape& shape)
      : shape_(shape),
        q_(random_floats(values(shape.q_heads), 1)),
        k_(random_floats(values(shape.kv_heads), 2)),
        v_(random_floats(values(shape.kv_heads), 3)),
        bias_(random_floats(width(shape.kv_heads), 4)),
        norm_(random_floats(width(1), 5)),
        cos_sin_(random_floats(kRows * 2 * static_cast<std::size_t>(shape.pairs), 6)),
        values_(kv_values_bytes(pool())),
        scales_(kv_scales_bytes(pool()) / 4) {}

  KvPool pool() {
    return {shape_.type, 2, shape_.kv_heads, shape_.head_dim,
            16,          3, values_.data(),  reinterpret_cast<float*>(scales_.data())};
  }

  RopeAppend job(const KvPlace* places) {
    RopeAppend job;
    job.rope.rows = kRows;
    job.rope.head_dim = shape_.head_dim;
    job.rope.pairs = shape_.pairs;
    job.rope.interleaved = shape_.interleaved;
    job.rope.cos_sin = cos_sin_.data();
    job.rope.num_targets = 3;
    job.k_target = 1;
    job.v_target = shape_.v_first ? 0 : 2;
    job.rope.targets[shape_.v_first ? 2 : 0] = {q_.data(), shape_.q_heads};
    job.rope.targets[1] = {k_.data(), shape_.kv_heads, 0, nullptr, norm_.data(), true};
    job.rope.targets[job.v_target] = {v_.data(), shape_.kv_heads, 0, bias_.data(), nullptr, false};
    job.pool = pool();
    job.layer = 1;
    job.places = places;
    return job;
  }

  std::vector<std::vector<float>> rows() { return {q_.download(), k_.download(), v_.download()}; }
  std::vector<unsigned char> pool_values() { return values_.download(); }
  std::vector<std::uint32_t> pool_scales() { return scales_.download(); }

 private:
  std::size_t width(int heads) const {
    return static_cast<std::size_t>(heads) * static_cast<std::size_t>(shape_.head_dim);
  }
  std::size_t values(int heads) const { return kRows * width(heads); }
  Shape shape_;
  DeviceArray<float> q_, k_, v_, bias_, norm_, cos_sin_;
  DeviceArray<unsigned char> values_;
  DeviceArray<std::uint32_t> scales_;
};

TEST_P(KernelTest, RotationThatAppendsStoresWhatBothStepsStore) {
  // places by row, and as append_kv() lists them; row 2 is not appended
  const std::vector<KvPlace> by_row = {
      {2, 3, 0}, {0, 15, 1}, {kNoPage, 0, 2}, {0, 0, 3}, {1, 7, 4}};
  DeviceArray<KvPlace> places(by_row);
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kE4M3, KvType::kI8}) {
    for (const Shape& shape :
         {Shape{type, 128, 64, 4, 2, false, false}, Shape{type, 80, 20, 3, 3, true, true},
          Shape{type, 72, 36, 5, 1, false, true}}) {
      SCOPED_TRACE(testing::Message()
                   << "type " << static_cast<int>(type) << ", head_dim " << shape.head_dim);
      Setting fused(shape), apart(shape);
      ASSERT_EQ(rope_append(fused.job(places.data()), nullptr), cudaSuccess);
      const RopeAppend job = apart.job(places.data());
      ASSERT_EQ(rope(job.rope, nullptr), cudaSuccess);
      const AppendKv append{job.pool,
                            job.layer,
                            static_cast<std::int64_t>(kRows),
                            places.data(),
                            job.rope.targets[job.k_target].x,
                            job.rope.targets[job.v_target].x};
      ASSERT_EQ(append_kv(append, nullptr), cudaSuccess);
      ASSERT_EQ(fused.rows(), apart.rows());
      ASSERT_EQ(fused.pool_values(), apart.pool_values());
      ASSERT_EQ(fused.pool_scales(), apart.pool_scales());
    }
  }
}

TEST_P(KernelTest, RotationThatAppendsRefusesPoolsOfOtherHeads) {
  DeviceArray<KvPlace> places(kRows);
  Setting setting({KvType::kF16, 64, 32, 4, 2, false, false});
  RopeAppend job = setting.job(places.data());
  job.pool.kv_heads = 1;
  EXPECT_EQ(rope_append(job, nullptr), cudaErrorInvalidValue);
  job = setting.job(places.data());
  job.pool.head_dim = 80;
  EXPECT_EQ(rope_append(job, nullptr), cudaErrorInvalidValue);
  job = setting.job(places.data());
  job.layer = 2;
  EXPECT_EQ(rope_append(job, nullptr), cudaErrorInvalidValue);
  job = setting.job(places.data());
  job.v_target = 1;
  EXPECT_EQ(rope_append(job, nullptr), cudaErrorInvalidValue);
  job.v_target = 3;
  EXPECT_EQ(rope_append(job, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
