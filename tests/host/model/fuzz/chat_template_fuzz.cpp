// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: chat templates from hostile text. Rendering ends, with text or with an Error.
#include "common/error.h"
#include "model/chat/chat_template.h"
#include "support/fuzz_main.h"

namespace tandem::test {

void add_fuzz_seeds(std::vector<std::string>& seeds) {
  seeds.insert(
      seeds.end(),
      {"{{ bos_token }}{% for m in messages %}{% if loop.first and m['role'] != 'system' %}x"
       "{% elif m.role is string %}{{ m.content | trim | upper }}{% else %}{% break %}{% endif %}"
       "{% endfor %}{% if add_generation_prompt %}{{ '<|a|>\\n' }}{% endif %}",
       "{%- macro f(a, b=[1, 2.5]) -%}{{ a ~ b[::-1] }}{%- endmacro -%}{{ f(1, b={'k': none}) }}"
       "{%- set ns = namespace(n=0) %}{% for i in range(5) if i % 2 %}{% set ns.n = ns.n + i ** 2 "
       "%}"
       "{% endfor %}{{ ns.n }}{% set x | replace('a', 'b') %}aa{% endset %}{{ x }}",
       "{{ messages | selectattr('role', 'eq', 'user') | map(attribute='content') | join(', ') }}"
       "{{ messages | tojson(indent=2) }}{{ 'a b'.split(' ', 1) }}{{ -7 // 2 if not none else 1 }}",
       "{# c #}\n  {% raw %}{{ }}{% endraw %} {{- 1 in [1, 2] and 'a' not in 'b' -}} {%+ if 1 %}{% "
       "endif %}"});
}

}  // namespace tandem::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem::model;
  const std::vector<ChatMessage> messages = {{"system", "s"}, {"user", "hi \xc3\xa9\xff"}};
  try {
    const ChatTemplate chat_template(std::string(reinterpret_cast<const char*>(data), size), "<s>",
                                     "</s>");
    chat_template.render(messages, {});
  } catch (const tandem::Error&) {
  }
  return 0;
}
