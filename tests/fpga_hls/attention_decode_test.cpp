// SPDX-License-Identifier: Apache-2.0
//
// The attention_decode kernel, called as a C++ function, against double-precision attention.
//
// A SequenceModel keeps the appended rows in explicit K and V arrays. Each case appends and attends
// through the kernel and compares every (O, LSE). Bounds for f16: NMSE 1e-10 for O, 2e-5 for LSE
// (f32 accumulation against double). Bounds for i8: 1e-7 and 5e-4, because x * (1 / scale) and the
// reference's x / scale differ on a few ties.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "fpga_hls/attention_harness.h"
#include "support/reference/compare.h"

namespace tandem::attention_decode {
namespace {

class Values {
 public:
  explicit Values(std::uint32_t seed) : engine_(seed) {}
  std::vector<float> normal(std::size_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& x : values) x = normal(engine_);
    return values;
  }
  std::uint32_t below(std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(engine_);
  }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

struct SequenceModel {
  std::vector<float> k, v;           // [tokens, kv_heads, head_dim], as appended
  std::vector<std::uint32_t> pages;  // in token order
};

device::AttentionGeometry geometry_of(const KernelShape& s) {
  device::AttentionGeometry g;
  g.num_layers = static_cast<int>(s.layers);
  g.kv_heads = static_cast<int>(s.kv_heads);
  g.q_heads = static_cast<int>(s.kv_heads * s.group);
  g.head_dim = static_cast<int>(s.head_dim);
  g.kv_dtype = s.kv_type == kI8 ? DType::kI8 : DType::kF16;
  return g;
}

void expect_close(const KernelShape& s, float scale, const std::vector<float>& q, std::size_t row,
                  const SequenceModel& model, std::size_t attend,
                  const reference::AttentionAnswer& got) {
  const device::AttentionGeometry g = geometry_of(s);
  std::vector<float> k = model.k, v = model.v;
  reference::round_kv(g.kv_dtype, g.head_dim, k);
  reference::round_kv(g.kv_dtype, g.head_dim, v);
  const std::size_t q_values = s.row_values() * s.group;
  const auto want = reference::reference_attention(
      g, scale, std::span(q).subspan(row * q_values, q_values), k, v, attend);
  const std::vector<float> o(got.o.begin(), got.o.end());
  const bool exact = s.kv_type == kF16;
  EXPECT_LT(reference::nmse<double>(o, want.o), exact ? 1e-10 : 1e-7);
  ASSERT_EQ(got.lse.size(), want.lse.size());
  for (std::size_t h = 0; h < want.lse.size(); ++h) {
    if (attend == 0) {
      EXPECT_EQ(got.lse[h], -INFINITY);
    } else {
      EXPECT_NEAR(got.lse[h], want.lse[h],
                  (exact ? 2e-5 : 5e-4) * std::max(1.0, std::fabs(want.lse[h])));
    }
  }
}

// Appends a ragged batch of sequences in two steps, attends over each, compares all.
struct RaggedCase {
  KernelShape shape;
  std::uint32_t groups = 1, slices = 1;
  std::vector<std::uint32_t> first, second;  // tokens appended by each step, per sequence
  std::uint32_t queries = 1;                 // of sequence 0; the others have 1
};

void run_ragged(const RaggedCase& c, std::uint32_t seed) {
  Values values(seed);
  KernelShape shape = c.shape;
  std::vector<SequenceModel> models(c.first.size());
  std::uint32_t pages_needed = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::uint32_t tokens = c.first[i] + c.second[i];
    models[i].pages.resize((tokens + shape.page_tokens - 1) / shape.page_tokens);
    pages_needed += static_cast<std::uint32_t>(models[i].pages.size());
  }
  shape.num_pages = pages_needed + 3;
  std::vector<std::uint32_t> free_pages(shape.num_pages);
  std::iota(free_pages.begin(), free_pages.end(), 0);
  std::shuffle(free_pages.begin(), free_pages.end(), values.engine());
  for (SequenceModel& model : models) {
    for (std::uint32_t& page : model.pages) {
      page = free_pages.back();
      free_pages.pop_back();
    }
  }
  Card card(shape, c.groups, c.slices);
  const std::uint32_t layer = shape.layers - 1;
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  for (const auto& step : {c.first, c.second}) {
    std::vector<SequenceEntry> entries;
    std::vector<std::uint32_t> pages;
    std::vector<float> k, v;
    std::uint32_t q_rows = 0, kv_rows = 0;
    for (std::size_t i = 0; i < models.size(); ++i) {
      SequenceEntry e{};
      e.q_begin = q_rows;
      e.num_q = i == 0 ? c.queries : 1;
      e.new_begin = kv_rows;
      e.num_new = step[i];
      e.append_at = static_cast<std::uint32_t>(models[i].k.size() / shape.row_values());
      e.num_attend = e.append_at + e.num_new;
      e.page_begin = static_cast<std::uint32_t>(pages.size());
      e.num_pages = static_cast<std::uint32_t>(models[i].pages.size());
      q_rows += e.num_q;
      kv_rows += e.num_new;
      pages.insert(pages.end(), models[i].pages.begin(), models[i].pages.end());
      const auto new_k = values.normal(e.num_new * shape.row_values());
      const auto new_v = values.normal(e.num_new * shape.row_values());
      k.insert(k.end(), new_k.begin(), new_k.end());
      v.insert(v.end(), new_v.begin(), new_v.end());
      models[i].k.insert(models[i].k.end(), new_k.begin(), new_k.end());
      models[i].v.insert(models[i].v.end(), new_v.begin(), new_v.end());
      entries.push_back(e);
    }
    const auto q = values.normal(q_rows * shape.row_values() * shape.group);
    const Descriptor d = make_descriptor(shape, layer, scale, entries, pages, q, k, v);
    std::uint32_t status = 0;
    const auto answers = card.attend(d, &status);
    ASSERT_EQ(status, kOk);
    for (std::size_t i = 0; i < models.size(); ++i) {
      for (std::uint32_t r = 0; r < entries[i].num_q; ++r) {
        const std::uint32_t row = entries[i].q_begin + r;
        expect_close(shape, scale, q, row, models[i], entries[i].num_attend, answers[row]);
      }
    }
  }
}

// One sequence of `tokens` tokens in pages 0, 1, ...; what most of the cases below start from.
struct OneSequence {
  KernelShape shape;
  std::vector<std::uint32_t> pages;
  std::vector<float> q, k, v;
  SequenceEntry entry{};

