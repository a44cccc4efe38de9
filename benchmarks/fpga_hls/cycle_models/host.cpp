// SPDX-License-Identifier: Apache-2.0
//
// host XCLBIN aggregation SOURCES ENTRIES POSITIONS TILE_BITS | embedding RULE ROWS WIDTH INPUTS |
// product ROWS COLUMNS ENTRIES_PER_ROW | attention GROUP PAGES HEAD_DIM: one run of one unit of a
// kernel of ours; prints the cycles that its driver expects, 0 without a model.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/fpga_hls/aggregation_harness.h"
#include "tests/fpga_hls/attention_harness.h"
#include "tests/fpga_hls/embedding_harness.h"
#include "tests/fpga_hls/product_harness.h"

namespace {

namespace aggregation = tandem::sparse_aggregation;
namespace attention = tandem::attention_decode;
namespace embedding = tandem::embedding_update;
namespace product = tandem::sparse_product;

struct Kernel {
  Kernel(const std::string& xclbin, const std::string& name) : device(0) {
    const auto uuid = device.load_xclbin(xclbin);
    kernel = xrt::kernel(device, uuid, name + ":{" + name + "_1}");
  }
  xrt::bo buffer(std::size_t words, int argument, const void* from = nullptr) {
    xrt::bo made(device, words * 64, kernel.group_id(argument));
    if (from != nullptr) made.write(from);
    made.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    return made;
  }
  // The result's header.
  template <typename Header, typename... Arguments>
  Header run(xrt::bo& result, Arguments... arguments) {
    auto started = kernel(arguments...);
    if (started.wait() != ERT_CMD_STATE_COMPLETED) throw std::runtime_error("the run failed");
    result.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    Header header;
    std::memcpy(static_cast<void*>(&header), result.map<char*>(), sizeof(header));
    if (header.status != tandem::kernel_status::kOk) throw std::runtime_error("a bad input");
    return header;
  }
  xrt::device device;
  xrt::kernel kernel;
};

std::uint32_t number(char** words, int index) {
  return static_cast<std::uint32_t>(std::atoll(words[index]));
}

double aggregation_cycles(const std::string& xclbin, char** words) {
  aggregation::Settings settings;
  settings.num_positions = number(words, 2);
  settings.tile_bits = number(words, 3);
  std::mt19937_64 random(7);
  aggregation::Input input(number(words, 0));
  std::uint64_t entries = 0;
  for (auto& source : input) {
    std::set<std::uint32_t> positions;
    while (positions.size() < number(words, 1)) {
      positions.insert(static_cast<std::uint32_t>(random() % settings.num_positions));
    }
    for (const std::uint32_t each : positions) source.push_back({each, 0x3f800000U});
    entries += source.size();
  }
  const aggregation::Descriptor made = aggregation::make_descriptor(settings, input);
  const auto tiles = static_cast<std::uint32_t>(made.tiles.size());
  const auto room = static_cast<std::uint32_t>(
      aggregation::result_words(settings.format, settings.value_type, settings.tile_bits, tiles,
                                static_cast<std::uint32_t>(entries)));
  Kernel kernel(xclbin, "sparse_aggregation");
  xrt::bo in = kernel.buffer(made.words.size(), 0, made.words.data());
  xrt::bo result = kernel.buffer(room, 3);
  const auto header = kernel.run<aggregation::ResultHeader>(
      result, in, in, in, result, static_cast<std::uint32_t>(made.words.size()), room);
  return static_cast<double>(
      aggregation::modelled_cycles(static_cast<std::uint32_t>(input.size()), tiles, header));
}

double embedding_cycles(const std::string& xclbin, char** words) {
  const std::uint32_t rows = number(words, 1), width = number(words, 2);
  embedding::Step step;
  step.rule = number(words, 0);
  for (std::uint32_t place = 0; place < embedding::kWordValues; ++place) {
    step.factors[place] = embedding::bits(0.5F);
  }
  const std::vector<embedding::Values> inputs(number(words, 3), embedding::Values(width, 1.0F));
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t row = 0; row < rows; ++row) numbers.push_back(3 * row);
  const embedding::Input made = embedding::make_input(
      step, width, 3 * rows, numbers, std::vector<std::vector<embedding::Values>>(rows, inputs));
  const auto room = static_cast<std::uint32_t>(embedding::result_words(step.rule, width, rows));
  const std::uint32_t table_words = 3 * rows * embedding::record_words(step.rule, width);
  Kernel kernel(xclbin, "embedding_update");
  xrt::bo in = kernel.buffer(made.words.size(), 0, made.words.data());
  xrt::bo table = kernel.buffer(table_words, 1), result = kernel.buffer(room, 3);
  const auto header = kernel.run<embedding::ResultHeader>(
      result, in, table, table, result, static_cast<std::uint32_t>(made.words.size()), table_words,
      room);
  return static_cast<double>(embedding::modelled_cycles(rows, header));
}

