// SPDX-License-Identifier: Apache-2.0
//
// Records are built value by value in whole words of 16; abi.h has their layout.
#include "xrt/tables/table_plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

namespace abi = embedding_update;

constexpr std::uint64_t kMostWords = std::uint64_t{1} << 31;

std::uint32_t rule_of(TableRule rule) {
  switch (rule) {
    case TableRule::kSgd:
      return abi::kSgd;
    case TableRule::kRowwiseAdagrad:
      return abi::kRowwiseAdagrad;
    case TableRule::kRowAdam:
      break;
  }
  return abi::kRowAdam;
}

// The parts of a record: where its weights and moments are.
class Record {
 public:
  Record(const TableShape& shape, float* words) : shape_(shape), words_(words) {}

  float& accumulator() { return words_[0]; }

  // Copies a row between the record and an array. plane: 0 weights, 1 first, 2 second moments.
  template <typename Copy>
  void each_word(std::uint32_t plane, const Copy& copy) {
    const bool adam = shape_.rule == TableRule::kRowAdam;
    const std::uint32_t first = shape_.rule == TableRule::kRowwiseAdagrad ? 1 : 0;
    for (std::uint32_t word = 0; word < abi::row_words(shape_.width); ++word) {
      const std::uint32_t at = adam ? 3 * word + plane : first + word;
      const std::uint32_t begin = word * abi::kWordValues;
      copy(words_ + std::size_t{at} * abi::kWordValues, begin,
           std::min(abi::kWordValues, shape_.width - begin));
    }
  }

 private:
  const TableShape& shape_;
  float* words_;
};

void pack_row(const TableShape& shape, const TableArrays& arrays, std::uint64_t row, float* words) {
  Record record(shape, words);
  const std::span<float> planes[] = {arrays.weights, arrays.first, arrays.second};
  const std::uint32_t num_planes = shape.rule == TableRule::kRowAdam ? 3 : 1;
  for (std::uint32_t plane = 0; plane < num_planes; ++plane) {
    const float* from = planes[plane].data() + row * shape.width;
    record.each_word(plane, [&](float* to, std::uint32_t begin, std::uint32_t count) {
      std::memcpy(to, from + begin, count * sizeof(float));
    });
  }
  if (shape.rule == TableRule::kRowwiseAdagrad) record.accumulator() = arrays.first[row];
}

void unpack_row(const TableShape& shape, float* words, std::uint64_t row,
                const TableArrays& arrays) {
  Record record(shape, words);
  const std::span<float> planes[] = {arrays.weights, arrays.first, arrays.second};
  const std::uint32_t num_planes = shape.rule == TableRule::kRowAdam ? 3 : 1;
  for (std::uint32_t plane = 0; plane < num_planes; ++plane) {
    float* to = planes[plane].data() + row * shape.width;
    record.each_word(plane, [&](const float* from, std::uint32_t begin, std::uint32_t count) {
      std::memcpy(to + begin, from, count * sizeof(float));
    });
  }
  if (shape.rule == TableRule::kRowwiseAdagrad) arrays.first[row] = record.accumulator();
}

std::vector<std::uint32_t> factor_words(const TableFactors& f, std::uint32_t width) {
  std::vector<std::uint32_t> words(abi::kWordValues, 0);
  const std::pair<abi::Factor, float> all[] = {{abi::kScale, f.scale},
                                               {abi::kRate, f.rate},
                                               {abi::kDecay, f.decay},
                                               {abi::kEpsilon, f.epsilon},
                                               {abi::kBeta1, f.beta1},
                                               {abi::kRest1, f.rest1},
                                               {abi::kBeta2, f.beta2},
                                               {abi::kRest2, f.rest2},
                                               {abi::kCorrect1, f.correct1},
                                               {abi::kCorrect2, f.correct2},
                                               {abi::kWidth, static_cast<float>(width)}};
  for (const auto& [place, value] : all) words[place] = std::bit_cast<std::uint32_t>(value);
  return words;
}

// The end of the run of equal rows that begins at `begin`.
std::size_t end_of_row(const TablePlan& plan, const TableUpdate& update, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < plan.order.size() &&
         update.rows[plan.order[end]] == update.rows[plan.order[begin]]) {
    ++end;
  }
  return end;
}

