// SPDX-License-Identifier: Apache-2.0
//
// Chat templates: the contract and the limits. jinja_oracle.py compares the language with Jinja2.
#include "model/chat/chat_template.h"

#include <gmock/gmock.h>

#include "common/error.h"
#include "host/model/chat/repeated.h"

namespace tandem::model {
namespace {

using testing::HasSubstr;

std::string render(const std::string& source, const std::vector<ChatMessage>& messages = {}) {
  return ChatTemplate(source, "<s>", "</s>").render(messages, {});
}

std::string template_error(const std::string& source) {
  try {
    render(source);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
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
  EXPECT_EQ(template_error("{{ raise_exception('Roles must alternate') }}"),
            "[chat] Roles must alternate");
}

TEST(ChatTemplate, NamesLineColumnAndConstructOfAnError) {
  EXPECT_EQ(template_error("a\n{% trans %}"),
            "[chat] template line 2, column 4: this statement is not supported, found 'trans'");
  EXPECT_EQ(template_error("\n\n{{ 'ä' | frobnicate }}"),
            "[chat] template line 3, column 10: unknown filter 'frobnicate'");
  EXPECT_EQ(template_error("\n  {{ nobody.name }}"),
            "[chat] template line 2, column 6: 'nobody' is undefined");
  EXPECT_EQ(template_error("{% if 1 %}\nx"),
            "[chat] template line 2, column 2: the template ends before 'endif'");
  EXPECT_EQ(template_error("{# c #}{% include 'x' %}"),
            "[chat] template line 1, column 11: 'include' needs other templates, and a model has "
            "only this one");
}

TEST(ChatTemplate, TellsItsOwnFaultsFromRefusals) {
  EXPECT_THROW(render("{{ raise_exception('no') }}"), Error);
  EXPECT_THROW(render("{{"), ChatTemplateError);
  EXPECT_THROW(render("{{ nobody.name }}"), ChatTemplateError);
  EXPECT_THROW(render("{{ 'a' * 9999999999 }}"), ChatTemplateError);
  try {
    render("{{ raise_exception('no') }}");
  } catch (const ChatTemplateError&) {
    FAIL() << "what the template refuses is no fault of the template";
  } catch (const Error&) {
  }
}

TEST(ChatTemplate, SeesToolsAndAllFieldsOfMessages) {
  const ChatTemplate chat_template(
      "{% for t in tools %}{{ t.function.name }}{{ t | tojson }};{% endfor %}{% for m in messages "
      "%}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls %}{{ c.function.arguments.city }}{% "
      "endfor %};{% endfor %}{{ enable_thinking }}{{ documents }}",
      "<s>", "</s>");
  const std::vector<ChatMessage> messages = {
      {"user", "hi"},
      {"assistant", "ignored",
       R"({"content": null, "tool_calls": [{"function": {"arguments": {"city": "Bern"}}}]})"},
      {"tool", "21", R"({"tool_call_id": "x"})"}};
  EXPECT_EQ(chat_template.render(messages, {.tools = R"([{"function": {"name": "f", "a": 1}}])",
                                            .variables = R"({"enable_thinking": false})"}),
            "f{\"function\": {\"name\": \"f\", \"a\": 1}};user:hi;assistant:NoneBern;tool:21;"
            "FalseNone");
  const auto loud = [](std::string_view text) {
    return text == "hi" || text == "Bern" ? "!" + std::string(text) : std::string(text);
  };
  EXPECT_EQ(chat_template.render(messages, {.tools = "[]"}, loud),
            "user:!hi;assistant:None!Bern;tool:21;None");
}

TEST(ChatTemplate, RefusesFieldsThatAreNoJson) {
  const ChatTemplate chat_template("x", "", "");
  const auto error = [&](const std::vector<ChatMessage>& messages, const ChatInputs& inputs) {
    try {
      chat_template.render(messages, inputs);
    } catch (const Error& refusal) {
      return std::string(refusal.what());
    }
    return std::string();
  };
  EXPECT_EQ(error({}, {.tools = "[1,"}), "[chat] tools is not valid JSON at byte 4");
  EXPECT_EQ(error({{"user", "", "{\"a\": x}"}}, {}),
            "[chat] the fields of a message is not valid JSON at byte 7");
  EXPECT_THAT(error({{"user", "", "[1]"}}, {}), HasSubstr("expected a mapping, got list"));
  EXPECT_THAT(error({}, {.variables = repeated("[", 100) + repeated("]", 100)}),
              HasSubstr("variables is nested more than 64 deep"));
}

TEST(ChatTemplate, IsASandbox) {
  EXPECT_EQ(render("{{ ''.__class__ }}|"), "|");
  EXPECT_THAT(template_error("{{ ''.__class__.__mro__ }}"), HasSubstr("'__class__' is undefined"));
  EXPECT_THAT(template_error("{{ '{0.__class__.__mro__}'.format(1) }}"), HasSubstr("is undefined"));
  EXPECT_THAT(template_error("{% import 'os' as os %}"), HasSubstr("needs other templates"));
  EXPECT_THAT(template_error("{{ [1].append(2) }}"), HasSubstr("may not change"));
  EXPECT_THAT(template_error("{{ messages[0].update({}) }}{{ {}.update({}) }}"),
              HasSubstr("undefined"));
}

TEST(ChatTemplate, StopsTemplatesThatNeverEnd) {
  EXPECT_THAT(template_error("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
              HasSubstr("nested"));
  const std::string loops =
      repeated("{% for i in range(100000) %}", 4) + repeated("{% endfor %}", 4);
  EXPECT_THAT(template_error(loops), HasSubstr("too many steps"));
}

TEST(ChatTemplate, StopsTemplatesThatGrow) {
  EXPECT_THAT(template_error("{% set ns = namespace(x='a') %}{% for i in range(99) %}"
                             "{% set ns.x = ns.x + ns.x %}{% endfor %}"),
              testing::AnyOf(HasSubstr("too large"), HasSubstr("too many steps")));
  EXPECT_THAT(template_error("{% set ns = namespace(x=[1]) %}{% for i in range(99) %}"
                             "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"),
              testing::AnyOf(HasSubstr("too large"), HasSubstr("nested too deep")));
  EXPECT_THAT(template_error("{% set ns = namespace(x=1) %}{% for i in range(99999) %}"
                             "{% set ns.x = [ns.x] %}{% endfor %}"),
              HasSubstr("nested too deep"));
  EXPECT_THAT(template_error("{{ 'a' * 9999999999 }}"), HasSubstr("too large"));
  EXPECT_THAT(template_error("{{ ('a' * 10000).replace('a', 'b' * 10000) }}"),
              HasSubstr("too large"));
  EXPECT_THAT(template_error("{{ range(10 ** 18) }}"), HasSubstr("range is too long"));
  EXPECT_THAT(template_error("{{ 9223372036854775807 + 1 }}"), HasSubstr("out of range"));
  EXPECT_THAT(
      template_error("{% set ns = namespace(x=[]) %}{% set ns.x = [ns] %}{{ ns.x == ns.x }}"), "");
}

TEST(ChatTemplate, BoundsEveryWayToGrow) {
  for (const char* source : {"{{ '%9999999d' % 1 }}",
                             "{{ '%.9999999f' % 1.0 }}",
                             "{{ '{:99999999}'.format(1) }}",
                             "{{ '{:.99999999f}'.format(1.0) }}",
                             "{{ '%*d' % (99999999, 1) }}",
                             "{{ 'a'.center(10 ** 12) }}",
                             "{{ 'a'.zfill(10 ** 12) }}",
                             "{{ 'a'.ljust(10 ** 12) }}",
                             "{{ [1] | batch(10 ** 12, 0) | list }}",
                             "{{ [1] | slice(10 ** 12) | list }}",
                             "{{ ('a\n' * 100000) | indent('x' * 10000) }}",
                             "{{ ('&' * 10000000) | e | e }}",
                             "{{ ('a' * 100000) | replace('', 'b' * 10000) }}",
                             "{{ ['a' * 100000] * 100000 }}",
                             "{{ (['a' * 100000] * 1000) | join('b' * 100000) }}",
                             "{{ [[1] * 100000] * 100000 }}",
                             "{{ '{0}{0}'.format('a' * 9000000) }}",
                             "{{ (['a' * 1000000] * 100) | tojson }}",
                             "{{ [[1]] | tojson(indent='x' * 10000000) }}",
                             "{{ 'x' ~ 'a' * 16777216 }}",
                             "{{ ('a' * 9000000) + ('a' * 9000000) }}"}) {
    EXPECT_THAT(template_error(source),
                testing::AnyOf(HasSubstr("too large"), HasSubstr("too many steps"),
                               HasSubstr("too long"), HasSubstr("out of range")))
        << source;
  }
}

TEST(ChatTemplate, BoundsWhatItPrints) {
  EXPECT_THAT(
      template_error("{% set a = 'a' * 1000000 %}{% for i in range(99) %}{{ a }}{% endfor %}"),
      HasSubstr("the output grows too large"));
  EXPECT_EQ(render("{% set a = 'a' * 1000000 %}{% for i in range(16) %}{{ a }}{% endfor %}").size(),
            16'000'000u);
}

class EndlessLoop : public testing::TestWithParam<const char*> {};

TEST_P(EndlessLoop, EndsAfterTooManySteps) {
  EXPECT_THAT(template_error(GetParam()), HasSubstr("too many steps"));
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryKind, EndlessLoop,
    testing::Values(
        "{% for i in range(100000) %}{% for j in range(100000) %}{% macro m() %}{% endmacro %}"
        "{% endfor %}{% endfor %}",
        "{% macro m() %}{{ caller() }}{% endmacro %}{% for i in range(100000) %}{% for j in "
        "range(1000) %}{% call m() %}{% endcall %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(1000) %}{% set n = namespace(a=1) %}"
        "{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(1000) %}{% set c = cycler(1, 2) %}"
        "{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{% with a = range(100000) %}{% endwith %}{% endfor %}",
        "{% for i in range(100000) %}{% set x | upper %}{{ 'a' * 10000 }}{% endset %}{% endfor %}",
        "{% for i in range(100000) %}{% set d = range(1000) | list | sort %}{% endfor %}",
        "{% for i in range(100000) %}{% set d = 'a b ' * 1000 %}{% set e = d.split() %}{% endfor "
        "%}",
        "{% for i in range(100000) %}{{ ('a' * 30000).count('a' * 15000 ~ 'b') }}{% endfor %}",
        "{% for i in range(100000) %}{{ ('a' * 15000 ~ 'b') in ('a' * 30000) }}{% endfor %}",
        "{% for i in range(100000) %}{% set x = ('<!--' * 9000) | striptags %}{% endfor %}",
        "{% for i in range(100000) %}{{ loop.changed(range(10000)) }}{% endfor %}"));

TEST(ChatTemplate, BoundsRecursionOfLoopsAndCalls) {
  EXPECT_THAT(template_error("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
              HasSubstr("nested too deep"));
  EXPECT_THAT(template_error("{% macro m() %}{% call m() %}{% endcall %}{{ caller() if caller }}{% "
                             "endmacro %}{{ m() }}"),
              HasSubstr("nested too deep"));
  EXPECT_THAT(template_error("{{ '{:{:{:{:5}}}}'.format(1, 2, 3, 4) }}"), HasSubstr("too deep"));
  EXPECT_THAT(template_error("{% set n = namespace() %}{% set n.n = n %}{{ n }}"),
              HasSubstr("cannot be printed"));
}

TEST(ChatTemplate, BoundsNestingOfTheSource) {
  EXPECT_THAT(template_error("{{ " + repeated("(", 5000) + repeated(")", 5000) + " }}"),
              HasSubstr("too deep"));
  EXPECT_THAT(template_error("{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}"),
              HasSubstr("too deep"));
  EXPECT_THAT(template_error("{{ " + repeated("-", 5000) + "1 }}"), HasSubstr("too deep"));
  EXPECT_THAT(template_error("{{ " + repeated("1 if 1 else ", 5000) + "1 }}"),
              HasSubstr("too deep"));
  EXPECT_THAT(template_error("{{ 1" + repeated(" + 1", 5000) + " }}"), HasSubstr("too deep"));
  EXPECT_THAT(template_error("{{ x" + repeated(".y", 5000) + " }}"), HasSubstr("too deep"));
  EXPECT_THAT(
      template_error("{{ f(**" + repeated("f(**", 5000) + "a" + repeated(")", 5001) + " }}"),
      HasSubstr("too deep"));
  EXPECT_THAT(
      template_error("{% set " + repeated("(", 5000) + "a" + repeated(")", 5000) + " = 1 %}"),
      HasSubstr("too deep"));
  EXPECT_THAT(template_error(repeated("{% with %}", 5000) + repeated("{% endwith %}", 5000)),
              HasSubstr("too deep"));
  EXPECT_THAT(template_error(repeated("{% if 1 %}", 5000) + repeated("{% endif %}", 5000)),
              HasSubstr("too deep"));
  EXPECT_EQ(template_error("{{ " + repeated("not ", 5000) + "1 }}"), "");
  EXPECT_THAT(template_error(std::string(2 << 20, 'x')), HasSubstr("longer than"));
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