  OneSequence(const KernelShape& s, std::uint32_t tokens, std::uint32_t seed) : shape(s) {
    Values values(seed);
    pages.resize((tokens + s.page_tokens - 1) / s.page_tokens);
    std::iota(pages.begin(), pages.end(), 0);
    q = values.normal(s.row_values() * s.group);
    k = values.normal(tokens * s.row_values());
    v = values.normal(tokens * s.row_values());
    entry.num_q = 1;
    entry.num_new = entry.num_attend = tokens;
    entry.num_pages = static_cast<std::uint32_t>(pages.size());
  }
  Descriptor descriptor(std::uint32_t layer = 0) const {
    return make_descriptor(shape, layer, 0.1f, {entry}, pages, q, k, v);
  }
};

TEST(AttentionDecode, AnswersEveryHeadDimGroupAndType) {
  for (std::uint32_t head_dim = 32; head_dim <= 256; head_dim += 32) {
    for (const std::uint32_t group : {1u, 3u, 4u, 7u, 16u, 20u}) {
      for (const std::uint32_t type : {kF16, kI8}) {
        SCOPED_TRACE(testing::Message() << head_dim << " x " << group << " type " << type);
        RaggedCase c;
        c.shape = {1, 2, group, head_dim, type};
        c.first = {17, 5};
        c.second = {1, 1};
        run_ragged(c, head_dim + group + type);
      }
    }
  }
}

TEST(AttentionDecode, SeesExactlyTheTokensUpToPageBoundaries) {
  for (const std::uint32_t tokens : {1u, 15u, 16u, 17u, 31u, 32u, 33u, 160u, 255u, 256u, 272u}) {
    SCOPED_TRACE(tokens);
    RaggedCase c;
    c.shape = {2, 1, 2, 64, kF16};
    c.first = {tokens, 0, 3};
    c.second = {1, 1, 16};
    run_ragged(c, tokens);
  }
}

TEST(AttentionDecode, WalksPageListsLongerThanOneBlock) {
  RaggedCase c;
  c.shape = {1, 1, 4, 32, kF16};
  c.first = {16 * 256 - 1};
  c.second = {18};
  run_ragged(c, 7);
}

TEST(AttentionDecode, HoldsFewerTokensPerPageWhenAsked) {
  for (const std::uint32_t page_tokens : {1u, 2u, 8u}) {
    for (const std::uint32_t type : {kF16, kI8}) {
      SCOPED_TRACE(page_tokens);
      RaggedCase c;
      c.shape = {1, 2, 2, 32, type, page_tokens};
      c.first = {13, 2};
      c.second = {4, 1};
      run_ragged(c, page_tokens);
    }
  }
}

TEST(AttentionDecode, SplitsHeadsAndPagesOverComputeUnits) {
  for (const std::uint32_t groups : {1u, 2u, 3u}) {
    for (const std::uint32_t slices : {1u, 2u, 3u, 4u}) {
      for (const std::uint32_t type : {kF16, kI8}) {
        SCOPED_TRACE(testing::Message() << groups << " groups, " << slices << " slices");
        RaggedCase c;
        c.shape = {2, 3, 2, 64, type};
        c.groups = groups;
        c.slices = slices;
        c.first = {70, 9, 1};
        c.second = {1, 8, 20};
        run_ragged(c, groups * 10 + slices);
      }
    }
  }
}

TEST(AttentionDecode, TakesPagesThatOnlyAnotherSliceHas) {
  OneSequence one({1, 1, 1, 32, kF16}, 33, 12);
  one.shape.num_pages = 3;  // slice 0 has pages 0 and 2, slice 1 only page 1
  Card card(one.shape, 1, 2);
  std::uint32_t status = 0;
  const auto answers = card.attend(one.descriptor(), &status);
  ASSERT_EQ(status, kOk);
  SequenceModel model;
  model.k = one.k;
  model.v = one.v;
  expect_close(one.shape, 0.1f, one.q, 0, model, 33, answers[0]);
}

TEST(AttentionDecode, AnswersManyQueriesOfOneSequence) {
  for (const std::uint32_t group : {1u, 3u, 5u, 17u}) {
    SCOPED_TRACE(group);
    RaggedCase c;
    c.shape = {1, 2, group, 64, kF16};
    c.first = {40, 2};
    c.second = {33, 1};
    c.queries = 33;
    run_ragged(c, group);
  }
}

TEST(AttentionDecode, KeepsNanInTheHeadItIsIn) {
  for (const std::uint32_t type : {kF16, kI8}) {
    OneSequence one({1, 3, 2, 32, type}, 20, 5);
    one.k[(7 * 3 + 1) * 32 + 9] = std::nanf("");  // token 7, KV head 1
    Card card(one.shape, 1, 1);
    std::uint32_t status = 0;
    auto answers = card.attend(one.descriptor(), &status);
    for (int head = 0; head < 6; ++head) {
      EXPECT_EQ(std::isnan(answers[0].lse[head]), head / 2 == 1) << head;
      for (int d = 0; d < 32; ++d) {
        EXPECT_EQ(std::isnan(answers[0].o[head * 32 + d]), head / 2 == 1) << head;
      }
    }
  }
}

TEST(AttentionDecode, KeepsNanInTheQueryHeadItIsIn) {
  OneSequence one({1, 2, 2, 64, kF16}, 33, 6);
  one.q[1 * 64 + 3] = std::nanf("");
  Card card(one.shape, 1, 1);
  std::uint32_t status = 0;
  const auto answers = card.attend(one.descriptor(), &status);
  for (int head = 0; head < 4; ++head) EXPECT_EQ(std::isnan(answers[0].lse[head]), head == 1);
}

TEST(AttentionDecode, AnswersNothingAttendedWithZeroAndMinusInfinity) {
  OneSequence one({1, 2, 4, 32, kF16}, 20, 8);
  one.entry.num_attend = 0;
  Card card(one.shape, 2, 2);
  std::uint32_t status = 0;
  const auto answers = card.attend(one.descriptor(), &status);
  EXPECT_EQ(status, kOk);
  for (const double x : answers[0].o) EXPECT_EQ(x, 0.0);
  for (const double x : answers[0].lse) EXPECT_EQ(x, -INFINITY);
}

TEST(AttentionDecode, SurvivesScoresFarApart) {
  OneSequence one({1, 1, 1, 32, kF16}, 40, 9);
  for (int d = 0; d < 32; ++d) {
    one.q[d] = 100.0f;
    for (int t = 0; t < 40; ++t) one.k[t * 32 + d] = static_cast<float>(t % 7) * 30.0f - 60.0f;
  }
  Card card(one.shape, 1, 1);
  std::uint32_t status = 0;
  const auto answers = card.attend(one.descriptor(), &status);
  SequenceModel model;
  model.k = one.k;
  model.v = one.v;
  expect_close(one.shape, 0.1f, one.q, 0, model, 40, answers[0]);
}

TEST(AttentionDecode, MovesPagesBetweenCardsUnchanged) {
  for (const std::uint32_t type : {kF16, kI8}) {
    OneSequence one({2, 3, 2, 96, type}, 16, 11);
    Card from(one.shape, 2, 1);
    std::uint32_t status = 0;
    from.attend(one.descriptor(0), &status);
    const auto want = from.attend(one.descriptor(1), &status);
    // Exports of the head groups follow each other in head order, which is what an import takes.
    std::vector<IoWord> image;
    Descriptor move = make_descriptor(one.shape, 0, 1.0f, {}, {0}, {}, {}, {});
    move.header.operation = kExportPage;
    move.put_header();
    for (Unit& unit : from.units) {
      const ResultHeader header = from.run(unit, move, 1 + 2 * unit.k_pool.size());
      ASSERT_EQ(header.status, kOk);
      image.insert(image.end(), unit.result.begin() + 1, unit.result.begin() + header.num_words);
    }
    move = make_descriptor(one.shape, 0, 1.0f, {}, {5}, {}, {}, {});
    move.header.operation = kImportPage;
    move.header.q_word = append_section(move.words, image);
    move.header.num_words = static_cast<std::uint32_t>(move.words.size());
    move.put_header();
    Card to(one.shape, 3, 2);
    for (Unit& unit : to.units) {
      const ResultHeader header = to.run(unit, move, 1);
      EXPECT_EQ(header.status, unit.slice == 5 % 2 ? kOk : kBadPage);
    }
    one.pages = {5};
    one.entry.num_new = 0;
    const auto got = to.attend(one.descriptor(1), &status);
    ASSERT_EQ(status, kOk);
    EXPECT_EQ(got[0].o, want[0].o);
    EXPECT_EQ(got[0].lse, want[0].lse);
  }
}

class HostileDescriptor : public testing::Test {
 protected:
  OneSequence one{{2, 2, 2, 32, kF16}, 20, 3};

