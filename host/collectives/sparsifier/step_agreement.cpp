// SPDX-License-Identifier: Apache-2.0
//
// A plan travels as lines: the non-finite place, the error, then a line `name=value` per field.
#include "collectives/sparsifier/step_agreement.h"

#include <cstdio>
#include <sstream>

namespace tandem::collectives {
namespace {

constexpr const char* kNoPlace = "-";

std::string without_line_ends(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

std::string plan_text(const StepPlan& plan) {
  std::string text = plan.non_finite ? std::to_string(*plan.non_finite) : kNoPlace;
  text += '\n' + without_line_ends(plan.error);
  for (const auto& [name, value] : plan.fields) text += '\n' + name + '=' + value;
  return text;
}

std::vector<std::string> lines_of(const RawVector<std::byte>& bytes) {
  std::istringstream text(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  lines.resize(std::max<std::size_t>(lines.size(), 2));
  return lines;
}

// "density is 0.01 on rank 0 and 0.02 on rank 3"
std::string difference(const std::vector<std::string>& first, const std::vector<std::string>& other,
                       std::size_t rank) {
  for (std::size_t i = 2; i < first.size() && i < other.size(); ++i) {
    if (first[i] == other[i]) continue;
    const std::size_t mine = first[i].find('='), theirs = other[i].find('=');
    return first[i].substr(0, mine) + " is " + first[i].substr(mine + 1) + " on rank 0 and " +
           other[i].substr(theirs + 1) + " on rank " + std::to_string(rank);
  }
  return first.size() == other.size()
             ? std::string()
             : "rank 0 and rank " + std::to_string(rank) + " run different versions";
}

}  // namespace

Error stop_at(const NonFinitePlace& bad, std::uint64_t step) {
  return Error("sparsifier", "step " + std::to_string(step) + ": value " +
                                 std::to_string(bad.place) + " of the gradient of rank " +
                                 std::to_string(bad.rank) +
                                 " is NaN or infinite; lower the learning rate, or choose to skip "
                                 "such steps or to clip them");
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::optional<NonFinitePlace> agree_on_step(Group& group, const StepPlan& own,
                                            const CallOptions& options) {
  const std::string text = plan_text(own);
  std::vector<std::vector<std::string>> plans;
  for (const auto& bytes : allgatherv(group, std::as_bytes(std::span(text)), options)) {
    plans.push_back(lines_of(bytes));
  }
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    if (!plans[rank][1].empty()) {
      throw Error("sparsifier", "rank " + std::to_string(rank) + ": " + plans[rank][1]);
    }
  }
  for (std::size_t rank = 1; rank < plans.size(); ++rank) {
    const std::string message = difference(plans[0], plans[rank], rank);
    if (!message.empty()) {
      throw Error("sparsifier", message + "; give all ranks the same model and options");
    }
  }
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    if (plans[rank][0] == kNoPlace) continue;
    return NonFinitePlace{static_cast<int>(rank), std::stoull(plans[rank][0])};
  }
  return std::nullopt;
}

}  // namespace tandem::collectives
