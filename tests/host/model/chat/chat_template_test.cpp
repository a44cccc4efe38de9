// SPDX-License-Identifier: Apache-2.0
//
// Chat templates: the contract and the limits. jinja_oracle.py compares the language with Jinja2.
#include "model/chat/chat_template.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::model {
namespace {

using testing::HasSubstr;

std::string render(const std::string& source, const std::vector<ChatMessage>& messages = {}) {
  return ChatTemplate(source, "<s>", "</s>").render(messages, {});
}

std::string error_of(const std::string& source) {
  try {
    render(source);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(ChatTemplate, RendersAConversation) {
  const std::string source =
      "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>\n{{ m['content'] | trim }}"
      "{{ eos_token if m.role == 'assistant' }}\n{% endfor %}"
      "{% if add_generation_prompt %}<|assistant|>\n{% endif %}";
  const ChatTemplate chat_template(source, "<s>", "</s>");
  const std::vector<ChatMessage> messages = {
      {"user", " Hi "}, {"assistant", "Hello."}, {"user", "Bye"}};
  const std::string turns = "<s><|user|>\nHi\n<|assistant|>\nHello.</s>\n<|user|>\nBye\n";
  EXPECT_EQ(chat_template.render(messages, {.add_generation_prompt = false}), turns);
  EXPECT_EQ(chat_template.render(messages, {}), turns + "<|assistant|>\n");
  EXPECT_EQ(chat_template.source(), source);
}

TEST(ChatTemplate, ArithmeticAndSlicesFollowPython) {
  EXPECT_EQ(render("{{ -7 // 2 }} {{ 7 // -2 }} {{ -8 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }}"),
            "-4 -4 -4 2 -2");
  EXPECT_EQ(
      render("{{ 'hello'[::-1] }} {{ 'hello'[3:0:-1] }} {{ 'hello'[:-2] }} {{ 'hello'[-2:] }}"),
      "olleh lle hel lo");
}

TEST(ChatTemplate, DoesNotInterpretWhatMessagesSay) {
  EXPECT_EQ(render("{{ messages[0].content }}", {{"user", "{{ bos_token }}{% if %}"}}),
            "{{ bos_token }}{% if %}");
}

TEST(ChatTemplate, ReportsTheTemplatesOwnMessage) {
  EXPECT_EQ(error_of("{{ raise_exception('Roles must alternate') }}"),
            "[chat] Roles must alternate");
}

TEST(ChatTemplate, NamesLineAndConstructOfAnError) {
  EXPECT_EQ(error_of("a\n{% include 'x' %}"),
            "[chat] template line 2: this statement is not supported, found 'include'");
  EXPECT_THAT(error_of("\n\n{{ 1 | frobnicate }}"),
              HasSubstr("template line 3: unknown filter 'frobnicate'"));
  EXPECT_EQ(error_of("\n{{ nobody.name }}"), "[chat] template line 2: 'nobody' is undefined");
  EXPECT_THAT(error_of("{{ messages.append(1) }}"), HasSubstr("a list has no method 'append'"));
}

TEST(ChatTemplate, IsASandbox) {
  EXPECT_THAT(error_of("{{ ''.__class__.__mro__ }}"), HasSubstr("'__class__' is undefined"));
  EXPECT_THAT(error_of("{% import 'os' as os %}"), HasSubstr("not supported"));
  EXPECT_THAT(error_of("{{ '%s' % 1 }}"), HasSubstr("cannot compute string % integer"));
}

TEST(ChatTemplate, StopsTemplatesThatNeverEnd) {
  EXPECT_THAT(error_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), HasSubstr("nested"));
  const std::string loops =
      repeated("{% for i in range(100000) %}", 4) + repeated("{% endfor %}", 4);
  EXPECT_THAT(error_of(loops), HasSubstr("too many steps"));
}

TEST(ChatTemplate, StopsTemplatesThatGrow) {
  EXPECT_THAT(error_of("{% set ns = namespace(x='a') %}{% for i in range(99) %}"
                       "{% set ns.x = ns.x + ns.x %}{% endfor %}"),
              testing::AnyOf(HasSubstr("too large"), HasSubstr("too many steps")));
  EXPECT_THAT(error_of("{% set ns = namespace(x=[1]) %}{% for i in range(99) %}"
                       "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"),
              testing::AnyOf(HasSubstr("too large"), HasSubstr("nested too deep")));
  EXPECT_THAT(error_of("{% set ns = namespace(x=1) %}{% for i in range(99999) %}"
                       "{% set ns.x = [ns.x] %}{% endfor %}"),
              HasSubstr("nested too deep"));
  EXPECT_THAT(error_of("{{ 'a' * 9999999999 }}"), HasSubstr("too large"));
  EXPECT_THAT(error_of("{{ ('a' * 10000).replace('a', 'b' * 10000) }}"), HasSubstr("too large"));
  EXPECT_THAT(error_of("{{ range(10 ** 18) }}"), HasSubstr("range is too long"));
  EXPECT_THAT(error_of("{{ 9223372036854775807 + 1 }}"), HasSubstr("out of range"));
  EXPECT_THAT(error_of("{% set ns = namespace(x=[]) %}{% set ns.x = [ns] %}{{ ns.x == ns.x }}"),
              "");
}

TEST(ChatTemplate, BoundsNestingOfTheSource) {
  EXPECT_THAT(error_of("{{ " + repeated("(", 5000) + repeated(")", 5000) + " }}"),
              HasSubstr("too deep"));
  EXPECT_THAT(error_of("{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}"),
              HasSubstr("too deep"));
  EXPECT_THAT(error_of("{{ " + repeated("-", 5000) + "1 }}"), HasSubstr("too deep"));
  EXPECT_THAT(error_of("{{ " + repeated("1 if 1 else ", 5000) + "1 }}"), HasSubstr("too deep"));
  EXPECT_THAT(error_of("{{ 1" + repeated(" + 1", 5000) + " }}"), HasSubstr("too deep"));
  EXPECT_THAT(error_of("{{ x" + repeated(".y", 5000) + " }}"), HasSubstr("too deep"));
  EXPECT_THAT(error_of(repeated("{% if 1 %}", 5000) + repeated("{% endif %}", 5000)),
              HasSubstr("too deep"));
  EXPECT_EQ(error_of("{{ " + repeated("not ", 5000) + "1 }}"), "");
  EXPECT_THAT(error_of(std::string(2 << 20, 'x')), HasSubstr("longer than"));
}

TEST(ChatTemplate, RendersLongConversations) {
  const std::vector<ChatMessage> messages(2000, {"user", std::string(1000, 'x')});
  const std::string text = render(
      "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content | trim + eos_token }}{% endfor "
      "%}",
      messages);
  EXPECT_EQ(text.size(), 2000u * (1000 + 8 + 4));
}

TEST(ChatTemplate, LooksAtTheWholeConversationInEveryTurn) {
  const std::vector<ChatMessage> messages(600, {"user", std::string(900, 'x')});
  const std::string text = render(
      "{% for m in messages %}{{ (messages | length - 1) - loop.index0 }}{{ messages | count }}"
      "{{ (messages | first).role }}{{ (messages | last).role }}"
      "{{ (messages | default([]))[0].role }}{% if messages is defined and messages is sequence "
      "%}{{ m.content }}{% endif %}{% endfor %}",
      messages);
  EXPECT_GT(text.size(), 600u * 900);
}

}  // namespace
}  // namespace tandem::model
