// SPDX-License-Identifier: Apache-2.0
//
// CLI11 joins the type of a value and the descriptions of its checks with colons: "INT:INT in
// [1 - 64]", "TEXT:{f16,bf16}", "UINT:SIZE".
#include "apps/option_form.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

namespace tandem::apps {
namespace {

// The parts between colons; what stands in braces or brackets is not divided.
std::vector<std::string> parts_of(std::string_view type) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : type) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == ':' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string plain_type(const std::string& type) {
  if (type == "UINT") return "INT";
  return type == "FLOAT" ? "NUMBER" : type;
}

// "INT in [1 - 64]", "FLOAT in [0 to 1]" -> "1 to 64", "0 to 1"; empty: no range.
std::string range_in(const std::string& check) {
  const std::size_t begin = check.find(" in ["), end = check.rfind(']');
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::string range = check.substr(begin + 5, end - begin - 5);
  const std::size_t dash = range.find(" - ");
  if (dash != std::string::npos) range.replace(dash, 3, " to ");
  return range;
}

bool is_name_of_value(const std::string& check) {
  return !check.empty() &&
         std::ranges::all_of(check, [](unsigned char c) { return std::isupper(c) != 0; });
}

void add_fact(std::string& facts, const std::string& fact) {
  if (fact.empty()) return;
  facts += (facts.empty() ? "" : "; ") + fact;
}

void add_check(const std::string& check, OptionForm& form) {
  if (check.starts_with('{')) {
    form.value = check;
  } else if (check == "POSITIVE") {
    add_fact(form.facts, "above 0");
  } else if (check == "NONNEGATIVE") {
    add_fact(form.facts, "0 or more");
  } else if (is_name_of_value(check)) {
    form.value = check;
  } else {
    add_fact(form.facts, range_in(check));
  }
}

// "[1,2]", as CLI11 prints a list -> "1,2"
std::string default_text(const CLI::Option& option) {
  std::string text = option.get_default_str();
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  return text;
}

// In alphabetical order: that of the set is of addresses, so it changes from run to run.
std::string names_of_all(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* each : options) names.insert(each->get_name());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

OptionForm form_of(const CLI::Option& option) {
  OptionForm form;
  if (option.get_type_size() != 0) {
    const std::vector<std::string> parts = parts_of(option.get_type_name());
    form.value = plain_type(parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) add_check(parts[i], form);
    if (option.get_expected_max() == CLI::detail::expected_max_vector_size) {
      form.value += " ...";
    } else if (option.get_expected_min() > 1) {
      form.value += " x " + std::to_string(option.get_expected_min());
    }
    const std::string text = default_text(option);
    if (!text.empty()) add_fact(form.facts, "default: " + text);
  }
  if (option.get_required()) add_fact(form.facts, "required");
  if (const std::string names = names_of_all(option.get_needs()); !names.empty()) {
    add_fact(form.facts, "needs " + names);
  }
  if (const std::string names = names_of_all(option.get_excludes()); !names.empty()) {
    add_fact(form.facts, "not with " + names);
  }
  if (!option.get_envname().empty()) add_fact(form.facts, "or by $" + option.get_envname());
  return form;
}

std::string description_of(const CLI::Option& option) {
  const std::string facts = form_of(option).facts, text = option.get_description();
  if (facts.empty()) return text;
  return text + (text.empty() ? "[" : " [") + facts + "]";
}

}  // namespace tandem::apps
