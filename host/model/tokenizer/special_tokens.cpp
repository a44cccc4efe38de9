// SPDX-License-Identifier: Apache-2.0
//
// A byte trie of special tokens.
#include "model/tokenizer/special_tokens.h"

#include <algorithm>
#include <iterator>

namespace tandem::model {
namespace {

constexpr auto kByByte = [](const std::pair<unsigned char, std::uint32_t>& edge,
                            unsigned char byte) { return edge.first < byte; };

// Code points with Unicode's White_Space property, as UTF-8.
constexpr std::string_view kBlanks[] = {
    "\t",           "\n",           "\v",           "\f",           "\r",           " ",
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82",
    "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
    "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
    "\xe3\x80\x80"};

std::size_t blanks_at_start(std::string_view text) {
  std::size_t size = 0;
  while (true) {
    const auto* blank = std::ranges::find_if(
        kBlanks, [&](std::string_view one) { return text.substr(size).starts_with(one); });
    if (blank == std::end(kBlanks)) return size;
    size += blank->size();
  }
}

std::size_t blanks_at_end(std::string_view text) {
  const std::size_t whole = text.size();
  while (true) {
    const auto* blank =
        std::ranges::find_if(kBlanks, [&](std::string_view one) { return text.ends_with(one); });
    if (blank == std::end(kBlanks)) return whole - text.size();
    text.remove_suffix(blank->size());
  }
}

}  // namespace

SpecialTokens::SpecialTokens() : nodes_(1) {}

const SpecialTokens::Node* SpecialTokens::child(const Node& node, unsigned char byte) const {
  const auto edge = std::lower_bound(node.children.begin(), node.children.end(), byte, kByByte);
  if (edge == node.children.end() || edge->first != byte) return nullptr;
  return &nodes_[edge->second];
}

void SpecialTokens::add(std::string_view text, TokenId id, bool is_control,
                        SwallowedBlanks swallows) {
  if (text.empty() || text.size() > kMaxLength) return;
  std::uint32_t at = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    auto& children = nodes_[at].children;
    const auto edge = std::lower_bound(children.begin(), children.end(), byte, kByByte);
    if (edge != children.end() && edge->first == byte) {
      at = edge->second;
      continue;
    }
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    children.insert(edge, {byte, next});
    nodes_.emplace_back();  // invalidates `children`
    at = next;
  }
  if (nodes_[at].id != kNoToken) return;  // of two tokens with one text the first one counts
  nodes_[at].id = id;
  nodes_[at].is_control = is_control;
  nodes_[at].swallows = swallows;
}

SpecialTokens::Match SpecialTokens::longest(std::string_view text, bool with_control) const {
  Match best;
  const Node* node = nodes_.data();
  for (std::size_t length = 1; length <= text.size(); ++length) {
    node = child(*node, static_cast<unsigned char>(text[length - 1]));
    if (node == nullptr) break;
    if (node->id != kNoToken && (with_control || !node->is_control)) {
      best = {node, length};
    }
  }
  return best;
}

bool SpecialTokens::control_begins(std::string_view text) const {
  const Node* node = nodes_.data();
  for (const char c : text) {
    node = child(*node, static_cast<unsigned char>(c));
    if (node == nullptr) return false;
    if (node->id != kNoToken && node->is_control) return true;
  }
  return false;
}

std::vector<SpecialTokens::Fragment> SpecialTokens::split(std::string_view text,
                                                          bool with_control) const {
  std::vector<Fragment> fragments;
  std::size_t raw_begin = 0, at = 0;
  while (at < text.size()) {
    const Match match = longest(text.substr(at), with_control);
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + match.length;
    if (match.token->swallows.before)
      begin -= blanks_at_end(text.substr(raw_begin, at - raw_begin));
    if (match.token->swallows.behind) end += blanks_at_start(text.substr(end));
    if (begin > raw_begin) {
      const std::string_view raw = text.substr(raw_begin, begin - raw_begin);
      fragments.push_back({kNoToken, raw, raw});
    }
    fragments.push_back(
        {match.token->id, text.substr(at, match.length), text.substr(begin, end - begin)});
    at = raw_begin = end;
  }
  if (text.size() > raw_begin)
    fragments.push_back({kNoToken, text.substr(raw_begin), text.substr(raw_begin)});
  return fragments;
}

}  // namespace tandem::model
