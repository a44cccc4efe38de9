// SPDX-License-Identifier: Apache-2.0
//
// A byte trie of special tokens.
#include "model/tokenizer/special_tokens.h"

#include <algorithm>

namespace tandem::model {
namespace {

constexpr auto kByByte = [](const std::pair<unsigned char, std::uint32_t>& edge,
                            unsigned char byte) { return edge.first < byte; };

}  // namespace

SpecialTokens::SpecialTokens() : nodes_(1) {}

const SpecialTokens::Node* SpecialTokens::child(const Node& node, unsigned char byte) const {
  const auto edge = std::lower_bound(node.children.begin(), node.children.end(), byte, kByByte);
  if (edge == node.children.end() || edge->first != byte) return nullptr;
  return &nodes_[edge->second];
}

void SpecialTokens::add(std::string_view text, TokenId id, bool is_control) {
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
  if (nodes_[at].id != kNoToken) return;  // the first token of a text is the one meant
  nodes_[at].id = id;
  nodes_[at].is_control = is_control;
}

std::size_t SpecialTokens::longest(std::string_view text, bool with_control, TokenId& id) const {
  std::size_t best = 0;
  const Node* node = nodes_.data();
  for (std::size_t length = 1; length <= text.size(); ++length) {
    node = child(*node, static_cast<unsigned char>(text[length - 1]));
    if (node == nullptr) break;
    if (node->id != kNoToken && (with_control || !node->is_control)) {
      best = length;
      id = node->id;
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
    TokenId id = kNoToken;
    const std::size_t length = longest(text.substr(at), with_control, id);
    if (length == 0) {
      ++at;
      continue;
    }
    if (at > raw_begin) fragments.push_back({kNoToken, text.substr(raw_begin, at - raw_begin)});
    fragments.push_back({id, text.substr(at, length)});
    at += length;
    raw_begin = at;
  }
  if (text.size() > raw_begin) fragments.push_back({kNoToken, text.substr(raw_begin)});
  return fragments;
}

}  // namespace tandem::model
