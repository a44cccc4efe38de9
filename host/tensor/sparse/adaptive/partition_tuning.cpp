// SPDX-License-Identifier: Apache-2.0
//
// A line: the key, then grid_bits, hot, cold, least_entries, most_entries.
#include "tensor/sparse/adaptive/partition_tuning.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tensor/sparse/adaptive/bayesian_search.h"

namespace tandem::sparse {
namespace {

namespace fs = std::filesystem;

constexpr int kLeastBits = 3, kMostBits = 12;
constexpr std::size_t kLeastBlock = 1 << 7, kMostBlock = 1 << 14, kMostFused = 1 << 18;

struct KeptLine {
  std::string key;
  AdaptiveOptions options;
};

bool is_sound(const AdaptiveOptions& options) {
  const PlanOptions& plan = options.plan;
  return options.grid_bits >= kLeastBits && options.grid_bits <= kMostBits && plan.hot >= -1 &&
         plan.hot <= 1 && plan.cold >= -1 && plan.cold <= plan.hot &&
         plan.least_entries >= kLeastBlock && plan.least_entries <= kMostBlock &&
         plan.most_entries >= plan.least_entries && plan.most_entries <= kMostFused;
}

std::vector<KeptLine> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<KeptLine> lines;
  std::string text;
  while (lines.size() < kMostStructures && std::getline(in, text)) {
    std::istringstream words(text);
    KeptLine line;
    PlanOptions& plan = line.options.plan;
    words >> line.key >> line.options.grid_bits >> plan.hot >> plan.cold >> plan.least_entries >>
        plan.most_entries;
    if (words && is_sound(line.options)) lines.push_back(std::move(line));
  }
  return lines;
}

// The lock of a file, for as long as the object lives.
class FileLock {
 public:
  explicit FileLock(const std::string& file)
      : descriptor_(::open((file + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    is_held_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) == 0;
  }
  ~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool is_held() const { return is_held_; }

 private:
  int descriptor_;
  bool is_held_ = false;
};

bool write_lines(const std::string& file, std::span<const KeptLine> lines) {
  const std::string fresh = file + "." + std::to_string(::getpid());
  {
    std::ofstream out(fresh);
    out.precision(17);
    for (const KeptLine& line : lines) {
      const PlanOptions& plan = line.options.plan;
      out << line.key << ' ' << line.options.grid_bits << ' ' << plan.hot << ' ' << plan.cold << ' '
          << plan.least_entries << ' ' << plan.most_entries << '\n';
    }
    out.close();
    if (!out) {
      ::unlink(fresh.c_str());
      return false;
    }
  }
  if (::rename(fresh.c_str(), file.c_str()) == 0) return true;
  ::unlink(fresh.c_str());
  return false;
}

int level_of(std::uint64_t number) { return std::bit_width(number); }

}  // namespace

std::string structure_key(const CooTensor& tensor, int threads) {
  std::string key = "n";
  key.append(std::to_string(level_of(tensor.num_entries())));
  key.append("t").append(std::to_string(threads));
  for (const std::uint64_t size : tensor.sizes) {
    key.append("-").append(std::to_string(level_of(size)));
  }
  return key;
}

std::string tuning_file(const char* cache, const char* home) {
  if (cache != nullptr && fs::path(cache).is_absolute()) {
    return fs::path(cache) / "tandem" / "partitions.txt";
  }
  if (home != nullptr && fs::path(home).is_absolute()) {
    return fs::path(home) / ".cache" / "tandem" / "partitions.txt";
  }
  return {};
}

AdaptiveOptions options_at(std::span<const double> point) {
  const auto between = [](double part, double least, double most) {
    return least + part * (most - least);
  };
  AdaptiveOptions options;
  options.grid_bits = static_cast<int>(std::lround(between(point[0], kLeastBits, kMostBits)));
  options.plan.hot = between(point[1], -0.9, 0.8);
  options.plan.cold = std::min(between(point[2], -1, options.plan.hot), options.plan.hot);
  options.plan.least_entries = static_cast<std::size_t>(
      std::exp2(between(point[3], std::log2(kLeastBlock), std::log2(kMostBlock))));
  options.plan.most_entries =
      options.plan.least_entries * static_cast<std::size_t>(std::exp2(between(point[4], 0, 4)));
  return options;
}

std::optional<AdaptiveOptions> kept_options(const std::string& file, const std::string& key) {
  for (const KeptLine& line : lines_of(file)) {
    if (line.key == key) return line.options;
  }
  return std::nullopt;
}

bool keep_options(const std::string& file, const std::string& key, const AdaptiveOptions& options) {
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  const FileLock lock(file);
  if (!lock.is_held()) return false;
  std::vector<KeptLine> lines = lines_of(file);
  std::erase_if(lines, [&](const KeptLine& line) { return line.key == key; });
  if (lines.size() == kMostStructures) lines.erase(lines.begin());
  lines.push_back({key, options});
  return write_lines(file, lines);
}

AdaptiveOptions tuned_options(const CooTensor& tensor, int threads, const TuningSource& source,
                              FunctionRef<double(const AdaptiveOptions&)> seconds) {
  const std::string key = structure_key(tensor, threads);
  if (!source.file.empty()) {
    if (const auto kept = kept_options(source.file, key)) return *kept;
  }
  const auto seen = find_minimum({5, source.evaluations, 1}, [&](std::span<const double> point) {
    return seconds(options_at(point));
  });
  const AdaptiveOptions best = options_at(cheapest(seen).point);
  if (!source.file.empty()) keep_options(source.file, key, best);
  return best;
}

}  // namespace tandem::sparse
