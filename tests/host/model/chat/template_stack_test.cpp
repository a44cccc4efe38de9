// SPDX-License-Identifier: Apache-2.0
//
// Templates that recurse as deep as the limits allow, on a thread with a stack of 1 MiB.
#include <gmock/gmock.h>
#include <pthread.h>

#include "common/error.h"
#include "host/model/chat/repeated.h"
#include "model/chat/chat_template.h"

namespace tandem::model {
namespace {

struct Rendering {
  std::string source;
  std::string error;
};

void* render(void* argument) {
  auto* rendering = static_cast<Rendering*>(argument);
  try {
    ChatTemplate(rendering->source, "<s>", "</s>").render({}, {});
  } catch (const Error& error) {
    rendering->error = error.what();
  }
  return nullptr;
}

// The error of rendering `source` on a small stack; an overflow ends the program.
std::string error_on_a_small_stack(const std::string& source) {
  Rendering rendering{source, {}};
  pthread_attr_t attributes;
  pthread_t thread;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{1} << 20), 0);
  EXPECT_EQ(pthread_create(&thread, &attributes, render, &rendering), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  return rendering.error;
}

// A macro whose call of itself stands within `open` ... `close`.
std::string recursive_macro(const std::string& open, const std::string& close) {
  return "{% macro m(a=1) %}" + open + "m()" + close + "{% endmacro %}{{ m() }}";
}

TEST(TemplateStack, RecursionThroughBlocksIsStoppedInTime) {
  for (const auto& [open, close] :
       {std::pair("{% for a in [1] %}", "{% endfor %}"), std::pair("{% if 1 %}", "{% endif %}"),
        std::pair("{% set x %}", "{% endset %}")}) {
    for (const int depth : {1, 10, 58}) {
      EXPECT_THAT(error_on_a_small_stack(recursive_macro(repeated(open, depth) + "{{ ",
                                                         " }}" + repeated(close, depth))),
                  testing::HasSubstr("nested too deep"))
          << open << depth;
    }
  }
}

TEST(TemplateStack, RecursionThroughExpressionsIsStoppedInTime) {
  for (const auto& [open, close] :
       {std::pair("", ""), std::pair("[", "]"), std::pair("{'a': ", "}"), std::pair("-", ""),
        std::pair("1 + (", ")"), std::pair("1 < (", ")"), std::pair("dict(a=", ")"),
        std::pair("(1 if ", " else 2)"), std::pair("''|replace('a', ", ")"),
        std::pair("1 is eq(", ")"), std::pair("'a'[", "]")}) {
    for (const int depth : {1, 60}) {
      const std::string source =
          recursive_macro("{{ " + repeated(open, depth), repeated(close, depth) + " }}");
      EXPECT_THAT(error_on_a_small_stack(source), testing::HasSubstr("nested too deep"))
          << open << depth;
    }
  }
  EXPECT_THAT(error_on_a_small_stack("{% macro m(a=m()) %}{% endmacro %}{{ m() }}"),
              testing::HasSubstr("nested too deep"));
}

TEST(TemplateStack, AMapThatAppliesMapsIsBounded) {
  EXPECT_THAT(error_on_a_small_stack("{{ 'a' | map('map'" + repeated(", 'map'", 100000) + ") }}"),
              testing::HasSubstr("too many arguments"));
}

}  // namespace
}  // namespace tandem::model
