// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over statements and template text (declared in parser.h).
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "model/chat/jinja/parser.h"

namespace tandem::model::jinja {
namespace {

constexpr int kMaxBlocks = 64;

bool sets_attribute(const Target& target) {
  return !target.attribute.empty() || std::ranges::any_of(target.parts, sets_attribute);
}

class StatementParser {
 public:
  explicit StatementParser(const std::string& source)
      : cursor_(tokenize(source)), expressions_(cursor_) {}

  std::vector<Statement> run() {
    std::vector<Statement> body = parse_body({});
    if (!cursor_.at(TokenType::kEnd)) cursor_.fail("this closes a block that is not open");
    return body;
  }

 private:
  // Statements up to one of `ends`, whose block begin and name are then consumed.
  std::vector<Statement> parse_body(std::initializer_list<const char*> ends) {
    if (++nesting_ > kMaxBlocks) cursor_.fail("blocks are nested too deep");
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
    statement.place = cursor_.place();
    return statement;
  }

  void end_block() {
    cursor_.expect(TokenType::kBlockEnd, "'%}'");
    expressions_.check_names(inside_if_);
  }

  Statement parse_print() {
    Statement print = make(StatementKind::kPrint);
    cursor_.next();
    print.expression = expressions_.parse_tuple();
    cursor_.expect(TokenType::kPrintEnd, "'}}'");
    expressions_.check_names(inside_if_);
    return print;
  }

  Statement parse_statement() {
    using Parse = Statement (StatementParser::*)();
    static constexpr std::pair<const char*, Parse> kStatements[] = {
        {"if", &StatementParser::parse_if},
        {"for", &StatementParser::parse_for},
        {"set", &StatementParser::parse_set},
        {"macro", &StatementParser::parse_macro},
        {"call", &StatementParser::parse_call_block},
        {"filter", &StatementParser::parse_filter_block},
        {"with", &StatementParser::parse_with},
        {"block", &StatementParser::parse_block},
        {"generation", &StatementParser::parse_generation},
        {"autoescape", &StatementParser::parse_autoescape},
        {"break", &StatementParser::parse_break},
        {"continue", &StatementParser::parse_continue},
        {"include", &StatementParser::parse_no_loader},
        {"import", &StatementParser::parse_no_loader},
        {"from", &StatementParser::parse_no_loader},
        {"extends", &StatementParser::parse_no_loader}};
    for (const auto& [name, parse] : kStatements) {
      if (cursor_.at_name(name)) return (this->*parse)();
    }
    cursor_.fail("this statement is not supported");
  }

  // A body in which unknown names are errors at once, and which loops may not be left from unless
  // `in_loop`.
  std::vector<Statement> parse_inner(std::initializer_list<const char*> ends, int loops) {
    const int outer_loops = std::exchange(loops_, loops);
    const bool outer_if = std::exchange(inside_if_, false);
    std::vector<Statement> body = parse_body(ends);
    loops_ = outer_loops;
    inside_if_ = outer_if;
    return body;
  }

  Statement parse_break() { return parse_jump(StatementKind::kBreak); }
  Statement parse_continue() { return parse_jump(StatementKind::kContinue); }

  Statement parse_jump(StatementKind kind) {
    Statement jump = make(kind);
    if (loops_ == 0) cursor_.fail("only a loop can be left");
    cursor_.next();
    end_block();
    return jump;
  }

  Statement parse_generation() {
    Statement group = make(StatementKind::kBlock);
    group.scoped = true;
    cursor_.next();
    end_block();
    group.body = parse_inner({"endgeneration"}, loops_);
    end_block();
    return group;
  }

  // There is no markup to escape: only `false`, the default, means something.
  Statement parse_autoescape() {
    Statement group = make(StatementKind::kBlock);
    group.scoped = true;
    cursor_.next();
    const Place place = cursor_.place();
    const ExpressionPtr value = expressions_.parse();
    if (value->kind != ExpressionKind::kConstant || value->constant.truthy()) {
      fail_at(place, "autoescape is not supported");
    }
    end_block();
    group.body = parse_inner({"endautoescape"}, loops_);
    end_block();
    return group;
  }

  Statement parse_block() {
    Statement block = make(StatementKind::kBlock);
    cursor_.next();
    block.text = cursor_.expect_identifier();
    block.scoped = cursor_.skip_name("scoped");
    if (cursor_.skip_name("required"))
      cursor_.fail("a required block needs a template that fills it");
    end_block();
    block.body = parse_inner({"endblock"}, 0);
    if (cursor_.at(TokenType::kName)) cursor_.expect_name(block.text);
    end_block();
    return block;
  }

