// SPDX-License-Identifier: Apache-2.0
//
// Scores as bit patterns: for floats that are not negative the order of the bits is that of the
// values. A limit over all matrices is found in two passes of a histogram of 16 bits each.
#include "tensor/prune.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <mutex>
#include <numeric>
#include <string>

#include "common/error.h"
#include "tensor/quantize.h"

namespace tandem {
namespace {

using Scores = std::vector<std::uint32_t>;
constexpr std::size_t kBins = std::size_t{1} << 16;

// A strip: the rows of one row of blocks, as f32.
struct Strip {
  std::vector<float> values;  // [rows, columns]
  std::int64_t rows = 0, columns = 0;
  Scores scores;              // [blocks]
  std::vector<bool> dropped;  // [blocks]
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::size_t num_strips(const TensorView& from, const PrunePattern& pattern) {
  return static_cast<std::size_t>(ceil_div(from.rows, pattern.block_rows));
}

void read(const TensorView& from, const PrunePattern& pattern, std::size_t index, Strip& strip) {
  const std::int64_t first = static_cast<std::int64_t>(index) * pattern.block_rows;
  strip.rows = std::min(pattern.block_rows, from.rows - first);
  strip.columns = from.columns;
  strip.values.resize(static_cast<std::size_t>(strip.rows * strip.columns));
  for (std::int64_t row = 0; row < strip.rows; ++row) {
    dequantize_row(from, first + row, strip.values.data() + row * strip.columns);
  }
  const std::int64_t blocks = ceil_div(from.columns, pattern.block_columns);
  strip.scores.resize(static_cast<std::size_t>(blocks));
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * pattern.block_columns;
    const std::int64_t end = std::min(begin + pattern.block_columns, from.columns);
    float sum = 0;
    for (std::int64_t row = 0; row < strip.rows; ++row) {
      const float* values = strip.values.data() + row * strip.columns;
      for (std::int64_t i = begin; i < end; ++i) sum += std::fabs(values[i]);
    }
    if (!std::isfinite(sum)) {
      throw Error("prune", "'" + from.name + "', rows from " + std::to_string(first) +
                               ": holds a value that is not finite");
    }
    strip.scores[static_cast<std::size_t>(block)] = std::bit_cast<std::uint32_t>(sum);
  }
  strip.dropped.assign(strip.scores.size(), false);
}

std::uint64_t share(double fraction, std::uint64_t count) {
  return static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(count)));
}

// Drops the `count` lowest scores in [begin, end), the first of equal ones.
void drop_lowest(Strip& strip, std::size_t begin, std::size_t end, std::uint64_t count) {
  std::vector<std::size_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(strip.scores[a], a) < std::pair(strip.scores[b], b);
  });
  for (auto at = order.begin(); at != middle; ++at) strip.dropped[*at] = true;
}

void choose_in_row(Strip& strip, const PruneOptions& options) {
  const std::size_t count = strip.scores.size();
  if (options.pattern.of == 0) {
    return drop_lowest(strip, 0, count, share(options.fraction, count));
  }
  const auto group = static_cast<std::size_t>(options.pattern.of);
  for (std::size_t begin = 0; begin < count; begin += group) {
    drop_lowest(strip, begin, begin + group,
                group - static_cast<std::size_t>(options.pattern.keep));
  }
}

void choose_below(Strip& strip, std::uint32_t limit, std::uint64_t equals) {
  for (std::size_t i = 0; i < strip.scores.size(); ++i) {
    const bool is_equal = strip.scores[i] == limit;
    strip.dropped[i] = strip.scores[i] < limit || (is_equal && equals > 0);
    if (is_equal && equals > 0) --equals;
  }
}

// Returns the zeros in the result: those that were chosen, and values below the range of `to`.
std::uint64_t write(Strip& strip, const PrunePattern& pattern, DType to, std::byte* result) {
  const auto columns = static_cast<std::size_t>(strip.columns);
  std::uint64_t zeros = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(strip.rows); ++row) {
    float* values = strip.values.data() + row * columns;
    for (std::size_t i = 0; i < columns; ++i) {
      if (strip.dropped[i / static_cast<std::size_t>(pattern.block_columns)]) values[i] = 0.0f;
    }
    std::byte* written = result + row * dtype_row_bytes(to, columns);
    quantize_row(to, values, written, columns);
    if (to != DType::kF32) dequantize_row(to, written, values, columns);
    zeros += static_cast<std::uint64_t>(std::count(values, values + columns, 0.0f));
  }
  return zeros;
}

std::int64_t parse_count(std::string_view text, std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 4096) {
    throw Error("prune", "'" + std::string(word) +
                             "' is not a pattern; use values, N:M such as 2:4, or RxC such as 8x8");
  }
  return value;
}

