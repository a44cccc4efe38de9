// SPDX-License-Identifier: Apache-2.0
//
// Divides tables and their updates over the compute units of a card: the place of each unit's rows,
// its inputs and its results.
//
// Unit u has the rows [u * share, (u + 1) * share) of every table, one table after another. An
// update is cut into rounds: in each a unit gets at most as many input bytes as it has room for.
// Pure, except for the written bytes. Errors: Error for a row that does not exist, or a single row
// whose gradients do not fit into an input. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/table_unit.h"
#include "embedding_update/abi.h"

namespace tandem::device::xrt_card {

struct PlacedTable {
  TableShape shape;
  std::uint64_t share = 0;       // rows of a unit
  std::uint32_t first_word = 0;  // index of the table's first word in every unit's memory
  std::uint32_t record = 0;      // words of a row's record

  std::uint64_t first_row(std::size_t unit) const;
  std::uint64_t rows_of(std::size_t unit) const;
};

struct TableLayout {
  std::vector<PlacedTable> tables;
  std::uint64_t unit_bytes = 0;  // bytes that the tables take in every unit's memory
};

// Error for a width or a number of rows above the kernel's, or more words than it can address.
TableLayout place_tables(std::span<const TableShape> shapes, std::size_t num_units);

// All rows of a unit, in the layout of its memory. to: [layout.unit_bytes]
void pack_tables(const TableLayout& layout, std::span<const TableArrays> arrays, std::size_t unit,
                 std::span<std::byte> to);

// A unit's part of a round: places [begin, end) in TablePlan::order.
struct TableCall {
  std::size_t unit = 0;
  std::size_t begin = 0, end = 0;
  embedding_update::InputHeader header{};
  std::size_t input_bytes = 0, result_bytes = 0;
};

struct TablePlan {
  std::vector<std::uint32_t> order;  // indices into the update's list, sorted by row (stable)
  std::vector<std::vector<TableCall>> rounds;  // at most one call per unit in each
  std::uint64_t num_rows = 0;                  // number of different rows
};

TablePlan plan_update(const TableUpdate& update, const PlacedTable& table, std::size_t num_units,
                      std::size_t room_bytes);

// to: [call.input_bytes]
void write_input(const TableCall& call, const TablePlan& plan, const TableUpdate& update,
                 const PlacedTable& table, std::span<std::byte> to);

// Copies the records of a call's result into the caller's arrays.
void read_records(const TableCall& call, const TablePlan& plan, const TableUpdate& update,
                  const PlacedTable& table, const std::byte* records, const TableArrays& arrays);

}  // namespace tandem::device::xrt_card
