// SPDX-License-Identifier: Apache-2.0
//
// Filters that make texts (declared in filter_table.h).
#include <algorithm>

#include "model/chat/jinja/filter_table.h"
#include "model/chat/jinja/format_spec.h"
#include "model/chat/jinja/python_format.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

using A = const Arguments&;
using V = const Value&;

// Hugging Face's own: tojson(x, ensure_ascii, indent, separators, sort_keys).
Value tojson(V input, A arguments, Budget&) {
  JsonStyle style;
  style.ensure_ascii = truth_of(arguments, 0, "ensure_ascii");
  style.sort_keys = truth_of(arguments, 3, "sort_keys");
  const Value* indent = arguments.find(1, "indent");
  if (indent != nullptr && !indent->is_none()) {
    style.has_indent = true;
    style.item_separator = ",";
    const bool is_text = indent->is_string();
    style.indent = is_text ? indent->text()
                           : std::string(static_cast<std::size_t>(
                                             std::clamp<std::int64_t>(indent->integer(), 0, 1000)),
                                         ' ');
  }
  const Value* separators = arguments.find(2, "separators");
  if (separators != nullptr && !separators->is_none()) {
    if (separators->items().size() != 2) throw Failure("tojson: separators are two texts");
    style.item_separator = separators->items()[0].text();
    style.key_separator = separators->items()[1].text();
  }
  return Value::string(to_json(input, style));
}

Value indent(V input, A arguments, Budget& budget) {
  const Value* width = arguments.find(0, "width");
  const std::string margin = width != nullptr && width->is_string()
                                 ? width->text()
                                 : std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(
                                                   integer_or(arguments, 0, "width", 4), 0, 1000)),
                                               ' ');
  const bool blank_too = truth_of(arguments, 2, "blank");
  std::string out = truth_of(arguments, 1, "first") ? margin : "";
  bool is_first = true;
  for (const Value& line : split_lines(to_text(input) + "\n", false)) {
    budget.spend(1 + margin.size() / 16);
    if (!is_first) out += '\n';
    if (!is_first && (blank_too || !line.text().empty())) out += margin;
    is_first = false;
    out += line.text();
    if (out.size() > Value::kMaxText) throw Failure("a text grows too large");
  }
  return Value::string(std::move(out));
}

Value escape(V input, A, Budget&) { return Value::markup(escaped(input)); }

Value forced_escape(V input, A, Budget&) {
  return Value::markup(escaped(Value::string(to_text(input))));
}

std::string first_characters(const std::string& text, std::int64_t count) {
  std::string out;
  for (const std::string_view c : characters(text)) {
    if (count-- <= 0) break;
    out += c;
  }
  return out;
}

Value truncate(V input, A arguments, Budget&) {
  const std::string text = to_text(input);
  const std::int64_t length = integer_or(arguments, 0, "length", 255);
  const Value* given = arguments.find(2, "end");
  const std::string end = given != nullptr ? given->text() : "...";
  const std::int64_t leeway = integer_or(arguments, 3, "leeway", 5);
  const auto end_length = static_cast<std::int64_t>(num_characters(end));
  if (length < end_length || leeway < 0) throw Failure("truncate: the length is out of range");
  if (static_cast<std::int64_t>(num_characters(text)) - leeway <= length)
    return Value::string(text);
  std::string kept = first_characters(text, length - end_length);
  if (!truth_of(arguments, 1, "killwords")) kept.resize(std::min(kept.rfind(' '), kept.size()));
  return Value::string(kept + end);
}

Value wordcount(V input, A, Budget&) {
  std::int64_t count = 0;
  bool inside = false;
  const std::string text = to_text(input);
  for (const std::string_view c : characters(text)) {
    const bool is_word = c == "_" || (c.size() == 1 && c[0] >= '0' && c[0] <= '9') || is_letter(c);
    count += is_word && !inside ? 1 : 0;
    inside = is_word;
  }
  return Value::integer(count);
}

// Without <...> and comments; runs of white space become a blank.
Value striptags(V input, A, Budget&) {
  const std::string text = to_text(input);
  const std::size_t last_comment = text.rfind("-->"), last_tag = text.rfind('>');
  const auto ends_later = [](std::size_t last, std::size_t at) {
    return last != std::string::npos && last > at;
  };
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_comment = text.compare(at, 4, "<!--") == 0 && ends_later(last_comment, at + 3);
    if (text[at] == '<' && ends_later(last_tag, at)) {
      at = is_comment ? text.find("-->", at + 4) + 3 : text.find('>', at) + 1;
    } else {
      kept += text[at++];
    }
  }
  std::string out;
  for (const Value& word : split(kept, -1)) out += (out.empty() ? "" : " ") + word.text();
  for (const auto& [name, character] : {std::pair{"&lt;", "<"},
                                        {"&gt;", ">"},
                                        {"&#39;", "'"},
                                        {"&#34;", "\""},
                                        {"&quot;", "\""},
                                        {"&amp;", "&"}}) {
    out = replace(out, name, character, -1);
  }
  return Value::string(std::move(out));
}