void check(const PruneOptions& options) {
  if (!(options.fraction > 0.0 && options.fraction < 1.0)) {
    throw Error("prune",
                "the fraction " + std::to_string(options.fraction) + " is not above 0 and below 1");
  }
  const PrunePattern& pattern = options.pattern;
  if (pattern.of == 0) return;
  const double fixed = 1.0 - static_cast<double>(pattern.keep) / static_cast<double>(pattern.of);
  if (std::fabs(fixed - options.fraction) > 1e-6) {
    throw Error("prune", "the pattern " + std::to_string(pattern.keep) + ":" +
                             std::to_string(pattern.of) + " prunes " + std::to_string(fixed) +
                             " of the values, not " + std::to_string(options.fraction));
  }
  if (options.scope == PruneScope::kGlobal) {
    throw Error("prune", "a pattern N:M prunes every group of a row; it has no global scope");
  }
}

void check_fits(const PrunePattern& pattern, const TensorView& matrix) {
  if (pattern.of != 0 && matrix.columns % pattern.of != 0) {
    throw Error("prune", "'" + matrix.name + "' has rows of " + std::to_string(matrix.columns) +
                             " values, which do not divide into groups of " +
                             std::to_string(pattern.of));
  }
}

}  // namespace

PrunePattern parse_prune_pattern(std::string_view word) {
  PrunePattern pattern;
  if (word == "values") return pattern;
  const std::size_t at = word.find_first_of(":x");
  const std::string_view first = word.substr(0, at);
  const std::string_view second = at == std::string_view::npos ? "" : word.substr(at + 1);
  const std::int64_t a = parse_count(first, word), b = parse_count(second, word);
  if (word[at] == 'x') {
    pattern.block_rows = a;
    pattern.block_columns = b;
    return pattern;
  }
  if (a >= b) throw Error("prune", "'" + std::string(word) + "' keeps every value");
  pattern.keep = a;
  pattern.of = b;
  return pattern;
}

Pruner::Pruner(const PruneOptions& options, std::span<const TensorView> matrices, ThreadPool& pool)
    : options_(options) {
  check(options);
  for (const TensorView& matrix : matrices) check_fits(options.pattern, matrix);
  if (options.scope == PruneScope::kGlobal) find_limit(matrices, pool);
}

void Pruner::find_limit(std::span<const TensorView> matrices, ThreadPool& pool) {
  std::uint64_t left = 0;  // units to drop, among those that share the bits found so far
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::uint64_t> histogram(kBins);
    std::mutex mutex;
    for (const TensorView& matrix : matrices) {
      const std::size_t strips = num_strips(matrix, options_.pattern);
      const std::size_t parts = std::min<std::size_t>(strips, 64);
      pool.run(parts, [&](std::size_t part) {
        std::vector<std::uint64_t> mine(kBins);
        Strip strip;
        for (std::size_t s = strips * part / parts; s < strips * (part + 1) / parts; ++s) {
          read(matrix, options_.pattern, s, strip);
          for (const std::uint32_t score : strip.scores) {
            if (pass == 0) {
              ++mine[score >> 16];
            } else if (score >> 16 == limit_ >> 16) {
              ++mine[score & 0xffff];
            }
          }
        }
        const std::scoped_lock lock(mutex);
        for (std::size_t bin = 0; bin < kBins; ++bin) histogram[bin] += mine[bin];
      });
    }
    if (pass == 0) {
      left = share(options_.fraction,
                   std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0}));
    }
    std::uint32_t bin = 0;
    while (bin + 1 < kBins && histogram[bin] <= left) left -= histogram[bin++];
    limit_ |= pass == 0 ? bin << 16 : bin;
  }
  equals_ = left;
}

void Pruner::prune(const TensorView& from, DType to, std::byte* result, ThreadPool& pool) {
  check_fits(options_.pattern, from);
  const std::size_t strips = num_strips(from, options_.pattern);
  const std::size_t strip_bytes = static_cast<std::size_t>(options_.pattern.block_rows) *
                                  dtype_row_bytes(to, static_cast<std::size_t>(from.columns));
  std::vector<std::uint64_t> equals(strips), zeros(strips);
  const bool is_global = options_.scope == PruneScope::kGlobal;
  if (is_global) {
    pool.run(strips, [&](std::size_t s) {
      Strip strip;
      read(from, options_.pattern, s, strip);
      equals[s] =
          static_cast<std::uint64_t>(std::count(strip.scores.begin(), strip.scores.end(), limit_));
    });
    for (std::uint64_t& strip : equals) {  // now: how many of these the strip may drop
      const std::uint64_t mine = std::min(strip, equals_);
      equals_ -= mine;
      strip = mine;
    }
  }
  pool.run(strips, [&](std::size_t s) {
    Strip strip;
    read(from, options_.pattern, s, strip);
    if (is_global) {
      choose_below(strip, limit_, equals[s]);
    } else {
      choose_in_row(strip, options_);
    }
    zeros[s] = write(strip, options_.pattern, to, result + s * strip_bytes);
  });
  values_ += static_cast<std::uint64_t>(from.rows * from.columns);
  zeros_ += std::accumulate(zeros.begin(), zeros.end(), std::uint64_t{0});
}

}  // namespace tandem
