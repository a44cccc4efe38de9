// SPDX-License-Identifier: Apache-2.0
//
// The contract of AttentionUnit, run on every device of the registry.
//
// attention_op_test.cpp covers shapes. This file covers order, boundaries, wrong arguments, page
// moves, and which results a NaN may change.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "drivers/device/attention_unit_fixture.h"

namespace tandem::device_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const AttentionGeometry kUsual = {
    .num_layers = 2, .q_heads = 8, .kv_heads = 2, .head_dim = 64, .page_tokens = 16};

AttentionGeometry with_dtype(AttentionGeometry geometry, DType dtype) {
  geometry.kv_dtype = dtype;
  return geometry;
}

class AttentionUnitTest : public AttentionUnitTestBase,
                          public ::testing::WithParamInterface<std::string> {
 protected:
  std::string device_id() const override { return GetParam(); }
};

TEST_P(AttentionUnitTest, AppendsAcrossPageBoundariesAndOverwritesTokens) {
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    const AttentionGeometry geometry = with_dtype(kUsual, dtype);
    const auto unit = make_unit(geometry);
    PageDeck deck(unit->capacity().num_pages, random_);
    SequenceModel sequence(geometry, deck.take(4));
    fill(*unit, sequence, 14, 14, random_);
    ScenarioBatch across(geometry, 0, random_);
    across.add(sequence, {.num_new = 20});  // tokens 14..33: three pages
    ASSERT_EQ(wait(*unit, across.submit(*unit)), WaitResult::kDone);
    across.expect_reference(kBound);
    ScenarioBatch again(geometry, 0, random_);
    again.add(sequence, {.num_new = 5, .append_at = 13});
    ASSERT_EQ(wait(*unit, again.submit(*unit)), WaitResult::kDone);
    again.expect_reference(kBound);
  }
}

TEST_P(AttentionUnitTest, AppendsOfABatchComeBeforeItsQueries) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(kUsual, deck.take(3));
  ScenarioBatch first(kUsual, 0, random_);
  first.add(sequence, {.num_q = 3, .num_new = 18});
  ASSERT_EQ(wait(*unit, first.submit(*unit)), WaitResult::kDone);
  first.expect_reference(kBound);
}

TEST_P(AttentionUnitTest, QueriesSeeExactlyTheFirstTokensAskedFor) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(kUsual, deck.take(4));
  fill(*unit, sequence, 50, 50, random_);
  for (const std::int32_t tokens : {1, 2, 15, 16, 17, 31, 32, 49}) {
    ScenarioBatch batch(kUsual, 1, random_);
    batch.add(sequence, {.num_q = 2, .num_attend = tokens});
    ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
    batch.expect_reference(kBound);
  }
}

TEST_P(AttentionUnitTest, NothingToAttendGivesZeroAndMinusInfinity) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel empty(kUsual, {}), full(kUsual, deck.take(1));
  fill(*unit, full, 16, 16, random_);
  ScenarioBatch batch(kUsual, 0, random_);
  batch.add(empty, {.num_q = 2});
  batch.add(full, {.num_q = 1});
  batch.add(full, {.num_q = 1, .num_attend = 0});
  ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
  batch.expect_reference(kBound);
  for (const std::size_t row : {1, 2, 6}) {
    for (int head = 0; head < kUsual.q_heads; ++head) {
      EXPECT_EQ(batch.lse()[row * kUsual.q_heads + head], -kInf);
      EXPECT_EQ(batch.o()[(row * kUsual.q_heads + head) * kUsual.head_dim], 0.0f);
    }
  }
}

TEST_P(AttentionUnitTest, ABatchOfNothingIsDone) {
  const auto unit = make_unit(kUsual);
  ScenarioBatch batch(kUsual, 0, random_);
  EXPECT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
}

