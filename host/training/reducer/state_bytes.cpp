// SPDX-License-Identifier: Apache-2.0
//
// Reader and writer are mirrored: each read_ function takes what its write_ function gave.
#include "training/reducer/state_bytes.h"

#include <xxhash.h>

#include <bit>
#include <cstring>
#include <utility>

#include "common/error.h"

namespace tandem::training {
namespace {

static_assert(std::endian::native == std::endian::little, "the layout is that of memory");

constexpr char kMagic[8] = {'T', 'A', 'N', 'D', 'R', 'D', 'C', 'R'};
constexpr std::uint32_t kVersion = 2;

class Writer {
 public:
  template <typename T>
  void value(T value) {
    array(&value, 1);
  }
  template <typename T>
  void array(const T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* from = reinterpret_cast<const std::byte*>(values);
    bytes_.insert(bytes_.end(), from, from + count * sizeof(T));
  }
  void text(const std::string& text) { list(text); }
  template <typename List>
  void list(const List& values) {
    value<std::uint64_t>(values.size());
    array(values.data(), values.size());
  }
  std::vector<std::byte> finish() {
    value<std::uint64_t>(XXH3_64bits(bytes_.data(), bytes_.size()));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T value() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  // A number of things of at least `least` bytes each.
  std::size_t count(std::size_t least) {
    const auto count = value<std::uint64_t>();
    if (count > rest_.size() / least) fail("ends within a list of " + std::to_string(count));
    return count;
  }
  template <typename List>
  List list() {
    using T = typename List::value_type;
    List values;
    const std::size_t size = count(sizeof(T));
    values.resize(size);
    if (size > 0) std::memcpy(values.data(), take(size * sizeof(T)).data(), size * sizeof(T));
    return values;
  }
  std::string text() { return list<std::string>(); }
  bool empty() const { return rest_.empty(); }

  [[noreturn]] static void fail(const std::string& what) {
    throw Error("training", "the saved state of the reducer " + what +
                                "; give the bytes that this rank's reducer has saved");
  }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (size > rest_.size()) fail("is truncated");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::span<const std::byte> rest_;
};

void write_parameter(Writer& to, const SavedParameter& parameter) {
  to.text(parameter.name);
  to.list(parameter.shape);
  to.value<std::uint64_t>(parameter.tensors.size());
  for (const auto& [name, values] : parameter.tensors) {
    to.text(name);
    to.list(values);
  }
}

SavedParameter read_parameter(Reader& from) {
  SavedParameter parameter;
  parameter.name = from.text();
  parameter.shape = from.list<std::vector<std::int64_t>>();
  std::uint64_t num_values = 1;
  for (const std::int64_t size : parameter.shape) {
    if (size <= 0 || static_cast<std::uint64_t>(size) > (std::uint64_t{1} << 32) / num_values) {
      Reader::fail("has the shape " + shape_text(parameter.shape) + " for " + parameter.name);
    }
    num_values *= static_cast<std::uint64_t>(size);
  }
  const std::size_t tensors = from.count(2 * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < tensors; ++i) {
    std::string name = from.text();
    auto values = from.list<RawVector<float>>();
    if (values.size() != num_values) {
      Reader::fail("has " + std::to_string(values.size()) + " values of '" + name + "' for " +
                   parameter.name + ", which has " + std::to_string(num_values));
    }
    parameter.tensors[std::move(name)] = std::move(values);
  }
  return parameter;
}

void write_part(Writer& to, const SavedPart& part) {
  to.text(part.sparsifier);
  to.value(part.density);
  to.value(part.step);
  to.list(part.parameters);
  to.value<std::uint64_t>(part.numbers.size());
  for (const auto& [name, numbers] : part.numbers) {
    to.text(name);
    to.list(numbers);
  }
}

SavedPart read_part(Reader& from, std::size_t num_parameters) {
  SavedPart part;
  part.sparsifier = from.text();
  part.density = from.value<double>();
  part.step = from.value<std::uint64_t>();
  part.parameters = from.list<std::vector<std::uint32_t>>();
  for (const std::uint32_t place : part.parameters) {
    if (place >= num_parameters) {
      Reader::fail("names parameter " + std::to_string(place) + " of " +
                   std::to_string(num_parameters));
    }
  }
  const std::size_t numbers = from.count(2 * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < numbers; ++i) {
    std::string name = from.text();
    part.numbers[std::move(name)] = from.list<std::vector<double>>();
  }
  return part;
}

// The part of the bytes that the hash covers.
std::span<const std::byte> checked_body(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0;
  if (bytes.size() < sizeof(kMagic) + sizeof(kVersion) + sizeof(hash)) Reader::fail("is truncated");
  if (std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    Reader::fail("does not begin as one");
  }
  const auto body = bytes.first(bytes.size() - sizeof(hash));
  std::memcpy(&hash, bytes.data() + body.size(), sizeof(hash));
  if (hash != XXH3_64bits(body.data(), body.size())) Reader::fail("is truncated or damaged");
  return body.subspan(sizeof(kMagic));
}

}  // namespace

std::vector<std::byte> state_bytes(const ReducerState& state) {
  Writer to;
  to.array(kMagic, sizeof(kMagic));
  to.value(kVersion);
  to.value(state.rank);
  to.value(state.world);
  to.value(state.step);
  to.value(static_cast<std::uint32_t>(state.payoff));
  to.value<std::uint64_t>(state.parameters.size());
  for (const SavedParameter& parameter : state.parameters) write_parameter(to, parameter);
  to.value<std::uint64_t>(state.parts.size());
  for (const SavedPart& part : state.parts) write_part(to, part);
  return to.finish();
}

ReducerState parse_state(std::span<const std::byte> bytes) {
  Reader from(checked_body(bytes));
  const auto version = from.value<std::uint32_t>();
  if (version != kVersion) {
    Reader::fail("has version " + std::to_string(version) + "; this program reads version " +
                 std::to_string(kVersion));
  }
  ReducerState state;
  state.rank = from.value<std::uint32_t>();
  state.world = from.value<std::uint32_t>();
  state.step = from.value<std::uint64_t>();
  const auto payoff = from.value<std::uint32_t>();
  if (payoff > static_cast<std::uint32_t>(Payoff::kSparse)) {
    Reader::fail("has the outcome " + std::to_string(payoff) + " of a trial");
  }
  state.payoff = static_cast<Payoff>(payoff);
  const std::size_t parameters = from.count(3 * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < parameters; ++i) state.parameters.push_back(read_parameter(from));
  const std::size_t parts = from.count(5 * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < parts; ++i) state.parts.push_back(read_part(from, parameters));
  if (!from.empty()) Reader::fail("has bytes after its end");
  return state;
}

}  // namespace tandem::training
