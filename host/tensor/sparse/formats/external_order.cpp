// SPDX-License-Identifier: Apache-2.0
//
// A record is the indices, then the bits of the value; a heap of runs gives the next one.
#include "tensor/sparse/formats/external_order.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <queue>

#include "common/error.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;
constexpr std::uint64_t kMostIndex = ~std::uint64_t{0};

[[noreturn]] void fail_run(const char* what, const std::string& folder, int error) {
  throw Error("tensor", std::string("cannot ") + what + " a temporary file in " + folder + ": " +
                            std::strerror(error) +
                            "; name another folder in TMPDIR, or give more --memory");
}

int nameless_file(const std::string& folder) {
  std::string path = folder + "/tandem-tensor-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) fail_run("create", folder, errno);
  ::unlink(path.c_str());
  return file;
}

void write_words(int file, const std::vector<std::uint64_t>& words, const std::string& folder) {
  const char* at = reinterpret_cast<const char*>(words.data());
  std::size_t left = words.size() * sizeof(std::uint64_t);
  while (left > 0) {
    const ssize_t count = ::write(file, at, left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_run("write", folder, count < 0 ? errno : EIO);
    at += count;
    left -= static_cast<std::size_t>(count);
  }
}

void read_words(int file, std::uint64_t offset, std::span<std::uint64_t> words) {
  char* at = reinterpret_cast<char*>(words.data());
  std::size_t left = words.size_bytes();
  while (left > 0) {
    const ssize_t count = ::pread(file, at, left, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw Error("tensor", std::string("cannot read a temporary file: ") +
                                std::strerror(count < 0 ? errno : EIO));
    }
    at += count;
    offset += static_cast<std::uint64_t>(count);
    left -= static_cast<std::size_t>(count);
  }
}

// The records of a run, block by block.
class RunReader {
 public:
  RunReader(int file, std::uint64_t first, std::uint64_t last, std::size_t width, std::size_t block)
      : file_(file), next_(first), last_(last), width_(width), block_(block) {
    refill();
  }

  bool is_empty() const { return at_ == words_.size(); }
  const std::uint64_t* record() const { return words_.data() + at_; }
  void advance() {
    at_ += width_;
    if (at_ == words_.size()) refill();
  }

 private:
  void refill() {
    const std::uint64_t count = std::min<std::uint64_t>(block_, last_ - next_);
    words_.resize(count * width_);
    at_ = 0;
    read_words(file_, next_ * width_ * sizeof(std::uint64_t), words_);
    next_ += count;
  }

  int file_;
  std::uint64_t next_, last_;
  std::size_t width_, block_, at_ = 0;
  std::vector<std::uint64_t> words_;
};

// Collects summed entries, and passes them on in chunks.
class ChunkMaker {
 public:
  ChunkMaker(std::size_t order, ExternalOrder::Visit take) : take_(take), order_(order) { clear(); }

  void add(const std::uint64_t* record) {
    const double value = std::bit_cast<double>(record[order_]);
    const std::size_t last = values_.size();
    if (last > 0 && std::equal(record, record + order_, indices_.end() - width())) {
      values_.back() += value;
      return;
    }
    // A duplicate of the last entry may follow, so a chunk ends before a new one.
    if (last == kChunk) flush();
    indices_.insert(indices_.end(), record, record + order_);
    values_.push_back(value);
  }

  void flush() {
    if (values_.empty()) return;
    CooTensor chunk;
    chunk.indices.resize(order_);
    for (std::size_t mode = 0; mode < order_; ++mode) {
      std::uint64_t greatest = 0;
      for (std::size_t i = 0; i < values_.size(); ++i) {
        greatest = std::max(greatest, indices_[i * order_ + mode]);
      }
      chunk.indices[mode].resize(values_.size(), greatest);
      for (std::size_t i = 0; i < values_.size(); ++i) {
        chunk.indices[mode].set(i, indices_[i * order_ + mode]);
      }
    }
    chunk.sizes.assign(order_, kMostIndex);
    chunk.values.assign(values_.begin(), values_.end());
    take_(chunk);
    clear();
  }

 private:
  std::ptrdiff_t width() const { return static_cast<std::ptrdiff_t>(order_); }
  void clear() {
    indices_.clear();
    values_.clear();
  }

  ExternalOrder::Visit take_;
  std::size_t order_;
  std::vector<std::uint64_t> indices_;
  std::vector<double> values_;
};

// Buffer and sorted copy, keys, their positions and a second array of these.
std::size_t bytes_of_entry(std::size_t order) { return 16 * order + 16 + 48; }

}  // namespace

