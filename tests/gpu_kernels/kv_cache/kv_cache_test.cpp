// SPDX-License-Identifier: Apache-2.0
//
// Appends against the rounding of the CPU's pages, bit for bit, and page images against the layout
// that all units exchange.
#include <algorithm>
#include <cstring>

#include "cpu/kernels/attention/kv_rows.h"
#include "gpu_kernels/kv_cache/random_pool.h"
#include "kv_cache/append.h"
#include "kv_cache/page_image.h"

namespace tandem::gpu_kernels {
namespace {

constexpr KvType kTypes[] = {KvType::kF16, KvType::kBF16, KvType::kE4M3, KvType::kI8};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

KvPool shape_of(KvType type, int head_dim, int page_tokens) {
  KvPool pool;
  pool.type = type;
  pool.num_layers = 2;
  pool.kv_heads = 3;
  pool.head_dim = head_dim;
  pool.page_tokens = page_tokens;
  pool.num_pages = 5;
  return pool;
}

// Rows of every kind: usual, of every size, with peaks at powers of two and beside 448, zeros,
// huge, tiny, and not finite.
std::vector<float> rows_of_every_kind(std::size_t rows, std::size_t dim) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(rows * dim);
  for (std::size_t row = 0; row < rows; ++row) {
    const float size = std::ldexp(1.0f, static_cast<int>(random() % 60) - 30);
    for (std::size_t d = 0; d < dim; ++d) values[row * dim + d] = size * normal(random);
    float* at = values.data() + row * dim;
    switch (row % 16) {
      case 3:
        std::fill_n(at, dim, 0.0f);
        break;
      case 5:
        at[dim / 2] = std::ldexp(448.0f, static_cast<int>(random() % 20));
        break;
      case 6:
        at[1] = std::nextafter(std::ldexp(448.0f, static_cast<int>(random() % 20)), kInf);
        break;
      case 7:
        at[0] = 3e38f;
        break;
      case 8:
        for (std::size_t d = 0; d < dim; ++d) at[d] = 1e-40f * normal(random);
        break;
      case 9:
        at[dim - 1] = kNan;
        break;
      case 10:
        at[2] = -kInf;
        break;
      case 11:
        for (std::size_t d = 0; d < dim; ++d) at[d] = (static_cast<float>(d) - 127) * 0.5f;
        break;
      default:
        break;
    }
  }
  return values;
}

// The row as the CPU stores it.
struct StoredRow {
  std::vector<unsigned char> bytes;
  float scale;
};
StoredRow stored(KvType type, const float* from, std::size_t dim) {
  StoredRow row;
  row.bytes.resize(dim * static_cast<unsigned>(value_bytes_of(type)));
  row.scale = device::cpu::narrow_kv(dtype_of(type), from, dim, row.bytes.data());
  return row;
}

bool is_nan_value(KvType type, const float value) {
  return std::isnan(value) && !has_scales(type);  // whose bits are not stated
}

class Append {
 public:
  Append(RandomPool& pool, int layer, std::int64_t stride) : pool_(pool), layer_(layer) {
    const KvPool& shape = pool.shape();
    dim_ = static_cast<std::size_t>(shape.head_dim);
    heads_ = static_cast<std::size_t>(shape.kv_heads);
    stride_ = stride == 0 ? heads_ * dim_ : static_cast<std::size_t>(stride);
    // every second token of three pages, from the last on; two places are none
    for (int token = 3 * shape.page_tokens - 1; token >= 0; token -= 2) {
      const auto row = static_cast<std::int32_t>(places_.size());
      places_.push_back({static_cast<std::uint32_t>(4 - token / shape.page_tokens),
                         token % shape.page_tokens, row});
    }
    places_[1].page = places_.back().page = kNoPage;
    k_ = rows_of_every_kind(places_.size(), stride_);
    v_ = k_;
    std::rotate(v_.begin(), v_.begin() + static_cast<std::ptrdiff_t>(stride_), v_.end());
  }

  void run(std::int64_t stride) {
    DeviceArray<float> k(k_), v(v_);
    DeviceArray<KvPlace> places(places_);
    AppendKv job;
    job.pool = pool_.upload();
    job.layer = layer_;
    job.num_places = static_cast<std::int64_t>(places_.size());
    job.places = places.data();
    job.k = k.data();
    job.v = v.data();
    job.k_stride = job.v_stride = stride;
    ASSERT_EQ(append_kv(job, nullptr), cudaSuccess);
  }

  // The pool is as it was but for the rows appended.
  void expect(RandomPool& before) {
    pool_.download();
    const KvPool& shape = pool_.shape();
    const auto row_bytes = static_cast<std::size_t>(pool_.width() * value_bytes_of(shape.type));
    std::vector<unsigned char> values = before.values();
    std::vector<float> scales = before.scales();
    std::vector<bool> is_nan(values.size(), false);
    for (const KvPlace& place : places_) {
      if (place.page == kNoPage) continue;
      for (std::size_t part = 0; part < 2 * heads_; ++part) {
        const std::size_t head = part % heads_;
        const float* from = (part < heads_ ? k_ : v_).data() +
                            static_cast<std::size_t>(place.row) * stride_ + head * dim_;
        const StoredRow row = stored(shape.type, from, dim_);
        const std::size_t at =
            pool_.row(layer_, place.page, part >= heads_, static_cast<int>(head), place.token);
        std::copy(row.bytes.begin(), row.bytes.end(), values.begin() + at * row_bytes);
        if (has_scales(shape.type)) scales[at] = row.scale;
        for (std::size_t d = 0; d < dim_; ++d) {
          if (is_nan_value(shape.type, from[d])) is_nan[at * row_bytes + 2 * d] = true;
        }
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_nan[i] || (i % 2 == 1 && is_nan[i - 1])) continue;
      ASSERT_EQ(pool_.values()[i], values[i])
          << "row " << i / row_bytes << " byte " << i % row_bytes;
    }
    for (std::size_t i = 0; i < scales.size(); ++i) {
      if (std::isnan(scales[i])) {
        ASSERT_TRUE(std::isnan(pool_.scales()[i])) << i;
      } else {
        ASSERT_EQ(pool_.scales()[i], scales[i]) << i;
      }
    }
  }

