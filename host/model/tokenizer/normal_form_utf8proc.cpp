// SPDX-License-Identifier: Apache-2.0
//
// Normal form C by utf8proc, for the runs of valid UTF-8.
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "common/error.h"
#include "common/utf8.h"
#include "model/tokenizer/normal_form.h"

namespace tandem::model {
namespace {

struct Free {
  void operator()(utf8proc_uint8_t* text) const { std::free(text); }
};

void append_composed(std::string_view run, std::string& out) {
  if (run.empty()) return;
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(run.data()),
                   static_cast<utf8proc_ssize_t>(run.size()), &raw,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, Free> text(raw);
  if (size < 0) {
    throw Error("tokenizer", std::string("cannot normalise a text: ") + utf8proc_errmsg(size));
  }
  out.append(reinterpret_cast<const char*>(text.get()), static_cast<std::size_t>(size));
}

}  // namespace

bool can_compose() { return true; }

std::string composed(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return std::string(text);
  std::string out;
  std::size_t begin = 0, at = 0;
  while (at < text.size()) {
    const Utf8Sequence sequence = next_utf8(text.substr(at));
    if (!sequence.valid) {
      append_composed(text.substr(begin, at - begin), out);
      out += text.substr(at, sequence.length);
      begin = at + sequence.length;
    }
    at += sequence.length;
  }
  append_composed(text.substr(begin), out);
  return out;
}

}  // namespace tandem::model