ExternalOrder::ExternalOrder(std::vector<std::size_t> modes, SortMemory memory, ThreadPool& pool)
    : modes_(std::move(modes)),
      memory_(std::move(memory)),
      capacity_(std::max<std::size_t>(memory_.bytes / bytes_of_entry(modes_.size()), 2)),
      pool_(pool),
      greatest_(modes_.size(), 0) {
  buffer_.indices.resize(modes_.size());
}

ExternalOrder::~ExternalOrder() {
  if (file_ >= 0) ::close(file_);
}

void ExternalOrder::add(const CooTensor& chunk) {
  for (std::size_t begin = 0; begin < chunk.num_entries();) {
    if (buffer_.num_entries() == capacity_) spill();
    const std::size_t room = capacity_ - buffer_.num_entries();
    const std::size_t end = std::min(begin + room, chunk.num_entries());
    append(chunk, begin, end);
    begin = end;
  }
}

void ExternalOrder::append(const CooTensor& chunk, std::size_t begin, std::size_t end) {
  const std::size_t before = buffer_.num_entries(), after = before + (end - begin);
  for (std::size_t m = 0; m < modes_.size(); ++m) {
    const IndexColumn& from = chunk.indices[modes_[m]];
    for (std::size_t i = begin; i < end; ++i) greatest_[m] = std::max(greatest_[m], from[i]);
    buffer_.indices[m].resize(after, greatest_[m]);
    for (std::size_t i = begin; i < end; ++i) buffer_.indices[m].set(before + i - begin, from[i]);
  }
  buffer_.values.resize(after);
  std::copy(chunk.values.begin() + static_cast<std::ptrdiff_t>(begin),
            chunk.values.begin() + static_cast<std::ptrdiff_t>(end),
            buffer_.values.begin() + static_cast<std::ptrdiff_t>(before));
  is_sorted_ = false;
}

void ExternalOrder::sort() {
  if (is_sorted_ || buffer_.num_entries() == 0) return;
  buffer_.sizes.clear();
  for (const std::uint64_t most : greatest_) {
    buffer_.sizes.push_back(most == kMostIndex ? most : most + 1);
  }
  sort_entries(buffer_, EntryOrder::kLexicographic, pool_);
  is_sorted_ = true;
}

void ExternalOrder::spill() {
  if (buffer_.num_entries() == 0) return;
  sort();
  if (file_ < 0) file_ = nameless_file(memory_.folder);
  std::vector<std::uint64_t> words;
  for (std::size_t begin = 0; begin < buffer_.num_entries(); begin += kChunk) {
    words.clear();
    const std::size_t end = std::min(begin + kChunk, buffer_.num_entries());
    for (std::size_t i = begin; i < end; ++i) {
      for (const IndexColumn& column : buffer_.indices) words.push_back(column[i]);
      words.push_back(std::bit_cast<std::uint64_t>(buffer_.values[i]));
    }
    write_words(file_, words, memory_.folder);
  }
  const std::uint64_t first = runs_.empty() ? 0 : runs_.back().last;
  runs_.push_back({first, first + buffer_.num_entries()});
  buffer_ = {};
  buffer_.indices.resize(modes_.size());
}

void ExternalOrder::visit(Visit take) {
  if (!runs_.empty()) {
    spill();
    return merge(take);
  }
  sort();
  ChunkMaker chunks(modes_.size(), take);
  std::vector<std::uint64_t> record(modes_.size() + 1);
  for (std::size_t i = 0; i < buffer_.num_entries(); ++i) {
    for (std::size_t m = 0; m < modes_.size(); ++m) record[m] = buffer_.indices[m][i];
    record.back() = std::bit_cast<std::uint64_t>(buffer_.values[i]);
    chunks.add(record.data());
  }
  chunks.flush();
}

void ExternalOrder::merge(Visit take) {
  const std::size_t order = modes_.size(), width = order + 1;
  const std::size_t block =
      std::max<std::size_t>(memory_.bytes / (runs_.size() * width * sizeof(std::uint64_t)), 1);
  std::vector<RunReader> readers;
  for (const Run& run : runs_) readers.emplace_back(file_, run.first, run.last, width, block);
  // Equal coordinates come from the earlier run first.
  const auto is_later = [&](std::size_t a, std::size_t b) {
    const std::uint64_t *const x = readers[a].record(), *const y = readers[b].record();
    const auto differs = std::mismatch(x, x + order, y);
    return differs.first == x + order ? a > b : *differs.first > *differs.second;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(is_later)> next(is_later);
  for (std::size_t run = 0; run < readers.size(); ++run) next.push(run);
  ChunkMaker chunks(order, take);
  while (!next.empty()) {
    const std::size_t run = next.top();
    next.pop();
    chunks.add(readers[run].record());
    readers[run].advance();
    if (!readers[run].is_empty()) next.push(run);
  }
  chunks.flush();
}

}  // namespace tandem::sparse
