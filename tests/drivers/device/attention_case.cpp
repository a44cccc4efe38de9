// SPDX-License-Identifier: Apache-2.0
//
// attention_case DEVICE IN OUT: appends the sequences of a file to a device's pages, attends, and
// writes the results, for checks by other programs (torch_attention_test.py).
//
// IN, little-endian: int32 sequences, q_rows (of each), q_heads, kv_heads, head_dim, page_tokens,
// kv_type (0 f16, 1 bf16, 2 i8, 3 e4m3), pieces (appends a sequence comes in); f32 scale, softcap;
// int32 tokens [sequences]; f32 q [sequences, q_rows, q_heads, head_dim], then k and v [sum of
// tokens, kv_heads, head_dim]. OUT: f32 o [sequences, q_rows, q_heads, head_dim], lse [sequences,
// q_rows, q_heads]. Exit code 77 with the reason if the device is absent.
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "common/error.h"
#include "drivers/device/device_under_test.h"

namespace tandem::device_test {
namespace {

using namespace device;

struct Case {
  std::int32_t sequences, q_rows, q_heads, kv_heads, head_dim, page_tokens, kv_type, pieces;
  float scale, softcap;
};

template <typename T>
std::vector<T> read_values(std::ifstream& in, std::size_t count) {
  std::vector<T> values(count);
  in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  if (!in) throw Error("attention_case", "the input ends early");
  return values;
}

class Runner {
 public:
  Runner(Device& device, std::ifstream& in) {
    case_ = read_values<Case>(in, 1).front();
    tokens_ = read_values<std::int32_t>(in, static_cast<std::size_t>(case_.sequences));
    const auto rows = static_cast<std::size_t>(case_.sequences) * case_.q_rows;
    const auto all = static_cast<std::size_t>(std::accumulate(tokens_.begin(), tokens_.end(), 0));
    q_ = read_values<float>(in, rows * case_.q_heads * case_.head_dim);
    k_ = read_values<float>(in, all * case_.kv_heads * case_.head_dim);
    v_ = read_values<float>(in, all * case_.kv_heads * case_.head_dim);
    o_.resize(q_.size());
    lse_.resize(rows * case_.q_heads);
    constexpr DType kTypes[] = {DType::kF16, DType::kBF16, DType::kI8, DType::kF8E4M3};
    AttentionUnitOptions options;
    options.geometry = {
        2, case_.q_heads, case_.kv_heads, case_.head_dim, case_.page_tokens, kTypes[case_.kv_type]};
    options.kv_bytes = std::uint64_t{256} << 20;
    unit_ = device.make_attention_unit(options);
  }

  void run() {
    for (int piece = 0; piece < case_.pieces; ++piece) append(piece);
    std::vector<AttentionSequence> sequences = pages();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      sequences[i].q_begin = static_cast<std::int32_t>(i) * case_.q_rows;
      sequences[i].num_q = case_.q_rows;
      sequences[i].num_attend = tokens_[i];
    }
    submit({1, case_.scale, case_.softcap, q_, {}, {}, sequences, pages_});
  }

  void write(std::ofstream& out) const {
    for (const auto* values : {&o_, &lse_}) {
      out.write(reinterpret_cast<const char*>(values->data()),
                static_cast<std::streamsize>(values->size() * sizeof(float)));
    }
  }

 private:
  // Every sequence with its pages, without work.
  std::vector<AttentionSequence> pages() {
    std::vector<AttentionSequence> sequences;
    pages_.clear();
    for (const std::int32_t tokens : tokens_) {
      AttentionSequence s;
      s.page_begin = static_cast<std::int32_t>(pages_.size());
      s.num_pages = (tokens + case_.page_tokens - 1) / case_.page_tokens;
      pages_.resize(pages_.size() + static_cast<std::size_t>(s.num_pages));
      sequences.push_back(s);
    }
    std::iota(pages_.rbegin(), pages_.rend(), PageId{0});  // not in the order of memory
    return sequences;
  }

  void append(int piece) {
    std::vector<AttentionSequence> sequences = pages();
    std::int32_t first = 0;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const std::int64_t tokens = tokens_[i];
      const auto begin = static_cast<std::int32_t>(tokens * piece / case_.pieces);
      const auto end = static_cast<std::int32_t>(tokens * (piece + 1) / case_.pieces);
      sequences[i].new_begin = first + begin;
      sequences[i].append_at = begin;
      sequences[i].num_new = end - begin;
      first += tokens_[i];
    }
    submit({1, case_.scale, 0, {}, k_, v_, sequences, pages_});
  }

  void submit(const AttentionBatch& batch) {
    if (unit_->wait(unit_->submit(batch, {o_, lse_}), Deadline::after(std::chrono::minutes(5))) !=
        WaitResult::kDone) {
      throw Error("attention_case", "the device did not answer");
    }
  }

  Case case_{};
  std::vector<std::int32_t> tokens_;
  std::vector<PageId> pages_;
  std::vector<float> q_, k_, v_, o_, lse_;
  std::unique_ptr<AttentionUnit> unit_;
};

int run(const std::string& id, const char* in_path, const char* out_path) {
  const OpenedDevice opened = open_attention_device(id);
  if (opened.device == nullptr) {
    std::printf("%s\n", opened.why_absent.c_str());
    return opened.required ? 1 : 77;
  }
  std::ifstream in(in_path, std::ios::binary);
  Runner runner(*opened.device, in);
  runner.run();
  std::ofstream out(out_path, std::ios::binary);
  runner.write(out);
  return out.flush() ? 0 : 1;
}

}  // namespace
}  // namespace tandem::device_test

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: attention_case DEVICE IN OUT\n");
    return 2;
  }
  try {
    return tandem::device_test::run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