TEST_P(AttentionUnitTest, NanInOneHeadStaysThere) {
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    const AttentionGeometry geometry = with_dtype(kUsual, dtype);
    const auto unit = make_unit(geometry);
    PageDeck deck(unit->capacity().num_pages, random_);
    SequenceModel sequence(geometry, deck.take(2));
    fill(*unit, sequence, 20, 20, random_);
    ScenarioBatch batch(geometry, 0, random_);
    batch.add(sequence, {.num_new = 1});
    const auto dim = static_cast<std::size_t>(geometry.head_dim);
    batch.q()[(1 * geometry.q_heads + 2) * dim + 5] = kNan;  // row 1, query head 2
    batch.new_k()[1 * dim + 3] = kNan;                       // KV head 1: query heads 4..7
    ASSERT_EQ(wait(*unit, unit->submit(batch.batch(), batch.out())), WaitResult::kDone);
    for (int head = 0; head < geometry.q_heads; ++head) {
      const bool is_nan = std::isnan(batch.lse()[geometry.q_heads + head]);
      const bool o_is_nan = std::isnan(batch.o()[(geometry.q_heads + head) * dim]);
      EXPECT_EQ(is_nan, head == 2 || head >= 4) << "LSE of head " << head;
      EXPECT_EQ(o_is_nan, head == 2 || head >= 4) << "O of head " << head;
    }
  }
}

TEST_P(AttentionUnitTest, SlotsBehindTheLastTokenHaveNoEffect) {
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    const AttentionGeometry geometry = with_dtype(kUsual, dtype);
    const auto unit = make_unit(geometry);
    PageDeck deck(unit->capacity().num_pages, random_);
    SequenceModel sequence(geometry, deck.take(2));
    fill(*unit, sequence, 20, 20, random_);
    SequenceModel other = sequence;  // the same pages, whose tokens from 20 on are NaN
    ScenarioBatch poison(geometry, 0, random_);
    poison.add(other, {.num_q = 0, .num_new = 12});
    for (float& value : poison.new_k()) value = kNan;
    device::AttentionBatch poisoned = poison.batch();
    poisoned.v = poisoned.k;
    ASSERT_EQ(wait(*unit, unit->submit(poisoned, poison.out())), WaitResult::kDone);
    ScenarioBatch batch(geometry, 0, random_);
    batch.add(sequence, {.num_q = 2});
    ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
    batch.expect_reference(kBound);
  }
}

TEST_P(AttentionUnitTest, LargeScoresNeitherOverflowNorVanish) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(kUsual, deck.take(6));
  fill(*unit, sequence, 90, 90, random_);
  ScenarioBatch batch(kUsual, 0, random_);
  batch.add(sequence, {});
  for (float& value : batch.q()) value *= 100.0f;  // scores of some hundreds, of both signs
  ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
  batch.expect_reference(kBound);
}

TEST_P(AttentionUnitTest, StoresEveryKindOfHalfAsRoundToNearestEvenDoes) {
  AttentionGeometry geometry = kUsual;
  geometry.num_layers = 1;
  const auto unit = make_unit(geometry);
  const std::size_t values = static_cast<std::size_t>(16) * geometry.kv_heads * geometry.head_dim;
  ScenarioBatch batch(geometry, 0, random_);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(geometry, deck.take(1));
  batch.add(sequence, {.num_q = 0, .num_new = 16});
  std::vector<float> special = {
      0.0f,    -0.0f,   0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1.8p-24f, 0x1p-14f, 65504.f,
      65519.f, 65520.f, -1e9f,    kInf,     0x1.002p0f, 0x1.006p0f, 1e-30f,   -0x1.ffcp-15f};
  std::uniform_real_distribution<float> exponent(-28.0f, 17.0f);
  for (std::size_t i = 0; i < values; ++i) {
    batch.new_k()[i] = i < special.size() ? special[i] : std::exp2(exponent(random_));
  }
  ASSERT_EQ(wait(*unit, unit->submit(batch.batch(), batch.out())), WaitResult::kDone);
  std::vector<std::byte> image(device::page_image_bytes(geometry));
  ASSERT_EQ(unit->export_page(sequence.pages[0], image, Deadline::after(kPatience)),
            WaitResult::kDone);
  for (int token = 0; token < 16; ++token) {
    for (int head = 0; head < geometry.kv_heads; ++head) {
      for (int d = 0; d < geometry.head_dim; ++d) {
        std::uint16_t stored;
        std::memcpy(&stored, &image[((head * 16 + token) * geometry.head_dim + d) * 2], 2);
        const float from =
            batch.new_k()[(token * geometry.kv_heads + head) * geometry.head_dim + d];
        ASSERT_EQ(stored, f32_to_f16(from)) << from;
      }
    }
  }
}

