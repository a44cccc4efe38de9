// SPDX-License-Identifier: Apache-2.0
//
// Written as text at once: a tree of values of a thousand ranks' matrices costs seconds. Every
// matrix comes from Traffic::matrix() with a filter, so all outputs agree.
#include <array>
#include <charconv>
#include <concepts>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "trace/communication/traffic_report.h"

namespace tandem::trace {
namespace {

using nlohmann::ordered_json;

std::string plain_json(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// Objects and matrices; a comma goes before what is not the first member.
class JsonText {
 public:
  void begin() {
    text_ += '{';
    is_first_ = true;
  }
  void end() {
    text_ += '}';
    is_first_ = false;
  }
  void name(const std::string& name) {
    if (!is_first_) text_ += ',';
    is_first_ = false;
    text_ += plain_json(name) + ":";
  }
  void member(const std::string& name, const ordered_json& value) {
    this->name(name);
    text_ += plain_json(value);
  }

  // [dst][src] of cell(from, to).
  template <typename Cell>
  void rows(const std::string& name, int world, const Cell& cell) {
    this->name(name);
    text_ += '[';
    for (int to = 0; to < world; ++to) {
      text_ += to == 0 ? "[" : ",[";
      for (int from = 0; from < world; ++from) {
        if (from > 0) text_ += ',';
        number(cell(from, to));
      }
      text_ += ']';
    }
    text_ += ']';
  }

  void both(const CommunicationMatrix& matrix) {
    rows("bytes", matrix.world(), [&](int from, int to) { return matrix.bytes(from, to); });
    rows("counts", matrix.world(), [&](int from, int to) { return matrix.messages(from, to); });
  }
  void both(const std::string& name, const CommunicationMatrix& matrix) {
    this->name(name);
    begin();
    both(matrix);
    end();
  }
  void difference(const std::string& name, const CommunicationMatrix& counted,
                  const CommunicationMatrix& model) {
    rows(name, model.world(), [&](int from, int to) {
      return static_cast<std::int64_t>(counted.bytes(from, to) - model.bytes(from, to));
    });
  }

  std::string take() { return std::move(text_); }

 private:
  template <std::integral Number>
  void number(Number value) {
    if (value == 0) {  // most cells of most runs
      text_ += '0';
      return;
    }
    std::array<char, 24> digits;
    text_.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  }

  std::string text_;
  bool is_first_ = true;
};

// One pair of matrices per value of a field.
template <typename Values, typename Member>
void add_split(JsonText& json, const std::string& name, const Traffic& traffic,
               const Values& values, Member member) {
  json.name(name);
  json.begin();
  for (const auto& value : values) {
    const auto matrix = traffic.matrix([&](const TrafficKey& key) { return key.*member == value; });
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) {
      json.both(std::to_string(value), matrix);
    } else {
      json.both(value, matrix);
    }
  }
  json.end();
}

void add_algorithms(JsonText& json, const Traffic& traffic) {
  if (traffic.algorithms().empty()) return;
  json.name("by_algorithm");
  json.begin();
  for (const std::string& algorithm : traffic.algorithms()) {
    const CommunicationMatrix modelled = traffic.call_matrix(CallSide::kModelled, algorithm);
    const CommunicationMatrix carried = traffic.call_matrix(CallSide::kCarried, algorithm);
    json.name(algorithm);
    json.begin();
    json.both("modelled", modelled);
    json.both("counted", carried);
    json.difference("counted_minus_modelled_bytes", carried, modelled);
    json.end();
  }
  json.end();
}

void add_events(JsonText& json, const Traffic& traffic) {
  if (!traffic.keeps_events()) return;
  json.member("events", {{"kept", traffic.num_events()}, {"dropped", traffic.dropped_events()}});
}

}  // namespace

std::string traffic_json(const Traffic& traffic) {
  const CommunicationMatrix all = traffic.matrix();
  JsonText json;
  json.begin();
  json.member("ranks", traffic.size());
  json.member("labels", traffic.labels());
  json.member("host_row", traffic.has_host() ? ordered_json(0) : ordered_json(nullptr));
  json.member("model", traffic.model());
  json.member("missing_ranks", traffic.missing_ranks());
  json.member("not_modelled", traffic.unmodelled());
  json.member("hosts", traffic.hosts());
  json.both(all);
  add_split(json, "by_kind", traffic, traffic.kinds(), &TrafficKey::kind);
  add_split(json, "by_collective", traffic, traffic.operations(), &TrafficKey::operation);
  if (traffic.phases().size() > 1) {
    add_split(json, "by_phase", traffic, traffic.phases(), &TrafficKey::phase);
  }
  if (traffic.window_s() > 0) {
    json.member("window_s", traffic.window_s());
    add_split(json, "by_window", traffic, traffic.windows(), &TrafficKey::window);
  }
  if (traffic.has_counted()) {
    const CommunicationMatrix counted = traffic.counted_matrix();
    json.both("counted", counted);
    json.difference("counted_minus_model_bytes", counted, all);
  }
  add_algorithms(json, traffic);
  add_events(json, traffic);
  json.end();
  return json.take() + "\n";
}

}  // namespace tandem::trace