double product_cycles(const std::string& xclbin, char** words) {
  product::Matrix matrix;
  const std::uint32_t num_rows = number(words, 0), per_row = number(words, 2);
  matrix.columns = number(words, 1);
  if (per_row > matrix.columns) return 0;
  std::mt19937_64 random(7);
  for (std::uint32_t row = 0; row < num_rows; ++row) {
    std::set<std::uint32_t> columns;
    while (columns.size() < per_row) {
      columns.insert(static_cast<std::uint32_t>(random() % matrix.columns));
    }
    matrix.rows.emplace_back();
    for (const std::uint32_t column : columns) matrix.rows.back().emplace_back(column, 1.0F);
  }
  const product::PackedMatrix made = product::pack(matrix);
  const std::uint32_t x_words = product::value_words(matrix.columns);
  const std::uint32_t room = product::result_words(num_rows);
  Kernel kernel(xclbin, "sparse_product");
  xrt::bo in = kernel.buffer(made.words.size(), 0, made.words.data());
  const std::vector<float> ones(std::size_t{x_words} * product::kWordValues, 1.0F);
  xrt::bo x = kernel.buffer(x_words, 2, ones.data()), result = kernel.buffer(room, 3);
  kernel.run<product::ResultHeader>(
      result, in, in, x, result, static_cast<std::uint32_t>(made.words.size()), x_words, room, 1U);
  const std::uint32_t tiles = product::num_tiles(matrix.columns);
  std::uint64_t cycles = product::row_cycles(num_rows, tiles);
  for (std::uint32_t s = 0; s < made.segments.size(); ++s) {
    cycles += product::segment_cycles(made.segments[s],
                                      product::tile_columns(matrix.columns, s % tiles), 1);
  }
  return static_cast<double>(cycles);
}

// It has no model by hand.
void run_attention(const std::string& xclbin, char** words) {
  attention::KernelShape shape;
  shape.group = number(words, 0);
  shape.num_pages = number(words, 1);
  shape.head_dim = number(words, 2);
  attention::SequenceEntry sequence{};
  sequence.num_q = 1;
  sequence.num_pages = shape.num_pages;
  sequence.num_attend = shape.num_pages * shape.page_tokens;
  std::vector<std::uint32_t> pages;
  for (std::uint32_t page = 0; page < shape.num_pages; ++page) pages.push_back(page);
  const std::vector<float> query(shape.head_dim * shape.group, 0.1F), none;
  const attention::Descriptor made =
      attention::make_descriptor(shape, 0, 0.1F, {sequence}, pages, query, none, none);
  const std::uint32_t pool_words =
      shape.num_pages * attention::page_block_words(shape.kv_type, shape.chunks());
  const std::uint32_t room = 1 + attention::result_block_words(shape.group, shape.chunks());
  Kernel kernel(xclbin, "attention_decode");
  xrt::bo in = kernel.buffer(made.words.size(), 0, made.words.data());
  xrt::bo result = kernel.buffer(room, 1);
  xrt::bo k_pool = kernel.buffer(pool_words, 2), v_pool = kernel.buffer(pool_words, 3);
  kernel.run<attention::ResultHeader>(result, in, result, k_pool, v_pool,
                                      static_cast<std::uint32_t>(made.words.size()), room,
                                      pool_words, 0U, 1U, 0U, 1U);
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) return 2;
  const std::string kernel = words[2];
  double cycles = 0;
  if (kernel == "attention") run_attention(words[1], words + 3);
  if (kernel == "aggregation" && count == 7) cycles = aggregation_cycles(words[1], words + 3);
  if (kernel == "embedding" && count == 7) cycles = embedding_cycles(words[1], words + 3);
  if (kernel == "product") cycles = product_cycles(words[1], words + 3);
  if (cycles == 0 && kernel != "attention") return 2;  // no such kernel, or other numbers needed
  std::printf("%.0f\n", cycles);
  return 0;
}
