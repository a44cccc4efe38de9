// SPDX-License-Identifier: Apache-2.0
//
// Preprocessed C++ as tokens with matched brackets, and the variables that it declares.
//
// Declarations are recognised by their form, without knowledge of types: variables, parameters,
// loop variables, and constants of template heads and enumerations. Names of types are left out, so
// what find() returns can stand in an expression. When the brackets of the text do not match,
// empty() is true. An index counts tokens; an index past the end is valid and has an empty
// spelling. Cost: linear in the text. Ownership: borrows the text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bitstreams/compiler/dataflow/dataflow_tokens.h"

namespace tandem::xclbin {

struct Declaration {
  size_t at = 0;
  size_t scope_end = 0;  // the closing bracket of its scope, or the end
  bool constant = false;
  bool stream = false;  // whether it is an hls::stream<...>, by value, or of a type named after one
  bool local = false;   // whether it belongs to a function; parameters do, too
};

class DataflowSource {
 public:
  explicit DataflowSource(std::string_view text);

  bool empty() const { return partner_.empty(); }
  size_t size() const { return tokens_.size(); }
  std::string_view text() const { return text_; }
  const Token& token(size_t index) const { return tokens_[index]; }
  size_t partner(size_t index) const { return partner_[index]; }

  std::string_view spelling(size_t index) const;
  bool is(size_t index, std::string_view what) const { return spelling(index) == what; }
  bool is_word(size_t index) const;
  bool is_directive(size_t index) const;
  bool is_opening(size_t index) const;
  bool is_closing(size_t index) const;
  // Whether the next token follows without a blank.
  bool touches_next(size_t index) const;
  // The token after this one, or after its closing bracket.
  size_t behind(size_t index) const { return is_opening(index) ? partner_[index] + 1 : index + 1; }
  // The first `;` from `at` on outside brackets; at most `end`.
  size_t semicolon(size_t at, size_t end) const;
  // The token after the `>` that closes the `<` at `open`; `open` itself when there is none.
  size_t behind_angle(size_t open, size_t end) const;
  // The first token of the statement that `index` is part of.
  size_t statement_begin(size_t index) const;
  // The token after the statement at `at`, at most `end`.
  size_t statement_end(size_t at, size_t end) const;
  // Tokens [begin, end) on one line, without directives.
  std::string flat(size_t begin, size_t end) const;

  // The names that the statement at `at`, which ends before `end`, declares.
  std::vector<Declaration> declarations(size_t at, size_t end) const;
  // What `name` means at `index`; null when no declaration is known.
  const Declaration* find(std::string_view name, size_t index) const;

 private:
  struct Scope {
    size_t close;
    bool code;
  };

  size_t behind_type(size_t at, size_t end, Declaration& kind) const;
  void find_declarations();
  void enter_block(size_t open, size_t begin);
  void add_parameters(size_t open, size_t scope_end);
  void add_template_head(size_t begin, size_t open);
  void add_enumerators(size_t open);
  void add_stream_type(size_t begin);
  void add(Declaration declaration);

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<size_t> partner_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string_view, std::vector<Declaration>> declarations_;
  std::unordered_set<std::string_view> stream_types_;  // names of hls::stream<...>
};

}  // namespace tandem::xclbin
