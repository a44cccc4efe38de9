// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: chat templates from hostile text. Rendering ends, with text or with an Error. What
// stands behind a zero byte is the JSON of the tools.
#include <algorithm>

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
       "{% macro m(a, b=a) %}{{ caller(varargs, kwargs) }}{% endmacro %}{% call(x, y) m(1, *[2], "
       "**{'c': 3}) %}{{ '%5.2f|%s|%(a)d' % (1, x) }}{% endcall %}{% with a, = [1] %}{% endwith %}",
       "{% for a, (b, c) in [[1, [2, 3]]] recursive %}{{ loop.changed(a) }}{{ loop([]) if b is odd "
       "}}{% else %}{{ '{0[a].b:>{w}} {!r:^5}'.format({'a': 1}, 2, w=3) }}{% endfor %}",
       "{% filter indent(2, true) %}{{ tools | dictsort | groupby(0) | batch(2, none) | list | "
       "tojson(indent=2, separators=(',', ':'), sort_keys=true) }}{% endfilter %}{% block b scoped "
       "%}{{ {1: 2, (1, 2): none}.items() }}{% endblock %}{% set a.b, (c, d) = 1, (2, 3) %}",
       "{{ cycler(1, 2).next() }}{{ joiner()() }}{{ ('<'|safe + '>').rsplit(none, 1) }}"
       "{{ 'a\tb'.expandtabs(2).center(9, '*').partition('b') }}{{ 0x1f|round(-1) }}"
       "{{ messages[0].tool_calls[0].function.arguments | xmlattr | striptags | truncate(3) }}"
       "{% autoescape false %}{% include 'x' %}{% endautoescape %}",
       std::string("{{ tools | tojson(ensure_ascii=true) }}{{ tools[0].f }}") + '\0' +
           "[{\"f\": [1, 2.5, null, true, \"\\ud83d\\ude00\"]}]",
       "{# c #}\n  {% raw %}{{ }}{% endraw %} {{- 1 in [1, 2] and 'a' not in 'b' -}} {%+ if 1 %}{% "
       "endif %}"});
}

}  // namespace tandem::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem::model;
  const std::vector<ChatMessage> messages = {
      {"system", "s"},
      {"user", "hi \xc3\xa9\xff"},
      {"assistant", "",
       R"({"content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]})"}};
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), size);
  try {
    const ChatTemplate chat_template(input.substr(0, end), "<s>", "</s>");
    chat_template.render(messages, {.tools = end < size ? input.substr(end + 1) : "[{\"a\": 1}]"});
  } catch (const tandem::Error&) {
  }
  return 0;
}