void lay_out(TableCall& call, const TableUpdate& update, const PlacedTable& table,
             std::uint32_t entries) {
  abi::InputHeader& h = call.header;
  h.magic = abi::kMagic;
  h.abi_version = abi::kAbiVersion;
  h.rule = rule_of(table.shape.rule);
  h.decay_mode = static_cast<std::uint32_t>(update.factors.decay_mode);
  h.width = table.shape.width;
  h.table_word = table.first_word;
  h.num_table_rows = static_cast<std::uint32_t>(table.rows_of(call.unit));
  h.num_entries = entries;
  h.num_inputs = static_cast<std::uint32_t>(call.end - call.begin);
  h.rows_word = 2;
  h.gradients_word = h.rows_word + abi::entry_words(entries);
  h.num_words = h.gradients_word + h.num_inputs * abi::row_words(h.width);
  call.input_bytes = std::size_t{h.num_words} * abi::kWordBytes;
  call.result_bytes = abi::result_words(h.rule, h.width, entries) * abi::kWordBytes;
}

// Cuts one unit's places [begin, end) into calls that fit the room.
std::vector<TableCall> calls_of(const TablePlan& plan, const TableUpdate& update,
                                const PlacedTable& table, const TableCall& all,
                                std::size_t room_bytes) {
  const std::size_t row_bytes = std::size_t{abi::row_words(table.shape.width)} * abi::kWordBytes;
  const std::size_t fixed = 3 * abi::kWordBytes;
  const std::size_t entry_bytes =
      std::max(sizeof(abi::RowEntry) + row_bytes,
               std::size_t{table.record} * abi::kWordBytes);  // of input or result
  std::vector<TableCall> calls;
  TableCall call = all;
  call.end = call.begin;
  std::size_t bytes = fixed;
  std::uint32_t entries = 0;
  const auto close = [&] {
    if (entries == 0) return;
    lay_out(call, update, table, entries);
    calls.push_back(call);
    call.begin = call.end;
    bytes = fixed;
    entries = 0;
  };
  while (call.end < all.end) {
    const std::size_t end = end_of_row(plan, update, call.end);
    const std::size_t more = entry_bytes + (end - call.end - 1) * row_bytes;
    if (fixed + more > room_bytes) {
      throw Error("xrt", "row " + std::to_string(update.rows[plan.order[call.end]]) + " has " +
                             std::to_string(end - call.end) + " gradients of " +
                             std::to_string(row_bytes) + " bytes; the card takes " +
                             std::to_string(room_bytes) + " bytes at once");
    }
    if (bytes + more > room_bytes) close();
    call.end = end;
    bytes += more;
    ++entries;
  }
  close();
  return calls;
}

}  // namespace

std::uint64_t PlacedTable::first_row(std::size_t unit) const {
  return std::min(shape.num_rows, unit * share);
}

std::uint64_t PlacedTable::rows_of(std::size_t unit) const {
  return first_row(unit + 1) - first_row(unit);
}

TableLayout place_tables(std::span<const TableShape> shapes, std::size_t num_units) {
  TableLayout layout;
  std::uint64_t words = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const TableShape& shape = shapes[i];
    const std::string name = "table " + std::to_string(i);
    if (shape.num_rows > std::uint64_t{1} << 32) {
      throw Error("xrt", name + " has " + std::to_string(shape.num_rows) +
                             " rows; a card takes up to 2^32");
    }
    if (shape.width == 0 || shape.width > abi::kMaxWidth) {
      throw Error("xrt", name + " has rows of " + std::to_string(shape.width) +
                             " values; a card takes 1 to " + std::to_string(abi::kMaxWidth));
    }
    PlacedTable table{shape, (shape.num_rows + num_units - 1) / num_units,
                      static_cast<std::uint32_t>(words),
                      abi::record_words(rule_of(shape.rule), shape.width)};
    words += table.share * table.record;
    if (words >= kMostWords) {
      throw Error("xrt", "the tables up to " + name + " need " +
                             std::to_string(words * abi::kWordBytes) +
                             " bytes in a unit, which can address " +
                             std::to_string(kMostWords * abi::kWordBytes));
    }
    layout.tables.push_back(table);
  }
  layout.unit_bytes = words * abi::kWordBytes;
  return layout;
}

