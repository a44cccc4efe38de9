// SPDX-License-Identifier: Apache-2.0
//
// The driver's work without a card: shares of compute units, descriptors, page images.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>

#include "xrt/attention/descriptor.h"
#include "xrt/attention/page_image.h"
#include "xrt/attention/unit_shares.h"
#include "xrt/card/card_table.h"

namespace tandem::device::xrt_card {
namespace {

namespace kernel = attention_decode;

AttentionGeometry geometry(int kv_heads, int group, int head_dim, DType type = DType::kF16,
                           int page_tokens = 16) {
  AttentionGeometry g;
  g.num_layers = 3;
  g.kv_heads = kv_heads;
  g.q_heads = kv_heads * group;
  g.head_dim = head_dim;
  g.kv_dtype = type;
  g.page_tokens = page_tokens;
  return g;
}

TEST(UnitShares, KeepEveryHeadAndPageExactlyOnce) {
  for (std::uint32_t heads = 1; heads <= 40; ++heads) {
    for (std::size_t units = 1; units <= 32; ++units) {
      const auto shares = divide_over_units(heads, units);
      ASSERT_LE(shares.size(), units);
      std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // (head, slice)
      for (const UnitShare& share : shares) {
        ASSERT_EQ(share.num_slices, shares[0].num_slices);
        for (std::uint32_t h = 0; h < share.head_count; ++h) {
          EXPECT_TRUE(seen.insert({share.head_begin + h, share.slice}).second);
        }
      }
      EXPECT_EQ(seen.size(), heads * shares[0].num_slices);
    }
  }
}

TEST(UnitShares, SliceOnlyWhatHeadsCannotUse) {
  EXPECT_EQ(divide_over_units(8, 4).size(), 4u);
  EXPECT_EQ(divide_over_units(8, 4)[0].num_slices, 1u);
  EXPECT_EQ(divide_over_units(8, 4)[0].head_count, 2u);
  EXPECT_EQ(divide_over_units(2, 4)[0].num_slices, 2u);
  EXPECT_EQ(divide_over_units(1, 4)[0].num_slices, 4u);
  EXPECT_EQ(divide_over_units(3, 4)[0].num_slices, 4u);  // a quarter each beats a third
}

TEST(UnitShares, CountThePagesOfASlice) {
  for (std::uint32_t pages = 0; pages < 20; ++pages) {
    for (std::uint32_t slices = 1; slices < 6; ++slices) {
      for (std::uint32_t slice = 0; slice < slices; ++slice) {
        std::uint32_t count = 0;
        for (std::uint32_t page = 0; page < pages; ++page) count += page % slices == slice;
        EXPECT_EQ(own_pages({0, 1, slice, slices}, pages), count);
      }
    }
  }
}

TEST(Descriptor, PacksOnlyRowsOfSequencesAndPadsThem) {
  const AttentionGeometry g = geometry(2, 2, 24, DType::kF16, 32);
  const KernelLayout layout(g);
  std::vector<float> q(5 * 4 * 24), k(4 * 2 * 24), v(k.size());
  std::iota(q.begin(), q.end(), 1.0f);
  std::iota(k.begin(), k.end(), 10001.0f);
  std::iota(v.begin(), v.end(), 20001.0f);
  const std::vector<PageId> pages = {7, 3};
  std::vector<AttentionSequence> sequences(2);
  sequences[0] = {.q_begin = 3,
                  .num_q = 1,
                  .new_begin = 2,
                  .num_new = 1,
                  .append_at = 4,
                  .num_attend = 5,
                  .page_begin = 1,
                  .num_pages = 1};
  sequences[1] = {.q_begin = 0,
                  .num_q = 2,
                  .new_begin = 0,
                  .num_new = 0,
                  .append_at = 0,
                  .num_attend = 9,
                  .page_begin = 0,
                  .num_pages = 1};
  AttentionBatch batch;
  batch.layer = 1;
  batch.q = q;
  batch.k = k;
  batch.v = v;
  batch.sequences = sequences;
  batch.pages = pages;
  const DescriptorPlan plan = plan_attend(layout, batch, 42);
  EXPECT_EQ(plan.result_rows, (std::vector<std::uint32_t>{3, 0, 1}));
  EXPECT_EQ(plan.header.num_pages, 4u);  // pages of 32 tokens are two of the kernel's
  std::vector<std::byte> bytes(plan.size_bytes);
  write_attend(layout, batch, plan, bytes);
  const auto* table =
      reinterpret_cast<const std::uint32_t*>(bytes.data() + plan.header.pages_word * 64);
  EXPECT_EQ(std::vector<std::uint32_t>(table, table + 4),
            (std::vector<std::uint32_t>{6, 7, 14, 15}));
  const auto* packed_q = reinterpret_cast<const float*>(bytes.data() + plan.header.q_word * 64);
  EXPECT_EQ(packed_q[0], q[3 * 4 * 24]);
  EXPECT_EQ(packed_q[23], q[3 * 4 * 24 + 23]);
  EXPECT_EQ(packed_q[24], 0.0f);
  EXPECT_EQ(packed_q[31], 0.0f);
  EXPECT_EQ(packed_q[32], q[3 * 4 * 24 + 24]);
  EXPECT_EQ(packed_q[4 * 32], q[0]);
  const auto* packed_v = reinterpret_cast<const float*>(bytes.data() + plan.header.v_word * 64);
  EXPECT_EQ(packed_v[32], v[2 * 2 * 24 + 24]);
  const auto* entry = reinterpret_cast<const kernel::SequenceEntry*>(
      bytes.data() + plan.header.sequences_word * 64);
  EXPECT_EQ(entry[1].q_begin, 1u);
  EXPECT_EQ(entry[1].new_begin, 1u);
  EXPECT_EQ(entry[1].page_begin, 2u);
  EXPECT_EQ(entry[1].num_pages, 2u);
}

// One query of one head from two slices.
struct TwoSlices {
  AttentionGeometry g = geometry(1, 1, 2);
  KernelLayout layout{g};
  std::vector<UnitShare> shares = divide_over_units(1, 2);
  std::vector<std::vector<float>> results{std::vector<float>(64), std::vector<float>(64)};
  std::vector<float> o{-1, -1}, lse{-1};

