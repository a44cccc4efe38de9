// SPDX-License-Identifier: Apache-2.0
//
// The text of a model is hashed once; a call adds its own lines.
#include "training/reducer/call_agreement.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "common/error.h"

namespace tandem::training {
namespace {

constexpr std::uint64_t kFinite = ~std::uint64_t{0};
constexpr const char* kAdvice = "; give all ranks the same model and options";

struct Summary {
  std::uint64_t hash = 0;
  std::uint64_t non_finite = kFinite;
  std::uint64_t failed = 0;
};

using Lines = std::vector<std::string>;

void append_line(std::string& text, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  text += '\n' + line;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// The error first.
Lines lines_of(std::span<const std::byte> bytes) {
  Lines lines(1);
  for (const std::byte byte : bytes) {
    if (static_cast<char>(byte) == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += static_cast<char>(byte);
    }
  }
  return lines;
}

std::string value_of(const std::string& line) { return line.substr(line.find('=') + 1); }

// The first line that differs between two ranks; empty if there is none.
std::string difference(const Lines& first, const Lines& other, std::size_t rank) {
  const std::size_t count = std::min(first.size(), other.size());
  for (std::size_t i = 1; i < count; ++i) {
    if (first[i] == other[i]) continue;
    const std::string name = first[i].substr(0, first[i].find('='));
    if (name != other[i].substr(0, other[i].find('='))) {
      return "rank 0 has " + name + " (" + value_of(first[i]) + ") where rank " +
             std::to_string(rank) + " has " + other[i].substr(0, other[i].find('=')) + " (" +
             value_of(other[i]) + ")";
    }
    return name + " is " + value_of(first[i]) + " on rank 0 and " + value_of(other[i]) +
           " on rank " + std::to_string(rank);
  }
  if (first.size() == other.size()) return {};
  return "rank 0 and rank " + std::to_string(rank) + " run different versions";
}

[[noreturn]] void throw_what_differs(collectives::Group& group, const std::string& text,
                                     const collectives::CallOptions& options) {
  std::vector<Lines> ranks;
  for (const auto& bytes : allgatherv(group, std::as_bytes(std::span(text)), options)) {
    ranks.push_back(lines_of(bytes));
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank][0].empty()) {
      throw Error("training", "rank " + std::to_string(rank) + ": " + ranks[rank][0]);
    }
  }
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const std::string message = difference(ranks[0], ranks[rank], rank);
    if (!message.empty()) throw Error("training", message + kAdvice);
  }
  throw Error("training", "ranks differ, but their texts do not; start all with one version");
}

}  // namespace

ModelText model_text(const std::vector<std::string>& options,
                     const std::vector<std::string>& parameters) {
  ModelText model;
  for (const std::string& line : options) append_line(model.text, line);
  for (const std::string& line : parameters) append_line(model.text, line);
  model.hash = XXH3_64bits(model.text.data(), model.text.size());
  return model;
}

std::optional<NonFiniteValue> agree_on_call(collectives::Group& group, const CallPlan& own,
                                            const collectives::CallOptions& options) {
  std::string lines;
  for (const std::string& line : own.lines) append_line(lines, line);
  const Summary summary{XXH3_64bits_withSeed(lines.data(), lines.size(), own.model.hash),
                        own.non_finite.value_or(kFinite), own.error.empty() ? 0u : 1u};
  const auto received = allgatherv(group, std::as_bytes(std::span(&summary, 1)), options);
  std::optional<NonFiniteValue> first;
  bool equal = true;
  for (std::size_t rank = 0; rank < received.size(); ++rank) {
    Summary theirs;
    if (received[rank].size() == sizeof(theirs)) {
      std::memcpy(&theirs, received[rank].data(), sizeof(theirs));
    }
    equal = equal && theirs.hash == summary.hash && theirs.failed == 0;
    if (!first && theirs.non_finite != kFinite) {
      first = NonFiniteValue{static_cast<int>(rank), theirs.non_finite};
    }
  }
  // Every rank sees the same summaries, so all exchange texts or none does.
  if (!equal) {
    throw_what_differs(group, one_line(own.error) + own.model.text + lines, options);
  }
  return first;
}

}  // namespace tandem::training