  Statement parse_filter_block() {
    Statement block = make(StatementKind::kFilter);
    cursor_.next();
    block.expression = expressions_.parse_block_filters();
    end_block();
    block.body = parse_inner({"endfilter"}, loops_);
    end_block();
    return block;
  }

  Statement parse_with() {
    Statement with = make(StatementKind::kWith);
    cursor_.next();
    while (!cursor_.at(TokenType::kBlockEnd)) {
      if (!with.targets.empty()) cursor_.expect_operator(",");
      with.targets.push_back(expressions_.parse_single_target());
      cursor_.expect_operator("=");
      with.values.push_back(expressions_.parse());
    }
    end_block();
    with.body = parse_inner({"endwith"}, loops_);
    end_block();
    return with;
  }

  // There is nothing to load from, so only its place in the syntax matters.
  Statement parse_no_loader() {
    Statement statement = make(StatementKind::kNoLoader);
    statement.text = cursor_.next().text;
    if (cursor_.at(TokenType::kBlockEnd)) cursor_.fail("expected the name of a template");
    while (!cursor_.at(TokenType::kBlockEnd) && !cursor_.at(TokenType::kEnd)) cursor_.next();
    end_block();
    return statement;
  }

  Statement parse_if() {
    Statement statement = make(StatementKind::kIf);
    const bool outer = std::exchange(inside_if_, true);
    cursor_.next();
    while (true) {
      Branch branch;
      if (ended_by_ != "else" || statement.branches.empty()) {
        branch.condition = expressions_.parse_tuple_without_condition();
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
    inside_if_ = outer;
    return statement;
  }

  Statement parse_for() {
    Statement loop = make(StatementKind::kFor);
    cursor_.next();
    const Place place = cursor_.place();
    loop.target = expressions_.parse_target();
    if (sets_attribute(loop.target)) fail_at(place, "a loop cannot set an attribute");
    cursor_.expect_name("in");
    loop.expression = expressions_.parse_tuple_without_condition();
    if (cursor_.skip_name("if")) loop.condition = expressions_.parse();
    loop.recursive = cursor_.skip_name("recursive");
    end_block();
    loop.body = parse_inner({"else", "endfor"}, loops_ + 1);
    if (ended_by_ == "else") {
      end_block();
      loop.otherwise = parse_inner({"endfor"}, loops_);
    }
    end_block();
    return loop;
  }

  Statement parse_set() {
    Statement set = make(StatementKind::kSet);
    cursor_.next();
    set.target = expressions_.parse_target();
    if (cursor_.skip_operator("=")) {
      set.expression = expressions_.parse_tuple();
      end_block();
      return set;
    }
    if (!set.target.parts.empty()) cursor_.expect_operator("=");
    set.kind = StatementKind::kSetBlock;
    set.expression = expressions_.parse_filters(nullptr);
    end_block();
    set.body = parse_inner({"endset"}, loops_);
    end_block();
    return set;
  }

  // ( names with defaults ) and the body of a macro or call block.
  void parse_parameters(Statement& macro) {
    while (!cursor_.skip_operator(")")) {
      macro.parameters.push_back(cursor_.expect_identifier());
      if (cursor_.skip_operator("=")) {
        macro.defaults.push_back(expressions_.parse());
      } else if (!macro.defaults.empty()) {
        cursor_.fail("a parameter without a default behind one with a default");
      }
      if (!cursor_.at_operator(")")) cursor_.expect_operator(",");
    }
  }

  void parse_macro_body(Statement& macro, const char* end) {
    const std::size_t begin = cursor_.position();
    end_block();
    macro.body = parse_inner({end}, 0);
    macro.uses_caller = cursor_.names_between(begin, "caller");
    macro.uses_varargs = cursor_.names_between(begin, "varargs");
    macro.uses_kwargs = cursor_.names_between(begin, "kwargs");
    end_block();
  }

  Statement parse_macro() {
    Statement macro = make(StatementKind::kMacro);
    cursor_.next();
    macro.text = cursor_.expect_identifier();
    cursor_.expect_operator("(");
    parse_parameters(macro);
    parse_macro_body(macro, "endmacro");
    return macro;
  }

  Statement parse_call_block() {
    Statement call = make(StatementKind::kCall);
    call.text = "caller";
    cursor_.next();
    if (cursor_.skip_operator("(")) parse_parameters(call);
    call.expression = expressions_.parse_call();
    parse_macro_body(call, "endcall");
    return call;
  }

  TokenCursor cursor_;
  ExpressionParser expressions_;
  std::string ended_by_;
  int nesting_ = 0;
  int loops_ = 0;  // that enclose the cursor
  bool inside_if_ = false;
};

}  // namespace

std::vector<Statement> parse(const std::string& source) { return StatementParser(source).run(); }

}  // namespace tandem::model::jinja