TEST_P(AttentionUnitTest, ExportedBytesCarryOneScalePerTokenAndHead) {
  const AttentionGeometry geometry = with_dtype(kUsual, DType::kI8);
  const auto unit = make_unit(geometry);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(geometry, deck.take(1));
  fill(*unit, sequence, 16, 16, random_);
  std::vector<std::byte> image(device::page_image_bytes(geometry));
  ASSERT_EQ(unit->export_page(sequence.pages[0], image, Deadline::after(kPatience)),
            WaitResult::kDone);
  const std::size_t rows = static_cast<std::size_t>(geometry.num_layers) * 2 * 2 * 16;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t token = row % 16, head = row / 16 % 2, which = row / 32 % 2, layer = row / 64;
    const auto& values = which == 0 ? sequence.k[layer] : sequence.v[layer];
    const auto from = std::span(values).subspan((token * 2 + head) * 64, 64);
    float peak = 0.0f, scale;
    for (const float x : from) peak = std::max(peak, std::fabs(x));
    std::memcpy(&scale, &image[rows * 64 + row * sizeof(float)], sizeof(float));
    ASSERT_FLOAT_EQ(scale, peak / 127.0f);
    for (std::size_t d = 0; d < 64; ++d) {
      const float stored =
          scale * static_cast<float>(static_cast<std::int8_t>(image[row * 64 + d]));
      ASSERT_NEAR(stored, from[d], 0.501f * scale) << "row " << row << " dimension " << d;
    }
  }
}

TEST_P(AttentionUnitTest, PagesMoveBetweenUnitsWithTheirTokens) {
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    const AttentionGeometry geometry = with_dtype(kUsual, dtype);
    const auto source = make_unit(geometry);
    PageDeck deck(source->capacity().num_pages, random_);
    SequenceModel sequence(geometry, deck.take(3));
    fill(*source, sequence, 40, 40, random_);
    std::vector<std::vector<std::byte>> images;
    for (const PageId page : sequence.pages) {
      auto& image = images.emplace_back(device::page_image_bytes(geometry));
      ASSERT_EQ(source->export_page(page, image, Deadline::after(kPatience)), WaitResult::kDone);
    }
    const OpenedDevice cpu = open_attention_device("cpu:0");
    device::AttentionUnitOptions options{.geometry = geometry, .kv_bytes = 1 << 22};
    const auto target = cpu.device ? cpu.device->make_attention_unit(options) : make_unit(geometry);
    PageDeck other_deck(8, random_);
    sequence.pages = other_deck.take(3);
    for (std::size_t i = 0; i < images.size(); ++i) {
      ASSERT_EQ(target->import_page(sequence.pages[i], images[i], Deadline::after(kPatience)),
                WaitResult::kDone);
      std::vector<std::byte> back(images[i].size());
      ASSERT_EQ(target->export_page(sequence.pages[i], back, Deadline::after(kPatience)),
                WaitResult::kDone);
      EXPECT_TRUE(i + 1 == images.size() || back == images[i]);  // the last page is not full
    }
    for (int layer = 0; layer < geometry.num_layers; ++layer) {
      ScenarioBatch batch(geometry, layer, random_);
      batch.add(sequence, {.num_q = 2, .num_new = 1});
      ASSERT_EQ(wait(*target, batch.submit(*target)), WaitResult::kDone);
      batch.expect_reference(kBound);
    }
  }
}

