// SPDX-License-Identifier: Apache-2.0
//
// Identifiers are numbers in base 94, of the printable characters.
#include "apps/card/wave_dump.h"

#include <algorithm>

namespace tandem::apps {
namespace {

std::string identifier(int number) {
  constexpr int kFirst = 33, kCount = 94;
  std::string text;
  do {
    text += static_cast<char>(kFirst + number % kCount);
    number /= kCount;
  } while (number > 0);
  return text;
}

}  // namespace

int WaveDump::signal(const std::vector<std::string>& scopes, const std::string& name, int bits) {
  std::vector<std::string> path = scopes;
  path.push_back(name);
  const auto [found, is_new] = numbers_.try_emplace(path, static_cast<int>(signals_.size()));
  if (!is_new) return found->second;
  signals_.push_back({name, bits});
  Scope* scope = &root_;
  for (const std::string& each : scopes) scope = &scope->inner[each];
  scope->signals.push_back(found->second);
  return found->second;
}

void WaveDump::change(int signal, std::int64_t picoseconds, const std::string& bits) {
  changes_.push_back({picoseconds, signal, bits});
}

void WaveDump::declare(const Scope& scope, std::string& text) const {
  for (const int number : scope.signals) {
    const Signal& each = signals_[static_cast<std::size_t>(number)];
    text += "$var wire " + std::to_string(each.bits) + " " + identifier(number) + " " + each.name +
            " $end\n";
  }
  for (const auto& [name, inner] : scope.inner) {
    text += "$scope module " + name + " $end\n";
    declare(inner, text);
    text += "$upscope $end\n";
  }
}

std::string WaveDump::value_text(int signal, const std::string& value) const {
  const bool is_vector = signals_[static_cast<std::size_t>(signal)].bits > 1;
  return (is_vector ? "b" + value + " " : value) + identifier(signal) + "\n";
}

std::string WaveDump::text(const std::string& comment) const {
  std::string text = "$comment " + comment + " $end\n$timescale 1 ps $end\n";
  declare(root_, text);
  text += "$enddefinitions $end\n";
  std::vector<const Change*> sorted;
  for (const Change& each : changes_) sorted.push_back(&each);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Change* a, const Change* b) { return a->at < b->at; });
  std::vector<std::string> now(signals_.size(), "x");
  text += "$dumpvars\n";
  for (std::size_t index = 0; index < signals_.size(); ++index) {
    text += value_text(static_cast<int>(index), "x");
  }
  text += "$end\n";
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    std::map<int, const std::string*> last;
    for (; end < sorted.size() && sorted[end]->at == sorted[begin]->at; ++end) {
      last[sorted[end]->signal] = &sorted[end]->value;
    }
    std::string here;
    for (const auto& [signal, value] : last) {
      std::string& old = now[static_cast<std::size_t>(signal)];
      if (old == *value) continue;
      old = *value;
      here += value_text(signal, *value);
    }
    if (!here.empty()) text += "#" + std::to_string(sorted[begin]->at) + "\n" + here;
  }
  return text;
}

}  // namespace tandem::apps
