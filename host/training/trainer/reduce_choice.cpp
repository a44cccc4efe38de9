// SPDX-License-Identifier: Apache-2.0
//
// Names are checked here, so that a rank refuses them before it meets the others.
#include "training/trainer/reduce_choice.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <vector>

#include "collectives/sparsifier/sparsifier.h"
#include "common/error.h"
#include "common/suggestion.h"
#include "training/reducer/options.h"

namespace tandem::training {
namespace {

constexpr double kAutomaticDensity = 0.01;

[[noreturn]] void refuse(const std::string& text, const std::string& what) {
  throw Error("train", "--reduce " + text + ": " + what);
}

}  // namespace

ReduceChoice parse_reduce(const std::string& text) {
  if (text == kDense) return {};
  if (text == kAuto) return {text, kAutomaticDensity};
  const std::size_t at = text.find('@');
  ReduceChoice choice{text.substr(0, at), 0};
  const std::vector<std::string> known = collectives::sparsifier_names();
  if (std::ranges::find(known, choice.sparsifier) == known.end()) {
    const std::vector<std::string_view> views(known.begin(), known.end());
    std::string list;
    for (const std::string& name : known) list += ", " + name + "@DENSITY";
    refuse(text, "there is no '" + choice.sparsifier + "'" + suggestion(choice.sparsifier, views) +
                     "; choose dense, auto" + list);
  }
  if (at == std::string::npos) {
    refuse(text, "name the density too, as in " + choice.sparsifier + "@0.01");
  }
  const char* begin = text.data() + at + 1;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(begin, end, choice.density);
  const bool is_share = choice.density > 0 && choice.density <= 1;
  if (parsed.ec != std::errc() || parsed.ptr != end || !is_share) {
    refuse(text, "the density is a share greater than 0, at most 1");
  }
  return choice;
}

std::string to_string(const ReduceChoice& choice) {
  if (choice.sparsifier == kDense || choice.sparsifier == kAuto) return choice.sparsifier;
  char density[32];
  std::snprintf(density, sizeof(density), "@%.9g", choice.density);
  return choice.sparsifier + density;
}

}  // namespace tandem::training