TEST_P(AttentionUnitTest, ImportedPagesAnswerOnThisUnit) {
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    const AttentionGeometry geometry = with_dtype(kUsual, dtype);
    const auto unit = make_unit(geometry);
    PageDeck deck(unit->capacity().num_pages, random_);
    SequenceModel sequence(geometry, deck.take(2));
    fill(*unit, sequence, 32, 32, random_);
    const auto moved = deck.take(2);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      std::vector<std::byte> image(device::page_image_bytes(geometry));
      const auto deadline = Deadline::after(kPatience);
      ASSERT_EQ(unit->export_page(sequence.pages[i], image, deadline), WaitResult::kDone);
      ASSERT_EQ(unit->import_page(moved[i], image, deadline), WaitResult::kDone);
    }
    sequence.pages = moved;
    ScenarioBatch batch(geometry, 1, random_);
    batch.add(sequence, {});
    ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
    batch.expect_reference(kBound);
  }
}

TEST_P(AttentionUnitTest, BatchesInFlightTakeEffectInSubmissionOrder) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel a(kUsual, deck.take(4)), b(kUsual, deck.take(4));
  std::vector<std::unique_ptr<ScenarioBatch>> batches;
  Ticket last = 0;
  for (int step = 0; step < 6; ++step) {
    auto& batch = batches.emplace_back(std::make_unique<ScenarioBatch>(kUsual, 0, random_));
    batch->add(step % 2 == 0 ? a : b, {.num_q = 2, .num_new = 9});
    const Ticket ticket = batch->submit(*unit);
    EXPECT_GT(ticket, last);
    last = ticket;
    if (step % 2 == 1) {
      ASSERT_EQ(wait(*unit, ticket), WaitResult::kDone);  // and the one before it
    }
  }
  for (const auto& batch : batches) batch->expect_reference(kBound);
}

TEST_P(AttentionUnitTest, AnExpiredDeadlineNeitherBlocksNorLosesTheBatch) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(kUsual, deck.take(4));
  ScenarioBatch batch(kUsual, 0, random_);
  batch.add(sequence, {.num_q = 1, .num_new = 60});
  const Ticket ticket = batch.submit(*unit);
  EXPECT_NE(unit->wait(ticket, Deadline::after({})), WaitResult::kLost);
  ASSERT_EQ(wait(*unit, ticket), WaitResult::kDone);
  EXPECT_EQ(wait(*unit, ticket), WaitResult::kDone);  // asking again is allowed
  batch.expect_reference(kBound);
}

TEST_P(AttentionUnitTest, WrongArgumentsThrowAndLeaveTheUnitWorking) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(kUsual, deck.take(2));
  fill(*unit, sequence, 20, 20, random_);
  const auto refuses = [&](auto damage) {
    ScenarioBatch batch(kUsual, 0, random_);
    SequenceModel copy = sequence;
    batch.add(copy, {.num_new = 1});
    device::AttentionBatch wrong = batch.batch();
    damage(batch, wrong);
    EXPECT_THROW(unit->submit(wrong, batch.out()), Error);
  };
  refuses([](ScenarioBatch&, device::AttentionBatch& b) { b.layer = 2; });
  refuses([](ScenarioBatch&, device::AttentionBatch& b) { b.layer = -1; });
  refuses([](ScenarioBatch&, device::AttentionBatch& b) { b.softcap = -1.0f; });
  refuses([](ScenarioBatch&, device::AttentionBatch& b) { b.softcap = kInf; });
  refuses([](ScenarioBatch&, device::AttentionBatch& b) { b.v = b.v.first(1); });
  refuses([](ScenarioBatch&, device::AttentionBatch& b) { b.pages = b.pages.first(1); });
  refuses([](ScenarioBatch& s, device::AttentionBatch&) { s.sequences()[0].num_attend = 33; });
  refuses([](ScenarioBatch& s, device::AttentionBatch&) {
    s.sequences()[0].attend_begin = s.sequences()[0].num_attend + 1;
  });
  refuses([](ScenarioBatch& s, device::AttentionBatch&) { s.sequences()[0].append_at = 32; });
  refuses([](ScenarioBatch& s, device::AttentionBatch&) { s.sequences()[0].num_q = 2; });
  refuses([](ScenarioBatch& s, device::AttentionBatch&) { s.sequences()[0].new_begin = -1; });
  refuses([&](ScenarioBatch& s, device::AttentionBatch&) {
    s.pages()[1] = unit->capacity().num_pages;
  });
  std::vector<std::byte> image(device::page_image_bytes(kUsual));
  const auto now = Deadline::after(kPatience);
  EXPECT_THROW(unit->export_page(unit->capacity().num_pages, image, now), Error);
  EXPECT_THROW(unit->import_page(0, std::span(image).first(image.size() - 1), now), Error);
  ScenarioBatch batch(kUsual, 0, random_);
  batch.add(sequence, {.num_new = 1});
  ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
  batch.expect_reference(kBound);
}

