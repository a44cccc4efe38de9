// SPDX-License-Identifier: Apache-2.0
//
// Methods of strings (declared in method_table.h). Case and classes of characters follow the
// C.UTF-8 locale; digits are those of ASCII.
#include <algorithm>

#include "model/chat/jinja/method_table.h"
#include "model/chat/jinja/python_format.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;

Value integer_of(std::size_t value) { return Value::integer(static_cast<std::int64_t>(value)); }

Value stripped(V object, A arguments, Side side) {
  const Value* set = arguments.find(0, "chars");
  const std::string chars = set == nullptr || set->is_none() ? "" : set->text();
  if (set != nullptr && set->is_string() && chars.empty()) return object;
  return Value::string(strip(object.text(), chars, side));
}

// The part that the arguments (..., start, end) leave, and what is before it.
struct Part {
  std::string_view text;
  std::size_t skipped = 0;  // characters
  bool inside = true;       // start is not behind the end of the text
};

Part part_of(V object, A arguments) {
  const std::string_view text = object.text();
  if (arguments.positional.size() < 2) return {text};
  const std::vector<std::string_view> all = characters(text);
  const auto size = static_cast<std::int64_t>(all.size());
  const auto bound = [&](std::size_t index, std::int64_t fallback) {
    const Value* value = arguments.find(index, "");
    if (value == nullptr || value->is_none()) return fallback;
    const std::int64_t at = value->integer();
    return at < 0 ? std::max<std::int64_t>(at + size, 0) : at;
  };
  const std::int64_t start = bound(1, 0), end = std::min(bound(2, size), size);
  if (start > size || end < start) return {{}, 0, false};
  const auto byte = [&](std::int64_t at) {
    return at < size
               ? static_cast<std::size_t>(all[static_cast<std::size_t>(at)].data() - text.data())
               : text.size();
  };
  return {text.substr(byte(start), byte(end) - byte(start)), static_cast<std::size_t>(start)};
}

// startswith and endswith take one text or a tuple of them.
Value has_affix(V object, A arguments, bool at_start) {
  const Value& wanted = arguments.require(0, "prefix");
  const Part part = part_of(object, arguments);
  const auto fits = [&](const Value& affix) {
    const bool same =
        at_start ? part.text.starts_with(affix.text()) : part.text.ends_with(affix.text());
    return part.inside && same;
  };
  if (wanted.is_list() && wanted.list_kind() == ListKind::kTuple) {
    return Value::boolean(std::any_of(wanted.items().begin(), wanted.items().end(), fits));
  }
  return Value::boolean(fits(wanted));
}

Value split_text(V object, A arguments, Budget&) {
  const Value* separator = arguments.find(0, "sep");
  const Value* limit = arguments.find(1, "maxsplit");
  const std::int64_t max_splits = limit == nullptr ? -1 : limit->integer();
  if (separator == nullptr || separator->is_none()) {
    return Value::list(split(object.text(), max_splits));
  }
  return Value::list(split(object.text(), separator->text(), max_splits));
}

