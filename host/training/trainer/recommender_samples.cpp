// SPDX-License-Identifier: Apache-2.0
//
// Opening finds the beginnings of lines and checks them all, by all threads.
#include "training/trainer/recommender_samples.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/thread_pool.h"
#include "model/loader/mapped_file.h"
#include "training/trainer/input_file.h"
#include "training/trainer/synthetic_samples.h"
#include "training/trainer/windows.h"

namespace tandem::training {
namespace {

constexpr int kNumbers = 13, kWords = 26;
constexpr std::uint64_t kCheckedLines = 4096;  // that a thread takes at once

class CriteoFile final : public RecommenderSamples {
 public:
  CriteoFile(const std::string& path, const RecommenderConfig& config, std::uint64_t seed)
      : path_(path),
        file_(path),
        rows_(config.rows.begin(), config.rows.end()),
        lines_(lines_of(text())),
        order_(lines_.size() - 1, 1, seed) {
    if (lines_.size() < 2)
      throw Error("train",
                  "'" + path +
                      "' has no samples; give --data a file with a sample per line, or the word "
                      "synthetic");
    check_lines();
  }

  std::uint64_t size() const override { return lines_.size() - 1; }
  void read(std::uint64_t number, RecommenderSample& to) const override {
    read_in_order(order_.begin(number), to);
  }
  void read_in_order(std::uint64_t number, RecommenderSample& to) const override {
    parse(number, &to);
  }
  std::uint64_t checksum() const override {
    return XXH64(text().data(), text().size(), rows_.size());
  }

 private:
  std::string_view text() const {
    return {reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()};
  }
  // Where lines begin, and the end of the last.
  static std::vector<std::uint64_t> lines_of(std::string_view text) {
    std::vector<std::uint64_t> lines = {0};
    while (lines.back() < text.size()) {
      const std::size_t end = text.find('\n', lines.back());
      lines.push_back(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
  }
  [[noreturn]] void fail(std::uint64_t number, const std::string& what) const {
    throw Error("train", "'" + path_ + "' line " + std::to_string(number + 1) + ": " + what);
  }
  long long number_of(std::uint64_t line, std::string_view field) const {
    long long value = 0;
    if (field.empty()) return 0;
    const auto parsed = std::from_chars(field.data(), field.data() + field.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != field.data() + field.size()) {
      fail(line, "'" + std::string(field) + "' is not a whole number");
    }
    return value;
  }

  // Throws for the first bad line of the file.
  void check_lines() const;
  // to: null only checks the line.
  void parse(std::uint64_t number, RecommenderSample* to) const;

  std::string path_;
  model::MappedFile file_;
  std::vector<std::uint64_t> rows_;
  std::vector<std::uint64_t> lines_;
  Windows order_;
};

// Parts begin in the order of the file, so the first bad line lies in a part that is checked.
void CriteoFile::check_lines() const {
  std::atomic<std::uint64_t> first_bad = size();
  ThreadPool pool;
  pool.run((size() + kCheckedLines - 1) / kCheckedLines, [&](std::size_t part) {
    const std::uint64_t end = std::min(size(), (part + 1) * kCheckedLines);
    std::uint64_t line = part * kCheckedLines;
    if (line > first_bad) return;
    try {
      for (; line < end; ++line) parse(line, nullptr);
    } catch (const Error&) {
      std::uint64_t before = first_bad;
      while (line < before && !first_bad.compare_exchange_weak(before, line)) {
      }
    }
  });
  if (first_bad < size()) parse(first_bad, nullptr);
}

void CriteoFile::parse(std::uint64_t number, RecommenderSample* to) const {
  std::string_view left = text().substr(lines_[number], lines_[number + 1] - lines_[number]);
  while (left.ends_with('\n') || left.ends_with('\r')) left.remove_suffix(1);
  int fields = 0;
  for (bool more = true; more; ++fields) {
    const std::size_t tab = left.find('\t');
    more = tab != std::string_view::npos;
    const std::string_view field = left.substr(0, tab);
    left.remove_prefix(more ? tab + 1 : left.size());
    if (fields == 0) {
      if (field != "0" && field != "1") fail(number, "the label is neither 0 nor 1");
      if (to != nullptr) to->label = field == "1" ? 1.0f : 0.0f;
    } else if (fields <= kNumbers) {
      const long long value = number_of(number, field);
      if (to == nullptr) continue;
      const double logarithm = std::log1p(static_cast<double>(std::max(value, 0ll)));
      to->dense[static_cast<std::size_t>(fields - 1)] = static_cast<float>(logarithm);
    } else if (fields <= kNumbers + kWords && to != nullptr) {
      const auto table = static_cast<std::size_t>(fields - 1 - kNumbers);
      to->rows[table] =
          static_cast<std::uint32_t>(XXH64(field.data(), field.size(), table) % rows_[table]);
    }
  }
  if (fields != 1 + kNumbers + kWords) {
    fail(number, "has " + std::to_string(fields) +
                     " fields, not a label, 13 numbers and 26 words parted by tabs");
  }
}

}  // namespace

std::unique_ptr<RecommenderSamples> open_samples(const std::string& source,
                                                 const RecommenderConfig& config,
                                                 std::uint64_t seed) {
  if (source == kSyntheticSamples) return synthetic_samples(config, seed);
  require_file(source, "a file of Criteo's format, or the word synthetic");
  if (config.dense != kNumbers || config.tables() != kWords || config.bag != 1) {
    throw Error("train", "'" + source + "' has 13 numbers and 26 words a line; the model takes " +
                             std::to_string(config.dense) + " numbers and has " +
                             std::to_string(config.tables()) + " tables with bags of " +
                             std::to_string(config.bag) +
                             "; give --model-config dense = 13, 26 tables and bag = 1");
  }
  return std::make_unique<CriteoFile>(source, config, seed);
}

}  // namespace tandem::training
