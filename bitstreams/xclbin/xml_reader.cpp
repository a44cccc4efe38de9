// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over elements, at most kMaxDepth deep.
#include "bitstreams/xclbin/xml_reader.h"

#include <cctype>
#include <charconv>

#include "common/error.h"

namespace tandem::xclbin {
namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kMaxElements = 1 << 16;

void append_utf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : (code < 0x10000 ? 2 : 3);  // bytes behind the first
  constexpr uint32_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kFirst[more] | (code >> (6 * more)));
  for (int byte = more - 1; byte >= 0; --byte) {
    out += static_cast<char>(0x80 | ((code >> (6 * byte)) & 0x3f));
  }
}

class XmlParser {
 public:
  XmlParser(std::string_view text, const std::string& file_name)
      : text_(text), file_name_(file_name) {}

  XmlElement run() {
    skip_misc();
    if (at_ >= text_.size() || text_[at_] != '<') fail("expected a root element");
    XmlElement root = element(0);
    skip_misc();
    if (at_ != text_.size()) fail("text after the root element");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("xclbin", file_name_ + ": field EMBEDDED_METADATA, byte " + std::to_string(at_) +
                              ": " + what);
  }

  bool starts(std::string_view prefix) const { return text_.substr(at_, prefix.size()) == prefix; }

  void skip_past(std::string_view end) {
    const size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) fail("unterminated markup");
    at_ = found + end.size();
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (std::isspace(static_cast<unsigned char>(text_[at_])) || text_[at_] == 0)) {
      ++at_;
    }
  }

  // Space, declarations and comments.
  void skip_misc() {
    for (;;) {
      skip_space();
      if (starts("<?")) {
        skip_past("?>");
      } else if (starts("<!--")) {
        skip_past("-->");
      } else {
        return;
      }
    }
  }

  std::string name() {
    const size_t begin = at_;
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (!std::isalnum(c) && c != '_' && c != '-' && c != '.' && c != ':') break;
      ++at_;
    }
    if (begin == at_) fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  // Appends what "&#N;" or "&#xN;" at the start of `raw` stands for; returns its length, 0 when
  // there is none.
  size_t character_reference(std::string_view raw, std::string& out) const {
    if (!raw.starts_with("&#")) return 0;
    const size_t end = raw.find(';');
    const bool hexadecimal = raw.starts_with("&#x");
    const size_t begin = hexadecimal ? 3 : 2;
    uint32_t code = 0;
    const char* const last = raw.data() + (end == std::string_view::npos ? begin : end);
    const auto parsed = std::from_chars(raw.data() + begin, last, code, hexadecimal ? 16 : 10);
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (parsed.ec != std::errc() || parsed.ptr != last || code == 0 || surrogate ||
        code > 0x10ffff) {
      fail("a character reference that names no character");
    }
    append_utf8(code, out);
    return end + 1;
  }

  std::string unescape(std::string_view raw) const {
    static const std::pair<std::string_view, char> kEntities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    std::string out;
    for (size_t at = 0; at < raw.size(); ++at) {
      if (raw[at] != '&') {
        out += raw[at];
        continue;
      }
      const size_t reference = character_reference(raw.substr(at), out);
      if (reference > 0) {
        at += reference - 1;
        continue;
      }
      bool known = false;
      for (const auto& [entity, character] : kEntities) {
        if (raw.substr(at, entity.size()) != entity) continue;
        out += character;
        at += entity.size() - 1;
        known = true;
        break;
      }
      if (!known) fail("unknown entity");
    }
    return out;
  }

  void attribute(XmlElement& target) {
    const std::string key = name();
    skip_space();
    if (!starts("=")) fail("expected '=' after attribute " + key);
    ++at_;
    skip_space();
    if (!starts("\"") && !starts("'")) fail("expected a quoted value of attribute " + key);
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("unterminated value of attribute " + key);
    const std::string value = unescape(text_.substr(at_, end - at_));
    at_ = end + 1;
    if (!target.attributes.emplace(key, value).second) fail("attribute " + key + " given twice");
  }

  XmlElement element(int depth) {
    if (depth > kMaxDepth) fail("elements nest deeper than " + std::to_string(kMaxDepth));
    if (++num_elements_ > kMaxElements) fail("too many elements");
    ++at_;  // '<'
    XmlElement result;
    result.name = name();
    for (;;) {
      skip_space();
      if (starts("/>")) {
        at_ += 2;
        return result;
      }
      if (starts(">")) break;
      if (at_ >= text_.size()) fail("unterminated element " + result.name);
      attribute(result);
    }
    ++at_;
    contents(result, depth);
    return result;
  }

  void contents(XmlElement& parent, int depth) {
    for (;;) {
      const size_t next = text_.find('<', at_);
      if (next == std::string_view::npos) fail("element " + parent.name + " is not closed");
      at_ = next;
      if (starts("<![CDATA[")) {
        skip_past("]]>");
      } else if (starts("<!--") || starts("<?")) {
        skip_misc();
      } else if (starts("</")) {
        at_ += 2;
        if (name() != parent.name) fail("closing tag does not match " + parent.name);
        skip_space();
        if (!starts(">")) fail("expected '>'");
        ++at_;
        return;
      } else {
        parent.children.push_back(element(depth + 1));
      }
    }
  }

  std::string_view text_;
  std::string file_name_;
  size_t at_ = 0;
  size_t num_elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view child_name) const {
  for (const XmlElement& candidate : children) {
    if (candidate.name == child_name) return &candidate;
  }
  return nullptr;
}

std::string XmlElement::attribute(const std::string& key, const std::string& fallback) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? fallback : found->second;
}

XmlElement parse_xml(std::string_view text, const std::string& file_name) {
  return XmlParser(text, file_name).run();
}

}  // namespace tandem::xclbin