  void set(std::size_t slice, float o0, float o1, float l) {
    results[slice][16] = o0;  // behind the header's word
    results[slice][17] = o1;
    results[slice][48] = l;  // behind 32 values of O
  }
  void unpack() {
    const std::byte* places[] = {reinterpret_cast<const std::byte*>(results[0].data()),
                                 reinterpret_cast<const std::byte*>(results[1].data())};
    const std::uint32_t rows[] = {0};
    unpack_results(layout, shares, places, rows, {o, lse});
  }
};

TEST(Results, OfSlicesMergeByLogSumExp) {
  TwoSlices two;
  two.set(0, 1.0f, 2.0f, std::log(3.0f));
  two.set(1, 5.0f, -2.0f, std::log(1.0f));
  two.unpack();
  EXPECT_FLOAT_EQ(two.o[0], 2.0f);  // (3 * 1 + 1 * 5) / 4
  EXPECT_FLOAT_EQ(two.o[1], 1.0f);
  EXPECT_FLOAT_EQ(two.lse[0], std::log(4.0f));
}

TEST(Results, OfEmptySlicesCountNothing) {
  const float empty = -std::numeric_limits<float>::infinity();
  TwoSlices two;
  two.set(0, 0.0f, 0.0f, empty);
  two.set(1, 5.0f, -2.0f, 100.0f);
  two.unpack();
  EXPECT_EQ(two.o, (std::vector<float>{5.0f, -2.0f}));
  EXPECT_EQ(two.lse[0], 100.0f);
  two.set(1, 0.0f, 0.0f, empty);
  two.unpack();
  EXPECT_EQ(two.o, (std::vector<float>{0.0f, 0.0f}));
  EXPECT_EQ(two.lse[0], empty);
}

TEST(Results, KeepNanOfOneSlice) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  TwoSlices two;
  two.set(0, nan, nan, nan);
  two.set(1, 5.0f, -2.0f, 1.0f);
  two.unpack();
  EXPECT_TRUE(std::isnan(two.o[0]) && std::isnan(two.lse[0]));
}

TEST(Results, OfAnotherKernelVersionAreNamed) {
  kernel::ResultHeader header{};
  EXPECT_NE(result_fault(header, 1), "");
  header.magic = kernel::kMagic;
  header.abi_version = kernel::kAbiVersion + 1;
  header.status = kernel::kBadVersion;
  EXPECT_NE(result_fault(header, 1).find("version 2"), std::string::npos);
  header.abi_version = kernel::kAbiVersion;
  header.status = kernel::kOk;
  EXPECT_NE(result_fault(header, 1), "");  // another descriptor's tag
  header.tag = 1;
  EXPECT_EQ(result_fault(header, 1), "");
}

TEST(PageImage, SurvivesTheWayThroughBlocks) {
  for (const DType type : {DType::kF16, DType::kI8}) {
    for (const int head_dim : {1, 24, 64, 100, 256}) {
      for (const int page_tokens : {1, 8, 16, 64}) {
        const AttentionGeometry g = geometry(2, 1, head_dim, type, page_tokens);
        const KernelLayout layout(g);
        std::vector<std::byte> image(page_image_bytes(g)), back(image.size());
        for (std::size_t i = 0; i < image.size(); ++i) {
          image[i] = static_cast<std::byte>(i * 2654435761u >> 13);
        }
        std::vector<std::byte> blocks(layout.head_image_bytes());
        for (std::uint32_t part = 0; part < layout.page_parts; ++part) {
          for (std::uint32_t head = 0; head < 2; ++head) {
            image_to_blocks(layout, {part, head}, image, blocks);
            blocks_to_image(layout, {part, head}, blocks, back);
          }
        }
        EXPECT_EQ(image, back) << head_dim << " " << page_tokens;
      }
    }
  }
}

TEST(CardTable, KnowsCardsByTheirPlatformNames) {
  EXPECT_EQ(card_facts("xilinx_u55c_gen3x16_xdma_base_3").memory_bandwidth_bytes_per_s, 460e9);
  EXPECT_EQ(card_facts("xilinx_u55c_gen3x16_xdma_base_3").link_bandwidth_bytes_per_s, 16e9);
  EXPECT_EQ(card_facts("xilinx_u50_gen3x16_xdma_5").memory_bytes, std::uint64_t{8} << 30);
  EXPECT_EQ(card_facts("something else").memory_bytes, 0u);
}

}  // namespace
}  // namespace tandem::device::xrt_card