TEST_P(AttentionUnitTest, StoresKvTypesOrRefusesThem) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8, DType::kF8E4M3}) {
    SCOPED_TRACE(dtype_name(dtype));
    AttentionGeometry geometry = with_dtype(kUsual, dtype);
    const auto unit = make_unit(geometry);
    if (!unit) {
      EXPECT_NE(opened_.device->info().kind, "cpu") << refusal_;
      EXPECT_THAT(refusal_, ::testing::HasSubstr("f16, i8, not " + std::string(dtype_name(dtype))));
      continue;
    }
    PageDeck deck(unit->capacity().num_pages, random_);
    SequenceModel sequence(geometry, deck.take(3));
    ScenarioBatch batch(geometry, 1, random_);
    batch.add(sequence, {.num_q = 3, .num_new = 40});
    ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
    batch.expect_reference(kBound);
  }
}

TEST_P(AttentionUnitTest, AttendsWindowsAndSoftCapsOrRefusesThem) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(kUsual, deck.take(4));
  fill(*unit, sequence, 50, 50, random_);
  for (const reference::AttentionRule rule :
       {reference::AttentionRule{.begin = 17}, {.softcap = 2.0}, {.begin = 32, .softcap = 5.0}}) {
    const device::DeviceInfo& info = opened_.device->info();
    const bool attends =
        (rule.begin == 0 || info.attends_windows) && (rule.softcap == 0 || info.attends_softcap);
    ScenarioBatch batch(kUsual, 0, random_);
    batch.set_rule(rule);
    SequenceModel copy = sequence;
    batch.add(copy, {.num_q = 2, .num_new = 1});
    if (!attends) {
      EXPECT_NE(info.kind, "cpu");
      EXPECT_THROW(batch.submit(*unit), Error);
      continue;
    }
    ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
    batch.expect_reference(kBound);
  }
  ScenarioBatch plain(kUsual, 0, random_);
  plain.add(sequence, {.num_new = 1});
  ASSERT_EQ(wait(*unit, plain.submit(*unit)), WaitResult::kDone);
  plain.expect_reference(kBound);
}

TEST_P(AttentionUnitTest, WrongGeometriesThrow) {
  const auto refuses = [&](auto damage) {
    device::AttentionUnitOptions options{.geometry = kUsual, .kv_bytes = 1 << 20};
    damage(options);
    EXPECT_THROW(opened_.device->make_attention_unit(options), Error);
  };
  refuses([](device::AttentionUnitOptions& o) { o.geometry.head_dim = 257; });
  refuses([](device::AttentionUnitOptions& o) { o.geometry.kv_heads = 3; });
  refuses([](device::AttentionUnitOptions& o) { o.geometry.page_tokens = 24; });
  refuses([](device::AttentionUnitOptions& o) { o.geometry.kv_dtype = DType::kQ8_0; });
  refuses([](device::AttentionUnitOptions& o) { o.kv_bytes = 100; });
}

