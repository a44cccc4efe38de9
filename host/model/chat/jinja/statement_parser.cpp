// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over statements and template text (declared in parser.h).
#include <initializer_list>

#include "common/error.h"
#include "model/chat/jinja/parser.h"

namespace tandem::model::jinja {
namespace {

constexpr int kMaxNesting = 64;

class StatementParser {
 public:
  explicit StatementParser(const std::string& source)
      : cursor_(tokenize(source)), expressions_(cursor_) {}

  std::vector<Statement> run() {
    std::vector<Statement> body = parse_body({});
    if (!cursor_.at(TokenType::kEnd)) cursor_.fail("nothing is open that this would close");
    return body;
  }

 private:
  // Statements up to one of `ends`, whose block begin and name are then consumed.
  std::vector<Statement> parse_body(std::initializer_list<const char*> ends) {
    if (++nesting_ > kMaxNesting) cursor_.fail("blocks are nested too deep");
    std::vector<Statement> body;
    while (!cursor_.at(TokenType::kEnd)) {
      if (cursor_.at(TokenType::kBlockBegin)) {
        cursor_.next();
        for (const char* end : ends) {
          if (!cursor_.at_name(end)) continue;
          ended_by_ = end;
          cursor_.next();
          --nesting_;
          return body;
        }
        body.push_back(parse_statement());
      } else if (cursor_.at(TokenType::kPrintBegin)) {
        body.push_back(parse_print());
      } else {
        Statement text = make(StatementKind::kText);
        text.text = cursor_.next().text;
        body.push_back(std::move(text));
      }
    }
    if (ends.size() > 0) {
      cursor_.fail(std::string("the template ends before '") + *(ends.end() - 1) + "'");
    }
    --nesting_;
    return body;
  }

  Statement make(StatementKind kind) const {
    Statement statement{kind};
    statement.line = cursor_.line();
    return statement;
  }

  void end_block() { cursor_.expect(TokenType::kBlockEnd, "'%}'"); }

  Statement parse_print() {
    Statement print = make(StatementKind::kPrint);
    cursor_.next();
    print.expression = expressions_.parse_tuple();
    cursor_.expect(TokenType::kPrintEnd, "'}}'");
    return print;
  }

  Statement parse_statement() {
    if (cursor_.at_name("if")) return parse_if();
    if (cursor_.at_name("for")) return parse_for();
    if (cursor_.at_name("set")) return parse_set();
    if (cursor_.at_name("macro")) return parse_macro();
    if (cursor_.at_name("generation")) return parse_group();
    if (cursor_.at_name("break")) return parse_jump(StatementKind::kBreak);
    if (cursor_.at_name("continue")) return parse_jump(StatementKind::kContinue);
    cursor_.fail("this statement is not supported");
  }

  Statement parse_jump(StatementKind kind) {
    Statement jump = make(kind);
    if (loops_ == 0) cursor_.fail("only a loop can be left");
    cursor_.next();
    end_block();
    return jump;
  }

  Statement parse_group() {
    Statement group = make(StatementKind::kGroup);
    cursor_.next();
    end_block();
    group.body = parse_body({"endgeneration"});
    end_block();
    return group;
  }

  Statement parse_if() {
    Statement statement = make(StatementKind::kIf);
    cursor_.next();
    while (true) {
      Branch branch;
      if (ended_by_ != "else" || statement.branches.empty()) {
        branch.condition = expressions_.parse_tuple();
      }
      end_block();
      const bool is_last = !branch.condition;
      if (is_last) {
        branch.body = parse_body({"endif"});
      } else {
        branch.body = parse_body({"elif", "else", "endif"});
      }
      statement.branches.push_back(std::move(branch));
      if (ended_by_ == "endif") break;
    }
    end_block();
    return statement;
  }

  std::vector<std::string> parse_targets() {
    std::vector<std::string> targets;
    const bool in_parenthesis = cursor_.skip_operator("(");
    do {
      if (!targets.empty() && (cursor_.at_name("in") || cursor_.at_operator("="))) break;
      targets.push_back(cursor_.expect_identifier());
    } while (cursor_.skip_operator(","));
    if (in_parenthesis) cursor_.expect_operator(")");
    return targets;
  }

  Statement parse_for() {
    Statement loop = make(StatementKind::kFor);
    cursor_.next();
    loop.targets = parse_targets();
    cursor_.expect_name("in");
    loop.expression = expressions_.parse_without_condition();
    if (cursor_.skip_name("if")) loop.condition = expressions_.parse();
    if (cursor_.at_name("recursive")) cursor_.fail("recursive loops are not supported");
    end_block();
    ++loops_;
    loop.body = parse_body({"else", "endfor"});
    --loops_;
    if (ended_by_ == "else") {
      end_block();
      loop.otherwise = parse_body({"endfor"});
    }
    end_block();
    return loop;
  }

  Statement parse_set() {
    Statement set = make(StatementKind::kSet);
    cursor_.next();
    set.targets = parse_targets();
    if (cursor_.skip_operator(".")) {
      if (set.targets.size() != 1) cursor_.fail("only one attribute can be set");
      set.attribute = cursor_.expect_identifier();
    }
    if (cursor_.skip_operator("=")) {
      set.expression = expressions_.parse_tuple();
      end_block();
      return set;
    }
    if (set.targets.size() != 1 || !set.attribute.empty()) cursor_.expect_operator("=");
    set.kind = StatementKind::kSetBlock;
    set.expression = expressions_.parse_filters(nullptr);
    end_block();
    const int outer = std::exchange(loops_, 0);  // a block is captured whole
    set.body = parse_body({"endset"});
    loops_ = outer;
    end_block();
    return set;
  }

  Statement parse_macro() {
    Statement macro = make(StatementKind::kMacro);
    cursor_.next();
    macro.text = cursor_.expect_identifier();
    cursor_.expect_operator("(");
    while (!cursor_.skip_operator(")")) {
      macro.targets.push_back(cursor_.expect_identifier());
      if (cursor_.skip_operator("=")) {
        macro.defaults.push_back(expressions_.parse());
      } else if (!macro.defaults.empty()) {
        cursor_.fail("a parameter without a default behind one with a default");
      }
      if (!cursor_.at_operator(")")) cursor_.expect_operator(",");
    }
    end_block();
    const int outer = std::exchange(loops_, 0);
    macro.body = parse_body({"endmacro"});
    loops_ = outer;
    end_block();
    return macro;
  }

  TokenCursor cursor_;
  ExpressionParser expressions_;
  std::string ended_by_;
  int nesting_ = 0;
  int loops_ = 0;  // that enclose the cursor
};

}  // namespace

std::vector<Statement> parse(const std::string& source) { return StatementParser(source).run(); }

}  // namespace tandem::model::jinja
