// SPDX-License-Identifier: Apache-2.0
//
// The first round is always exchanged. Texts follow only where the first round shows a reason; all
// ranks see the same one.
#include "collectives/agreement.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace tandem::collectives {
namespace {

constexpr const char* kHeaderPhase = "header exchange";
constexpr const char* kTextPhase = "exchange of what differs";
constexpr std::size_t kMaxReasons = 4;  // in one message
constexpr std::size_t kMaxText = 512;   // of a rank's own error

using Bytes = std::span<const std::byte>;

void append_bytes(ByteBuffer& to, Bytes bytes) {
  append_value(to, static_cast<std::uint32_t>(bytes.size()));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_text(ByteBuffer& to, std::string_view text) {
  append_bytes(to, std::as_bytes(std::span(text.data(), text.size())));
}

// Reads what one rank wrote. Missing bytes are an error of that rank.
class Reader {
 public:
  Reader(const Communicator& ranks, const char* phase, int source, Bytes bytes)
      : ranks_(ranks), phase_(phase), source_(source), rest_(bytes) {}

  template <typename T>
  T value() {
    T result;
    std::memcpy(&result, take(sizeof(T)).data(), sizeof(T));
    return result;
  }
  Bytes bytes() { return take(value<std::uint32_t>()); }
  std::string text() {
    const Bytes bytes = this->bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool empty() const { return rest_.empty(); }

 private:
  Bytes take(std::size_t size) {
    if (rest_.size() < size) ranks_.reject(phase_, source_, "the header ends early");
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  const Communicator& ranks_;
  const char* phase_;
  int source_;
  Bytes rest_;
};

// A rank that this one waits for may itself wait for another: names all it has not heard from.
std::string missing(const Communicator& ranks, int first, int count) {
  if (count == 1) return {};
  std::string text;
  for (int at = 0; at < count; ++at) {
    text +=
        (at == 0 ? "; not heard from ranks " : ", ") + std::to_string((first + at) % ranks.world());
  }
  return text;
}

// Every rank's bytes on every rank. After k steps a rank has the bytes of 2^k ranks, its own first.
std::vector<ByteBuffer> gather(Communicator& ranks, const char* phase, ByteBuffer own) {
  const int world = ranks.world();
  std::vector<ByteBuffer> from_own_on;  // [k]: of rank own + k
  from_own_on.push_back(std::move(own));
  for (int distance = 1; distance < world; distance *= 2) {
    const int num_blocks = std::min(distance, world - distance);
    ByteBuffer message = new_message();
    for (int block = 0; block < num_blocks; ++block) {
      append_bytes(message, from_own_on[static_cast<std::size_t>(block)]);
    }
    const int to = (ranks.rank() - distance + world) % world;
    const int from = (ranks.rank() + distance) % world;
    ranks.annotate(missing(ranks, from, num_blocks));
    const Message received = ranks.send_receive(phase, to, std::move(message), from);
    ranks.annotate({});
    Reader reader(ranks, phase, from, received.body());
    for (int block = 0; block < num_blocks; ++block) {
      const Bytes bytes = reader.bytes();
      from_own_on.emplace_back(bytes.begin(), bytes.end());
    }
    if (!reader.empty()) ranks.reject(phase, from, "the header has bytes beyond its end");
  }
  std::rotate(from_own_on.begin(), from_own_on.begin() + (world - ranks.rank()) % world,
              from_own_on.end());
  return from_own_on;
}

std::uint64_t hash_fields(const CallHeader& header) {
  ByteBuffer text;
  append_text(text, header.function);
  for (const Field& field : header.fields) {
    append_text(text, field.name);
    append_text(text, field.value);
  }
  return XXH3_64bits(text.data(), text.size());
}

// A header in full, of any rank.
struct Texts {
  std::string function;
  std::string error;
  std::vector<std::pair<std::string, std::string>> fields;
};

std::vector<Texts> gather_texts(Communicator& ranks, const CallHeader& own) {
  ByteBuffer text;
  append_text(text, own.function);
  append_text(text, std::string_view(own.error).substr(0, kMaxText));
  for (const Field& field : own.fields) {
    append_text(text, field.name);
    append_text(text, field.value);
  }
  std::vector<Texts> all;
  for (const ByteBuffer& bytes : gather(ranks, kTextPhase, std::move(text))) {
    Reader reader(ranks, kTextPhase, static_cast<int>(all.size()), bytes);
    Texts texts{reader.text(), reader.text(), {}};
    while (!reader.empty()) {
      std::string name = reader.text();
      texts.fields.emplace_back(std::move(name), reader.text());
    }
    all.push_back(std::move(texts));
  }
  return all;
}

// "4 on rank 0, 8 on ranks 1-3", in order of first appearance; empty if all are equal.
std::string difference(const std::vector<std::string>& values) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& known) { return known.first == values[rank]; });
    if (group == groups.end()) group = groups.insert(groups.end(), {values[rank], {}});
    group->second.push_back(rank);
  }
  if (groups.size() < 2) return {};
  std::string text;
  for (const auto& [value, members] : groups) {
    text += text.empty() ? "" : ", ";
    text += value + (members.size() == 1 ? " on rank " : " on ranks ");
    for (std::size_t first = 0, last = 0; first < members.size(); first = last + 1) {
      last = first;
      while (last + 1 < members.size() && members[last + 1] == members[last] + 1) ++last;
      text += (first == 0 ? "" : ", ") + std::to_string(members[first]);
      if (last > first) text += (last == first + 1 ? ", " : "-") + std::to_string(members[last]);
    }
  }
  return text;
}