  // Runs `d` on a fresh card; the pools must not change.
  std::uint32_t status_of(const Descriptor& d, std::size_t result_words = 64) {
    Card card(one.shape, 1, 1);
    Unit& unit = card.units[0];
    const auto k_before = unit.k_pool, v_before = unit.v_pool;
    const ResultHeader header = card.run(unit, d, result_words);
    if (header.status != kOk) {
      EXPECT_TRUE(unit.k_pool == k_before && unit.v_pool == v_before);
    }
    return header.status;
  }
  template <typename Change>
  std::uint32_t status_with(const Change& change) {
    Descriptor d = one.descriptor();
    change(d.header);
    d.put_header();
    return status_of(d);
  }
};

TEST_F(HostileDescriptor, IsRefusedWhenAFieldIsOutOfRange) {
  using H = DescriptorHeader;
  EXPECT_EQ(status_with([](H&) {}), kOk);
  EXPECT_EQ(status_with([](H& h) { h.magic ^= 1; }), kBadMagic);
  EXPECT_EQ(status_with([](H& h) { h.abi_version += 1; }), kBadVersion);
  EXPECT_EQ(status_with([](H& h) { h.num_words = 1; }), kBadSection);
  EXPECT_EQ(status_with([](H& h) { h.num_words += 1; }), kBadSection);
  EXPECT_EQ(status_with([](H& h) { h.operation = 77; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.layer = 2; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.num_layers = 0xffffffffu; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.kv_heads = 0; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.group = 0; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.chunks = 9; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.kv_type = 2; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.page_tokens = 0; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.page_tokens = 17; }), kBadShape);
  EXPECT_EQ(status_with([](H& h) { h.kv_heads = 1; }), kBadUnit);
  EXPECT_EQ(status_with([](H& h) { h.num_sequences = 0xffffffffu; }), kBadSection);
  EXPECT_EQ(status_with([](H& h) { h.num_pages = 0xffffffffu; }), kBadSection);
  EXPECT_EQ(status_with([](H& h) { h.q_word = 0xfffffff0u; }), kBadSection);
  EXPECT_EQ(status_with([](H& h) { h.num_kv_rows = 0x80000000u; }), kBadSection);
  EXPECT_EQ(status_with([](H& h) { h.v_word = 1; }), kBadSection);
}

TEST_F(HostileDescriptor, IsRefusedWhenASequenceLeavesItsTables) {
  const auto with = [&](auto change) {
    OneSequence bad = one;
    change(bad.entry);
    return status_of(bad.descriptor());
  };
  using S = SequenceEntry;
  EXPECT_EQ(with([](S& s) { s.q_begin = 1; }), kBadSequence);
  EXPECT_EQ(with([](S& s) { s.num_q = 0xffffffffu; }), kBadSequence);
  EXPECT_EQ(with([](S& s) { s.new_begin = 0xffffffffu; }), kBadSequence);
  EXPECT_EQ(with([](S& s) { s.append_at = 13; }), kBadSequence);
  EXPECT_EQ(with([](S& s) { s.num_attend = 33; }), kBadSequence);
  EXPECT_EQ(with([](S& s) { s.page_begin = 1; }), kBadSequence);
  EXPECT_EQ(with([](S& s) { s.num_pages = 0x20000000u; }), kBadSequence);
}

TEST_F(HostileDescriptor, IsRefusedWhenAPageLiesOutsideThePool) {
  for (const std::uint32_t page : {8u, 0x7fffffffu, 0xffffffffu}) {
    one.pages[1] = page;
    EXPECT_EQ(status_of(one.descriptor()), kBadPage);
  }
}

TEST_F(HostileDescriptor, IsRefusedWhenTheResultDoesNotFit) {
  const Descriptor d = one.descriptor();
  // 1 + 2 heads * (2 rows of 2 words + 1 word of LSE) = 11 words.
  EXPECT_EQ(status_of(d, 11), kOk);
  EXPECT_EQ(status_of(d, 10), kBadResult);
}

TEST_F(HostileDescriptor, OfRandomBytesNeverHarmsAnything) {
  Values values(1);
  for (int round = 0; round < 3000; ++round) {
    Descriptor d = one.descriptor();
    auto* fields = reinterpret_cast<std::uint32_t*>(d.words.data());
    for (int changes = 0; changes < 3; ++changes) {
      const std::uint32_t at = values.below(2) == 0 ? values.below(32) : 32 + values.below(24);
      fields[at] = values.below(2) == 0 ? values.below(64) : 1u << values.below(32);
    }
    std::memcpy(&d.header, fields, sizeof(d.header));
    Card card(one.shape, 1, 1);
    card.run(card.units[0], d, 40);
  }
}

}  // namespace
}  // namespace tandem::attention_decode
