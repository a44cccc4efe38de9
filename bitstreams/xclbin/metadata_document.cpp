// SPDX-License-Identifier: Apache-2.0
//
// The text is parsed twice: first with references as they are written, to check them, then with
// references resolved.
#include "bitstreams/xclbin/metadata_document.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "common/error.h"

namespace tandem::xclbin {
namespace {

constexpr int kMaxDepth = 32;
constexpr int64_t kMaxElements = 1 << 16;
constexpr int64_t kMaxMarkup = 4 * kMaxElements;  // tags and comments, counted before parsing

[[noreturn]] void fail(const std::string& file_name, ptrdiff_t byte, const std::string& what) {
  throw Error("xclbin",
              file_name + ": field EMBEDDED_METADATA, byte " + std::to_string(byte) + ": " + what);
}

// `reference`: the text between '&' and ';'.
bool names_a_character(std::string_view reference) {
  for (const char* name : {"lt", "gt", "amp", "quot", "apos"}) {
    if (reference == name) return true;
  }
  if (!reference.starts_with('#')) return false;
  const bool hexadecimal = reference.starts_with("#x");
  const char* const end = reference.data() + reference.size();
  uint32_t code = 0;
  const auto parsed =
      std::from_chars(reference.data() + (hexadecimal ? 2 : 1), end, code, hexadecimal ? 16 : 10);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return parsed.ec == std::errc() && parsed.ptr == end && code != 0 && !surrogate &&
         code <= 0x10ffff;
}

bool all_references_name_characters(std::string_view value) {
  size_t end = 0;
  for (size_t at = value.find('&'); at != std::string_view::npos; at = value.find('&', end)) {
    end = value.find(';', at);
    if (end == std::string_view::npos) return false;
    if (!names_a_character(value.substr(at + 1, end - at - 1))) return false;
  }
  return true;
}

class MetadataCheck : public pugi::xml_tree_walker {
 public:
  explicit MetadataCheck(const std::string& file_name) : file_name_(file_name) {}

  bool for_each(pugi::xml_node& node) override {
    const ptrdiff_t byte = node.offset_debug();
    if (node.type() == pugi::node_doctype) fail(file_name_, byte, "a document type is not allowed");
    if (node.type() == pugi::node_pcdata && depth() == 0) {
      fail(file_name_, byte, "there is text outside the root element");
    }
    if (node.type() != pugi::node_element) return true;
    if (depth() > kMaxDepth) {
      fail(file_name_, byte, "elements nest deeper than " + std::to_string(kMaxDepth));
    }
    if (depth() == 0 && num_elements_ > 0) fail(file_name_, byte, "there is a second root element");
    if (++num_elements_ > kMaxElements) fail(file_name_, byte, "there are too many elements");
    check_attributes(node, byte);
    return true;
  }

  bool end(pugi::xml_node& document) override {
    if (num_elements_ == 0) fail(file_name_, 0, "there is no root element");
    return pugi::xml_tree_walker::end(document);
  }

 private:
  void check_attributes(const pugi::xml_node& element, ptrdiff_t byte) const {
    std::set<std::string_view> names;
    for (const pugi::xml_attribute& attribute : element.attributes()) {
      const std::string name = attribute.name();
      if (!names.insert(attribute.name()).second) {
        fail(file_name_, byte, "attribute " + name + " is given twice");
      }
      if (!all_references_name_characters(attribute.value())) {
        fail(file_name_, byte,
             "attribute " + name + " has a character reference that names no character");
      }
    }
  }

  const std::string& file_name_;
  int64_t num_elements_ = 0;
};

pugi::xml_document parse(std::string_view text, unsigned options, const std::string& file_name) {
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), options, pugi::encoding_utf8);
  if (!result) fail(file_name, result.offset, result.description());
  return document;
}

}  // namespace

pugi::xml_document load_metadata(std::string_view text, const std::string& file_name) {
  text = text.substr(0, text.find_last_not_of('\0') + 1);  // padding
  const size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    fail(file_name, static_cast<ptrdiff_t>(zero), "a zero byte is not text");
  }
  if (std::count(text.begin(), text.end(), '<') > kMaxMarkup) {
    fail(file_name, 0, "there are too many elements");
  }
  pugi::xml_document as_written =
      parse(text, pugi::parse_minimal | pugi::parse_fragment | pugi::parse_doctype, file_name);
  MetadataCheck check(file_name);
  as_written.traverse(check);
  return parse(text, pugi::parse_escapes, file_name);
}

}  // namespace tandem::xclbin