std::vector<std::string> mismatches(const std::vector<Texts>& all) {
  std::vector<std::string> values;
  for (const Texts& texts : all) values.push_back(texts.function);
  if (const std::string text = difference(values); !text.empty()) {
    return {"ranks call different functions: " + text};
  }
  std::vector<std::string> reasons;
  for (const auto& [name, own] : all.front().fields) {
    values.clear();
    for (const Texts& texts : all) {
      const auto field = std::ranges::find(
          texts.fields, name, [](const auto& named) -> const std::string& { return named.first; });
      values.push_back(field != texts.fields.end() ? field->second : "nothing");
    }
    if (const std::string text = difference(values); !text.empty()) {
      reasons.push_back("ranks disagree on " + name + ": " + text);
    }
  }
  if (reasons.empty()) reasons.push_back("ranks run different versions of this library");
  return reasons;
}

[[noreturn]] void throw_agreed(Communicator& ranks, const CallHeader& own, bool differ) {
  const std::vector<Texts> all = gather_texts(ranks, own);
  std::vector<std::string> reasons;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].error.empty()) continue;
    reasons.push_back("rank " + std::to_string(rank) + ": " + all[rank].error);
  }
  if (differ) {
    for (std::string& reason : mismatches(all)) reasons.push_back(std::move(reason));
  }
  const bool one_function = std::all_of(all.begin(), all.end(), [&](const Texts& texts) {
    return texts.function == all.front().function;
  });
  std::string message = one_function ? all.front().function + ": " : "";
  for (std::size_t at = 0; at < std::min(reasons.size(), kMaxReasons); ++at) {
    message += (at == 0 ? "" : "; ") + reasons[at];
  }
  if (reasons.size() > kMaxReasons) {
    message += "; and " + std::to_string(reasons.size() - kMaxReasons) + " more";
  }
  throw AgreedError(message);
}

}  // namespace

Agreement agree(Communicator& ranks, const CallHeader& own) {
  ByteBuffer bytes;
  append_value(bytes, hash_fields(own));
  append_value(bytes, own.count);
  append_value(bytes, own.node);
  append_value(bytes, static_cast<std::uint8_t>(!own.error.empty()));
  append_bytes(bytes, own.profile);

  Agreement agreement;
  std::vector<std::uint64_t> hashes;
  bool any_error = false;
  bool overflow = false;
  for (const ByteBuffer& header : gather(ranks, kHeaderPhase, std::move(bytes))) {
    Reader reader(ranks, kHeaderPhase, static_cast<int>(hashes.size()), header);
    hashes.push_back(reader.value<std::uint64_t>());
    agreement.counts.push_back(reader.value<std::uint64_t>());
    agreement.nodes.push_back(reader.value<std::uint64_t>());
    any_error |= reader.value<std::uint8_t>() != 0;
    const Bytes profile = reader.bytes();
    agreement.profiles.emplace_back(profile.begin(), profile.end());
    const std::uint64_t count = agreement.counts.back();
    overflow |= count > std::numeric_limits<std::uint64_t>::max() - agreement.total;
    agreement.total += count;
  }
  const bool differ = std::any_of(hashes.begin(), hashes.end(),
                                  [&](std::uint64_t hash) { return hash != hashes.front(); });
  if (differ || any_error) throw_agreed(ranks, own, differ);
  if (overflow) {
    throw AgreedError(std::string(own.function) +
                      ": the sizes of all ranks add up to more than 2^64; send less at a time");
  }
  return agreement;
}

}  // namespace tandem::collectives
