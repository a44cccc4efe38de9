// SPDX-License-Identifier: Apache-2.0
//
// Numbers are written with the shortest text that reads back as the same number.
#include "planner/mapping/qubo_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/error.h"

namespace tandem::planner {
namespace {

using Bits = std::vector<std::uint8_t>;

std::string number_text(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

[[noreturn]] void refuse_sample(const std::string& where, const std::string& what) {
  throw Error("samples", where + ": " + what);
}

void check_length(const Bits& bits, int num_bits, const std::string& where) {
  if (bits.size() == static_cast<std::size_t>(num_bits)) return;
  refuse_sample(where, std::to_string(bits.size()) + " values, but the problem has " +
                           std::to_string(num_bits) + " bits");
}

// "0110", "0 1 1 0", "-1 1 1 -1", "0,1,1,0"
Bits bits_of_line(const std::string& line, const std::string& where) {
  Bits bits;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '0' || c == '1') {
      bits.push_back(c == '1');
    } else if (c == '-' && at + 1 < line.size() && line[at + 1] == '1') {
      bits.push_back(0);
      ++at;
    } else if (std::string_view(" \t\r,+").find(c) == std::string_view::npos) {
      refuse_sample(where, std::string("'") + c + "' is neither 0 nor 1 nor -1");
    }
  }
  return bits;
}

std::vector<Bits> samples_of_text(const std::string& text, int num_bits) {
  std::vector<Bits> samples;
  std::istringstream in(text);
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    const std::string where = "line " + std::to_string(number);
    Bits bits = bits_of_line(line, where);
    if (bits.empty()) continue;
    check_length(bits, num_bits, where);
    samples.push_back(std::move(bits));
  }
  return samples;
}

Bits bits_of_json(const nlohmann::json& values, const std::string& where) {
  Bits bits;
  for (const nlohmann::json& value : values) {
    // JSON's own comparison treats numbers from 2^63 on as negative.
    const bool is_large = value.is_number_unsigned() && value.get<std::uint64_t>() > 1;
    if (!value.is_number_integer() || is_large || value < -1 || value > 1) {
      refuse_sample(where, value.dump() + " is neither 0 nor 1 nor -1");
    }
    bits.push_back(value == 1);
  }
  return bits;
}

std::vector<Bits> samples_of_json(const std::string& text, int num_bits) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_object() && json.contains("samples")) json = nlohmann::json(json["samples"]);
  if (!json.is_array()) {
    throw Error("samples", "the file is neither lines of bits nor a JSON array of samples");
  }
  if (!json.empty() && !json.front().is_array()) json = nlohmann::json::array({json});
  std::vector<Bits> samples;
  for (const nlohmann::json& values : json) {
    const std::string where = "sample " + std::to_string(samples.size());
    if (!values.is_array()) refuse_sample(where, "it is not an array of bits");
    samples.push_back(bits_of_json(values, where));
    check_length(samples.back(), num_bits, where);
  }
  return samples;
}

}  // namespace

std::string qubo_text(const Qubo& qubo) {
  std::string text;
  std::int64_t diagonals = 0, couplings = 0;
  for (int i = 0; i < qubo.num_bits; ++i) {
    const double value = qubo.linear[static_cast<std::size_t>(i)];
    if (value == 0) continue;
    ++diagonals;
    text += std::to_string(i) + " " + std::to_string(i) + " " + number_text(value) + "\n";
  }
  for (int i = 0; i < qubo.num_bits; ++i) {
    for (int j = i + 1; j < qubo.num_bits; ++j) {
      if (qubo.coupling(i, j) == 0) continue;
      ++couplings;
      text += std::to_string(i) + " " + std::to_string(j) + " " + number_text(qubo.coupling(i, j)) +
              "\n";
    }
  }
  return "c energy = " + number_text(qubo.offset) + " + the terms below\np qubo 0 " +
         std::to_string(qubo.num_bits) + " " + std::to_string(diagonals) + " " +
         std::to_string(couplings) + "\n" + text;
}

std::string ising_json(const Qubo& qubo) {
  const Ising ising = ising_of(qubo);
  nlohmann::json fields = nlohmann::json::object(), couplings = nlohmann::json::object();
  const auto n = ising.fields.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (ising.fields[i] != 0) fields[std::to_string(i)] = ising.fields[i];
    for (std::size_t j = i + 1; j < n; ++j) {
      const double value = ising.couplings[i * n + j];
      if (value != 0) couplings[std::to_string(i) + "," + std::to_string(j)] = value;
    }
  }
  return nlohmann::json{{"offset", ising.offset}, {"h", fields}, {"J", couplings}}.dump() + "\n";
}

std::vector<std::vector<std::uint8_t>> read_samples(std::istream& in, int num_bits) {
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw Error("samples", "the file is empty");
  return text[first] == '[' || text[first] == '{' ? samples_of_json(text, num_bits)
                                                  : samples_of_text(text, num_bits);
}

}  // namespace tandem::planner