void pack_tables(const TableLayout& layout, std::span<const TableArrays> arrays, std::size_t unit,
                 std::span<std::byte> to) {
  std::memset(to.data(), 0, to.size());
  auto* words = reinterpret_cast<float*>(to.data());
  for (std::size_t i = 0; i < layout.tables.size(); ++i) {
    const PlacedTable& table = layout.tables[i];
    float* record = words + std::size_t{table.first_word} * abi::kWordValues;
    for (std::uint64_t row = table.first_row(unit); row < table.first_row(unit + 1); ++row) {
      pack_row(table.shape, arrays[i], row, record);
      record += std::size_t{table.record} * abi::kWordValues;
    }
  }
}

TablePlan plan_update(const TableUpdate& update, const PlacedTable& table, std::size_t num_units,
                      std::size_t room_bytes) {
  TablePlan plan;
  plan.order.resize(update.rows.size());
  std::iota(plan.order.begin(), plan.order.end(), 0u);
  std::ranges::stable_sort(plan.order, {}, [&](std::uint32_t at) { return update.rows[at]; });
  if (!plan.order.empty() && update.rows[plan.order.back()] >= table.shape.num_rows) {
    throw Error("xrt", "row " + std::to_string(update.rows[plan.order.back()]) +
                           " is beyond the table's " + std::to_string(table.shape.num_rows) +
                           " rows");
  }
  std::size_t begin = 0;
  for (std::size_t unit = 0; unit < num_units; ++unit) {
    const std::uint64_t last = table.first_row(unit + 1);
    const auto next = std::ranges::partition_point(
        plan.order, [&](std::uint32_t at) { return update.rows[at] < last; });
    TableCall all;
    all.unit = unit;
    all.begin = begin;
    all.end = static_cast<std::size_t>(next - plan.order.begin());
    begin = all.end;
    const std::vector<TableCall> calls = calls_of(plan, update, table, all, room_bytes);
    plan.rounds.resize(std::max(plan.rounds.size(), calls.size()));
    for (std::size_t round = 0; round < calls.size(); ++round) {
      plan.rounds[round].push_back(calls[round]);
      plan.num_rows += calls[round].header.num_entries;
    }
  }
  return plan;
}

void write_input(const TableCall& call, const TablePlan& plan, const TableUpdate& update,
                 const PlacedTable& table, std::span<std::byte> to) {
  const abi::InputHeader& h = call.header;
  std::memset(to.data(), 0, to.size());
  std::memcpy(to.data(), &h, sizeof(h));
  const auto factors = factor_words(update.factors, h.width);
  std::memcpy(to.data() + abi::kWordBytes, factors.data(), abi::kWordBytes);
  std::byte* entry = to.data() + std::size_t{h.rows_word} * abi::kWordBytes;
  std::byte* gradient = to.data() + std::size_t{h.gradients_word} * abi::kWordBytes;
  const std::size_t row_bytes = std::size_t{abi::row_words(h.width)} * abi::kWordBytes;
  const std::uint64_t first = table.first_row(call.unit);
  for (std::size_t i = call.begin; i < call.end;) {
    const std::size_t end = end_of_row(plan, update, i);
    const abi::RowEntry one = {static_cast<std::uint32_t>(update.rows[plan.order[i]] - first),
                               static_cast<std::uint32_t>(end - i)};
    std::memcpy(entry, &one, sizeof(one));
    entry += sizeof(one);
    for (; i < end; ++i, gradient += row_bytes) {
      std::memcpy(gradient, update.gradients.data() + std::size_t{plan.order[i]} * h.width,
                  h.width * sizeof(float));
    }
  }
}

void read_records(const TableCall& call, const TablePlan& plan, const TableUpdate& update,
                  const PlacedTable& table, const std::byte* records, const TableArrays& arrays) {
  std::vector<float> words(std::size_t{table.record} * abi::kWordValues);
  for (std::size_t i = call.begin; i < call.end; i = end_of_row(plan, update, i)) {
    std::memcpy(words.data(), records, words.size() * sizeof(float));
    unpack_row(table.shape, words.data(), update.rows[plan.order[i]], arrays);
    records += words.size() * sizeof(float);
  }
}

}  // namespace tandem::device::xrt_card