Value split_from_the_right(V object, A arguments, Budget& budget) {
  const Value* separator = arguments.find(0, "sep");
  const Value* limit = arguments.find(1, "maxsplit");
  std::int64_t left = limit == nullptr ? -1 : limit->integer();
  if (left < 0) return split_text(object, arguments, budget);
  List parts;
  std::string_view text = object.text();
  const bool at_blanks = separator == nullptr || separator->is_none();
  if (!at_blanks && separator->text().empty()) throw Failure("rsplit: the separator is empty");
  std::string stripped_text;
  for (; left > 0; --left) {
    if (at_blanks) {
      stripped_text = strip(text, {}, Side::kRight);
      text = text.substr(0, stripped_text.size());
      const List words = split(text, -1);
      if (words.empty()) break;
      const std::size_t size = words.back().text().size();
      budget.spend(words.size());
      parts.push_back(words.back());
      text.remove_suffix(size);
    } else {
      const std::size_t found = text.rfind(separator->text());
      if (found == std::string_view::npos) break;
      parts.push_back(Value::string(std::string(text.substr(found + separator->text().size()))));
      text = text.substr(0, found);
    }
  }
  if (at_blanks) {
    stripped_text = strip(text, {}, Side::kRight);
    if (!stripped_text.empty()) parts.push_back(Value::string(stripped_text));
  } else {
    parts.push_back(Value::string(std::string(text)));
  }
  std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

// The place of a text, in characters; nothing when it is not there.
std::optional<std::size_t> place_of(V object, A arguments, bool last) {
  const std::string& wanted = arguments.require(0, "sub").text();
  const Part part = part_of(object, arguments);
  const std::size_t found = last ? part.text.rfind(wanted) : part.text.find(wanted);
  if (!part.inside || found == std::string_view::npos) return std::nullopt;
  return part.skipped + num_characters(part.text.substr(0, found));
}

Value find_text(V object, A arguments, bool last) {
  const auto place = place_of(object, arguments, last);
  return place ? integer_of(*place) : Value::integer(-1);
}

Value index_of_text(V object, A arguments, bool last) {
  const auto place = place_of(object, arguments, last);
  if (!place) throw Failure("index: the text does not hold this one");
  return integer_of(*place);
}

Value count_text(V object, A arguments, Budget&) {
  const std::string& wanted = arguments.require(0, "sub").text();
  const Part part = part_of(object, arguments);
  if (!part.inside) return Value::integer(0);
  if (wanted.empty()) return integer_of(num_characters(part.text) + 1);
  std::size_t count = 0;
  for (std::size_t at = part.text.find(wanted); at != std::string::npos;
       at = part.text.find(wanted, at + wanted.size())) {
    ++count;
  }
  return integer_of(count);
}

Value replace_text(V object, A arguments, Budget&) {
  const Value* limit = arguments.find(2, "count");
  return Value::string(replace(object.text(), arguments.require(0, "old").text(),
                               arguments.require(1, "new").text(),
                               limit == nullptr ? -1 : limit->integer()));
}

Value without_affix(V object, A arguments, bool at_start) {
  const std::string& text = object.text();
  const std::string& affix = arguments.require(0, "prefix").text();
  if (at_start ? !text.starts_with(affix) : !text.ends_with(affix)) return object;
  return Value::string(at_start ? text.substr(affix.size())
                                : text.substr(0, text.size() - affix.size()));
}

Value join_items(V object, A arguments, Budget& budget) {
  Arguments separator;
  separator.positional.push_back(object);
  const Value& items = arguments.require(0, "iterable");
  for (const Value& item : items_of(items, budget)) item.text();  // Failure unless all are texts
  return apply_filter("join", items, separator, budget);
}

Value parted(V object, A arguments, bool last) {
  const std::string& text = object.text();
  const std::string& separator = arguments.require(0, "sep").text();
  if (separator.empty()) throw Failure("partition: the separator is empty");
  const std::size_t found = last ? text.rfind(separator) : text.find(separator);
  const Value empty = Value::string("");
  if (found == std::string::npos) {
    return Value::tuple(last ? List{empty, empty, object} : List{object, empty, empty});
  }
  return Value::tuple({Value::string(text.substr(0, found)), Value::string(separator),
                       Value::string(text.substr(found + separator.size()))});
}

enum class Alignment { kLeft, kRight, kCenter };

Value aligned(V object, A arguments, Alignment alignment) {
  const std::int64_t width = arguments.require(0, "width").integer();
  const Value* given = arguments.find(1, "fillchar");
  const std::string fill = given != nullptr ? given->text() : " ";
  if (num_characters(fill) != 1) throw Failure("the fill must be one character");
  return Value::string(align(object.text(), width, fill,
                             alignment == Alignment::kLeft    ? -1
                             : alignment == Alignment::kRight ? 1
                                                              : 0));
}

Value zero_filled(V object, A arguments, Budget&) {
  std::string text = object.text();
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const std::string sign = has_sign ? text.substr(0, 1) : "";
  const std::int64_t width = arguments.require(0, "width").integer();
  return Value::string(sign + align(text.substr(sign.size()),
                                    width - static_cast<std::int64_t>(sign.size()), "0", 1));
}

template <typename Fits>
Value all_fit(V object, const Fits& fits) {
  const auto all = characters(object.text());
  return Value::boolean(!all.empty() && std::all_of(all.begin(), all.end(), fits));
}

bool is_ascii_digit(std::string_view c) { return c.size() == 1 && c[0] >= '0' && c[0] <= '9'; }

Value is_cased(V object, std::string (*change)(std::string_view)) {
  const std::string& text = object.text();
  const bool has_case = lower(text) != upper(text);
  return Value::boolean(has_case && change(text) == text);
}

Value is_identifier(V object, A, Budget&) {
  const auto all = characters(object.text());
  return Value::boolean(!all.empty() && !is_ascii_digit(all[0]) &&
                        std::all_of(all.begin(), all.end(), [](std::string_view c) {
                          return c == "_" || is_ascii_digit(c) || is_letter(c);
                        }));
}

Value with_swapped_case(V object, A, Budget&) {
  std::string out;
  for (const std::string_view c : characters(object.text())) {
    out += upper(c) == c ? lower(c) : upper(c);
  }
  return Value::string(std::move(out));
}

Value with_expanded_tabs(V object, A arguments, Budget&) {
  const Value* given = arguments.find(0, "tabsize");
  const std::int64_t size =
      std::clamp<std::int64_t>(given != nullptr ? given->integer() : 8, 0, 64);
  std::string out;
  std::int64_t column = 0;
  for (const std::string_view c : characters(object.text())) {
    if (c == "\t") {
      const std::int64_t blanks = size == 0 ? 0 : size - column % size;
      out.append(static_cast<std::size_t>(blanks), ' ');
      column += blanks;
    } else {
      out += c;
      column = c == "\n" || c == "\r" ? 0 : column + 1;
    }
  }
  return Value::string(std::move(out));
}

Value lines_of(V object, A arguments, Budget&) {
  const Value* keep = arguments.find(0, "keepends");
  return Value::list(split_lines(object.text(), keep != nullptr && keep->truthy()));
}

Value formatted_map(V object, A arguments, Budget& budget) {
  Arguments named;
  named.named = arguments.require(0, "mapping").entries();
  return Value::string(format_braces(object.text(), named, budget));
}

Value unsupported_method(V, A, Budget&) { throw Failure("this method is not supported"); }

const Methods& tests_and_formats() {
  static const Methods kMethods = {
      {"format", [](V o, A a, Budget& b) { return Value::string(format_braces(o.text(), a, b)); }},
      {"format_map", formatted_map},
      {"isalnum",
       [](V o, A, Budget&) {
         return all_fit(o, [](std::string_view c) { return is_ascii_digit(c) || is_letter(c); });
       }},
      {"isalpha", [](V o, A, Budget&) { return all_fit(o, is_letter); }},
      {"isascii",
       [](V o, A, Budget&) {
         return Value::boolean(
             std::ranges::all_of(o.text(), [](char c) { return (c & 0x80) == 0; }));
       }},
      {"isdecimal", [](V o, A, Budget&) { return all_fit(o, is_ascii_digit); }},
      {"isdigit", [](V o, A, Budget&) { return all_fit(o, is_ascii_digit); }},
      {"isidentifier", is_identifier},
      {"islower", [](V o, A, Budget&) { return is_cased(o, lower); }},
      {"isnumeric", [](V o, A, Budget&) { return all_fit(o, is_ascii_digit); }},
      {"isspace", [](V o, A, Budget&) { return all_fit(o, is_space); }},
      {"istitle", [](V o, A, Budget&) { return is_cased(o, title); }},
      {"isupper", [](V o, A, Budget&) { return is_cased(o, upper); }},
      {"isprintable", unsupported_method},
      {"encode", unsupported_method},
      {"maketrans", unsupported_method},
      {"translate", unsupported_method},
  };
  return kMethods;
}

const Methods& changes_and_searches() {
  static const Methods kMethods = {
      {"capitalize", [](V o, A, Budget&) { return Value::string(capitalize(o.text())); }},
      {"casefold",
       [](V o, A, Budget&) {
         return Value::string(replace(lower(o.text()), "\xc3\x9f", "ss", -1));
       }},
      {"center", [](V o, A a, Budget&) { return aligned(o, a, Alignment::kCenter); }},
      {"count", count_text},
      {"endswith", [](V o, A a, Budget&) { return has_affix(o, a, false); }},
      {"expandtabs", with_expanded_tabs},
      {"find", [](V o, A a, Budget&) { return find_text(o, a, false); }},
      {"index", [](V o, A a, Budget&) { return index_of_text(o, a, false); }},
      {"join", join_items},
      {"ljust", [](V o, A a, Budget&) { return aligned(o, a, Alignment::kLeft); }},
      {"lower", [](V o, A, Budget&) { return Value::string(lower(o.text())); }},
      {"lstrip", [](V o, A a, Budget&) { return stripped(o, a, Side::kLeft); }},
      {"partition", [](V o, A a, Budget&) { return parted(o, a, false); }},
      {"removeprefix", [](V o, A a, Budget&) { return without_affix(o, a, true); }},
      {"removesuffix", [](V o, A a, Budget&) { return without_affix(o, a, false); }},
      {"replace", replace_text},
      {"rfind", [](V o, A a, Budget&) { return find_text(o, a, true); }},
      {"rindex", [](V o, A a, Budget&) { return index_of_text(o, a, true); }},
      {"rjust", [](V o, A a, Budget&) { return aligned(o, a, Alignment::kRight); }},
      {"rpartition", [](V o, A a, Budget&) { return parted(o, a, true); }},
      {"rsplit", split_from_the_right},
      {"rstrip", [](V o, A a, Budget&) { return stripped(o, a, Side::kRight); }},
      {"split", split_text},
      {"splitlines", lines_of},
      {"startswith", [](V o, A a, Budget&) { return has_affix(o, a, true); }},
      {"strip", [](V o, A a, Budget&) { return stripped(o, a, Side::kBoth); }},
      {"swapcase", with_swapped_case},
      {"title", [](V o, A, Budget&) { return Value::string(title(o.text())); }},
      {"upper", [](V o, A, Budget&) { return Value::string(upper(o.text())); }},
      {"zfill", zero_filled},
  };
  return kMethods;
}

}  // namespace

const Methods& string_methods() {
  static const Methods kMethods = [] {
    Methods all = changes_and_searches();
    all.insert(tests_and_formats().begin(), tests_and_formats().end());
    return all;
  }();
  return kMethods;
}

}  // namespace tandem::model::jinja