TEST_P(AttentionUnitTest, ASequenceSplitOverTwoPlacesMergesToTheWhole) {
  const auto unit = make_unit(kUsual);
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel whole(kUsual, deck.take(4)), front(kUsual, deck.take(2)),
      back(kUsual, deck.take(2));
  fill(*unit, front, 32, 32, random_);
  fill(*unit, back, 29, 29, random_);
  for (int layer = 0; layer < kUsual.num_layers; ++layer) {
    for (const SequenceModel* part : {&front, &back}) {
      whole.k[layer].insert(whole.k[layer].end(), part->k[layer].begin(), part->k[layer].end());
      whole.v[layer].insert(whole.v[layer].end(), part->v[layer].begin(), part->v[layer].end());
    }
  }
  // The reference computes the whole; the unit only the parts.
  ScenarioBatch batch(kUsual, 0, random_);
  batch.add(front, {});
  batch.add(back, {});
  const std::size_t row = static_cast<std::size_t>(kUsual.q_heads) * kUsual.head_dim;
  std::copy_n(batch.q().begin() + row, row, batch.q().begin() + 3 * row);  // the same query
  ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
  std::vector<reference::AttentionAnswer> parts;
  for (const std::size_t at : {1, 3}) {
    const float* o = batch.o().data() + at * row;
    const float* lse = batch.lse().data() + at * kUsual.q_heads;
    parts.push_back({{o, o + row}, {lse, lse + kUsual.q_heads}});
  }
  const auto merged = reference::merge_answers(parts);
  for (auto* values : {&whole.k[0], &whole.v[0]}) {
    reference::round_kv(kUsual.kv_dtype, kUsual.head_dim, *values);
  }
  const auto want = reference::reference_attention(kUsual, batch.batch().scale,
                                                   std::span(batch.q()).subspan(row, row),
                                                   whole.k[0], whole.v[0], 61);
  for (std::size_t i = 0; i < row; ++i) EXPECT_NEAR(merged.o[i], want.o[i], 1e-4);
  for (int head = 0; head < kUsual.q_heads; ++head) {
    EXPECT_NEAR(merged.lse[head], want.lse[head], 1e-4);
  }
}

TEST_P(AttentionUnitTest, CapacityKeepsToTheLimitsAndStatsCount) {
  const auto unit = make_unit(kUsual, 10);
  const device::AttentionCapacity capacity = unit->capacity();
  EXPECT_EQ(capacity.num_pages, 10u);
  EXPECT_GE(capacity.page_bytes, device::page_image_bytes(kUsual));
  EXPECT_GT(capacity.read_bandwidth_bytes_per_s, 0.0);
  device::AttentionUnitOptions options{.geometry = kUsual, .kv_bytes = 5 * capacity.page_bytes};
  const std::uint32_t pages = opened_.device->make_attention_unit(options)->capacity().num_pages;
  EXPECT_GE(pages, 1u);
  EXPECT_LE(pages, 5u);

  PageDeck deck(10, random_);
  SequenceModel sequence(kUsual, deck.take(2));
  ScenarioBatch batch(kUsual, 0, random_);
  batch.add(sequence, {.num_new = 20});
  const device::AttentionStats before = unit->stats();
  ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
  const device::AttentionStats after = unit->stats();
  EXPECT_EQ(after.launches, before.launches + 1);
  EXPECT_GE(after.kv_bytes_read - before.kv_bytes_read, std::uint64_t{20} * 2 * 2 * 64 * 2);
  EXPECT_GT(after.busy_seconds, before.busy_seconds);
}

INSTANTIATE_TEST_SUITE_P(Devices, AttentionUnitTest, ::testing::ValuesIn(device_ids()),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
}  // namespace tandem::device_test