 private:
  RandomPool& pool_;
  int layer_;
  std::size_t dim_, heads_, stride_;
  std::vector<KvPlace> places_;
  std::vector<float> k_, v_;
};

TEST_P(KernelTest, AppendedRowsHaveTheBitsOfTheCpu) {
  for (const KvType type : kTypes) {
    for (const int head_dim : {64, 80, 96, 128, 256, 5, 100}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " " << head_dim);
      const KvPool shape = shape_of(type, head_dim, head_dim == 80 ? 32 : 16);
      RandomPool before(shape, 1), pool(shape, 1);
      Append append(pool, 1, 0);
      append.run(0);
      append.expect(before);
    }
  }
}

TEST_P(KernelTest, AppendsReadRowsThatLieApart) {
  const KvPool shape = shape_of(KvType::kE4M3, 64, 16);
  RandomPool before(shape, 2), pool(shape, 2);
  Append append(pool, 0, 3 * 64 + 17);
  append.run(3 * 64 + 17);
  append.expect(before);
}

// As device/attention_unit.h states it.
std::vector<unsigned char> image_of(const RandomPool& pool, std::uint32_t page) {
  const KvPool& shape = pool.shape();
  const auto bytes = static_cast<std::size_t>(value_bytes_of(shape.type));
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  std::vector<unsigned char> image, scales;
  for (int layer = 0; layer < shape.num_layers; ++layer) {
    for (const bool is_v : {false, true}) {
      for (int head = 0; head < shape.kv_heads; ++head) {
        for (int token = 0; token < shape.page_tokens; ++token) {
          const std::size_t row = pool.row(layer, page, is_v, head, token);
          const auto from =
              pool.values().begin() +
              static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(pool.width()) * bytes);
          image.insert(image.end(), from, from + static_cast<std::ptrdiff_t>(dim * bytes));
          if (!has_scales(shape.type)) continue;
          unsigned char scale[4];
          std::memcpy(scale, &pool.scales()[row], 4);
          scales.insert(scales.end(), scale, scale + 4);
        }
      }
    }
  }
  image.insert(image.end(), scales.begin(), scales.end());
  return image;
}

TEST_P(KernelTest, PagesTravelAsImages) {
  for (const KvType type : kTypes) {
    for (const int head_dim : {64, 80, 128, 256, 33, 50, 6}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " " << head_dim);
      const KvPool shape = shape_of(type, head_dim, 16);
      RandomPool pool(shape, 3), target(shape, 4);
      DeviceArray<std::uint32_t> pages(std::vector<std::uint32_t>{4, 1});
      DeviceArray<unsigned char> images(2 * page_image_bytes(shape));
      ASSERT_EQ(export_pages({pool.upload(), 2, pages.data(), images.data()}, nullptr),
                cudaSuccess);
      std::vector<unsigned char> expected = image_of(pool, 4);
      const auto second = image_of(pool, 1);
      expected.insert(expected.end(), second.begin(), second.end());
      ASSERT_EQ(images.download(), expected);

      DeviceArray<std::uint32_t> others(std::vector<std::uint32_t>{0, 3});
      const auto untouched = image_of(target, 2);
      ASSERT_EQ(import_pages({target.upload(), 2, others.data(), images.data()}, nullptr),
                cudaSuccess);
      target.download();
      EXPECT_EQ(image_of(target, 0), image_of(pool, 4));
      EXPECT_EQ(image_of(target, 3), image_of(pool, 1));
      EXPECT_EQ(image_of(target, 2), untouched);
    }
  }
}

TEST_P(KernelTest, ImportsZeroThePadding) {
  const KvPool shape = shape_of(KvType::kF16, 65, 16);
  RandomPool pool(shape, 6);
  for (std::size_t row = 0; row < pool.values().size() / 160; ++row) pool.set_bits(row, 70, 0x7e00);
  DeviceArray<std::uint32_t> pages(std::vector<std::uint32_t>{2});
  DeviceArray<unsigned char> image(image_of(pool, 2));
  ASSERT_EQ(import_pages({pool.upload(), 1, pages.data(), image.data()}, nullptr), cudaSuccess);
  pool.download();
  EXPECT_EQ(pool.value(pool.row(1, 2, true, 2, 7), 70), 0.0);
  EXPECT_TRUE(std::isnan(pool.value(pool.row(1, 1, true, 2, 7), 70)));
}

TEST_P(KernelTest, PoolsThatAreNoneAreRefused) {
  AppendKv append;
  append.pool = shape_of(KvType::kF16, 257, 16);
  EXPECT_EQ(append_kv(append, nullptr), cudaErrorInvalidValue);
  append.pool = shape_of(KvType::kF16, 64, 24);
  EXPECT_EQ(append_kv(append, nullptr), cudaErrorInvalidValue);
  append.pool = shape_of(KvType::kF16, 64, 16);
  EXPECT_EQ(append_kv(append, nullptr), cudaSuccess);  // nothing
  append.layer = 2;
  EXPECT_EQ(append_kv(append, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(export_pages({shape_of(KvType::kF16, 64, 512), 1, nullptr, nullptr}, nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