std::string percent_encoded(std::string_view text, std::string_view safe, bool blanks_as_plus) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("_.-~").find(c) != std::string_view::npos ||
                          safe.find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else if (c == ' ' && blanks_as_plus) {
      out += '+';
    } else {
      out += '%';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 0xf];
    }
  }
  return out;
}

Value urlencode(V input, A, Budget& budget) {
  if (!input.is_map() && !input.is_list()) {
    return Value::string(percent_encoded(to_text(input), "/", false));
  }
  const Value pairs = input.is_map() ? apply_filter("items", input, {}, budget) : input;
  std::string out;
  for (const Value& pair : pairs.items()) {
    if (pair.items().size() != 2) throw Failure("urlencode takes pairs");
    if (!out.empty()) out += '&';
    out += percent_encoded(to_text(pair.items()[0]), {}, true) + '=' +
           percent_encoded(to_text(pair.items()[1]), {}, true);
  }
  return Value::string(std::move(out));
}

Value xmlattr(V input, A arguments, Budget& budget) {
  std::string out;
  for (const auto& [key, value] : input.entries()) {
    if (value.is_none() || value.is_undefined()) continue;
    if (key.find_first_of(" \t\n\f\r/>=") != std::string::npos) {
      throw Failure("xmlattr: an attribute's name holds a blank or /, > or =");
    }
    if (!out.empty()) out += ' ';
    out += escape(Value::string(key), {}, budget).text() + "=\"" +
           escape(value, {}, budget).text() + '"';
  }
  const Value* autospace = arguments.find(0, "autospace");
  if (!out.empty() && (autospace == nullptr || autospace->truthy())) out.insert(0, " ");
  return Value::string(std::move(out));
}

Value filesizeformat(V input, A arguments, Budget& budget) {
  const bool binary = truth_of(arguments, 0, "binary");
  const double base = binary ? 1024 : 1000;
  const double bytes = apply_filter("float", input, {}, budget).number();
  if (bytes == 1) return Value::string("1 Byte");
  if (bytes < base)
    return Value::string(std::to_string(static_cast<std::int64_t>(bytes)) + " Bytes");
  double unit = base;
  std::string prefixes = "kMGTPEZY";
  std::size_t at = 0;
  while (at + 1 < prefixes.size() && bytes >= unit * base) {
    unit *= base;
    ++at;
  }
  const std::string prefix = binary ? std::string(1, at == 0 ? 'K' : prefixes[at]) + "iB"
                                    : std::string(1, prefixes[at]) + "B";
  return Value::string(format_value(Value::real(bytes / unit), parse_format_spec(".1f")) + " " +
                       prefix);
}

// text | format(...): text % values.
Value format(V input, A arguments, Budget&) {
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    throw Failure("format takes positional or named values, not both");
  }
  const Value values =
      arguments.named.empty() ? Value::tuple(arguments.positional) : Value::map(arguments.named);
  return percent(input, values);
}

Value trim(V input, A arguments, Budget&) {
  const Value* set = arguments.find(0, "chars");
  if (set == nullptr || set->is_none()) {
    return Value::string(strip(to_text(input), {}, Side::kBoth));
  }
  if (set->text().empty()) return Value::string(to_text(input));
  return Value::string(strip(to_text(input), set->text(), Side::kBoth));
}

Value replaced(V input, A arguments, Budget& budget) {
  budget.spend_search(to_text(input).size(), to_text(arguments.require(0, "old")).size());
  return Value::string(replace(to_text(input), to_text(arguments.require(0, "old")),
                               to_text(arguments.require(1, "new")),
                               integer_or(arguments, 2, "count", -1)));
}

Value unsupported_filter(V, A, Budget&) { throw Failure("this filter is not supported"); }

}  // namespace

std::string escaped(const Value& value) {
  if (value.is_markup()) return value.text();
  std::string out;
  for (const char c : to_text(value)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '"') {
      out += "&#34;";
    } else {
      out += c;
    }
  }
  return out;
}

const Filters& text_filters() {
  static const Filters kFilters = {
      {"capitalize", [](V in, A, Budget&) { return Value::string(capitalize(to_text(in))); }},
      {"center",
       [](V in, A a, Budget&) {
         return Value::string(align(to_text(in), integer_or(a, 0, "width", 80), " ", 0));
       }},
      {"e", escape},
      {"escape", escape},
      {"filesizeformat", filesizeformat},
      {"forceescape", forced_escape},
      {"format", format},
      {"indent", indent},
      {"lower", [](V in, A, Budget&) { return Value::string(lower(to_text(in))); }},
      {"pprint", unsupported_filter},
      {"random", unsupported_filter},
      {"replace", replaced},
      {"string", [](V in, A, Budget&) { return Value::string(to_text(in)); }},
      {"striptags", striptags},
      {"title", [](V in, A, Budget&) { return Value::string(capitalize_words(to_text(in))); }},
      {"tojson", tojson},
      {"trim", trim},
      {"truncate", truncate},
      {"upper", [](V in, A, Budget&) { return Value::string(upper(to_text(in))); }},
      {"urlencode", urlencode},
      {"urlize", unsupported_filter},
      {"wordcount", wordcount},
      {"wordwrap", unsupported_filter},
      {"xmlattr", xmlattr},
  };
  return kFilters;
}

}  // namespace tandem::model::jinja
