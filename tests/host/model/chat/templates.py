# SPDX-License-Identifier: Apache-2.0
"""Chat templates in the styles that model files carry, and one small template per construct."""

CONVERSATIONS = [
    [],
    [{"role": "user", "content": "Tell me a story."}],
    [{"role": "system", "content": "  Be brief.\n"}, {"role": "user", "content": " Hello\n"}],
    [{"role": "user", "content": "Grüße, 世界 \U0001f469\u200d\U0001f680!"},
     {"role": "assistant", "content": "  Hi <b>\"you\"</b> & 'me'  "},
     {"role": "user", "content": "Again?\n\n"}],
    [{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
     {"role": "assistant", "content": "<think>\nhm\n</think>\n\nb"},
     {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}],
    [{"role": "assistant", "content": "out of order"}, {"role": "user", "content": "x"}],
    [{"role": "user", "content": "a"}, {"role": "tool", "content": "{\"t\": 21}"},
     {"role": "tool", "content": "two"}],
    [{"role": "user", "content": ""}],
]

STYLES = [
    # chatml / qwen2
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    # qwen2.5-like with tools
    """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
{%- else %}
    {%- if messages and messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are a model.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '{"name": "' ~ tool_call.name ~ '"}' }}
        {%- endfor %}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    # qwen3-like: reasoning split off, reversed search, namespaces
    """{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    # llama-2
    "{% if messages and messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
    "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
    "{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}"
    "{% endif %}{% endfor %}",
    # llama-3
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "
    "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim "
    "+ '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
    "{{ content }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
    # llama-3.1-like: system header with options
    """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- This block extracts the system message, so we can slot it into the right place. #}
{%- if messages and messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}

{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if builtin_tools is defined or tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{%- if builtin_tools is defined %}
    {{- "Tools: " + builtin_tools | reject('equalto', 'code_interpreter') | join(", ") + "\\n\\n"}}
{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    # mistral
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != "
    "(loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}"
    "{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}",
    # gemma
    "{{ bos_token }}{% if messages and messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}"
    "{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + "
    "message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{'<start_of_turn>model\n'}}{% endif %}",
    # phi-3
    "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}"
    "{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}"
    "{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}"
    "{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
    # zephyr
    "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + "
    "message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n"
    "{{ '<|system|>\n' + message['content'] + eos_token }}\n"
    "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + "
    "eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n"
    "{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
    # vicuna, alpaca, deepseek shapes
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}"
    "{% endif %}{%- set ns = namespace(found=false) -%}{%- for message in messages -%}"
    "{%- if message['role'] == 'system' -%}{%- set ns.found = true -%}{%- endif -%}"
    "{%- endfor -%}{{bos_token}}{%- if not ns.found -%}{{'You are a programmer.\\n'}}{%- endif %}"
    "{%- for message in messages %}{%- if message['role'] == 'system' %}{{ message['content'] }}"
    "{%- else %}{%- if message['role'] == 'user' %}{{'### Instruction:\\n' + message['content'] + "
    "'\\n'}}{%- else %}{{'### Response:\\n' + message['content'] + '\\n<|EOT|>\\n'}}{%- endif %}"
    "{%- endif %}{%- endfor %}{% if add_generation_prompt %}{{'### Response:'}}{% endif %}",
    # macros and generation marks
    """{%- macro turn(role, text='none', end=true) -%}
<{{ role }}>{{ text }}{% if end %}</{{ role }}>{% endif %}
{%- endmacro -%}
{% for m in messages if m.role != 'tool' %}
  {% if m.role == 'assistant' %}{% generation %}{{ turn(m.role, m.content) }}{% endgeneration %}
  {% else %}
{{ turn(m.role, text=m.content | upper, end=not loop.last) }}
  {% endif %}
{% else %}
nothing
{% endfor %}
{{ turn('x') }}{{ turn(role='y', end=false) }}
""",
]

CONSTRUCTS = [
    # literals, arithmetic, precedence
    "{{ 1 + 2 * 3 - 4 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 2 ** 10 }}",
    "{{ 2 ** -1 }} {{ 1.5 * 2 }} {{ 1e3 }} {{ 1e16 }} {{ 1e22 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 0.0001 }} {{ 3.0 }}",
    "{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1_000 }} {{ -3 | abs }} {{ - 3 + 5 }} {{ +4 }}",
    "{{ 'a' 'b' ~ 1 ~ none ~ true ~ 2.0 }} {{ 'ab' * 3 }} {{ [1, 2] * 2 }} {{ [1] + [2, 'x'] }}",
    "{{ 'a\\n\\t\\\\\\'\\x41\\u00e9\\q' }} {{ \"it's\" }} {{ ['it\\'s', 'q\"', \"both'\\\"\", '\\n'] }}",
    "{{ none }} {{ true }} {{ False }} {{ [] }} {{ {} }} {{ {'a': [1, none], 'b': {'c': 'd'}} }}",
    "{{ 1 if true else 2 }} {{ 1 if false }}| {{ 'x' if 0 else 'y' if 1 else 'z' }}",
    "{{ not true }} {{ not not 1 }} {{ not not not 0 }} {{ 1 and 0 or 'x' }} {{ '' or none }} {{ [] and 1 }}",
    "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 != 2 }}",
    "{{ 'a' in 'cat' }} {{ 'x' not in 'cat' }} {{ 1 in [1, 2] }} {{ 'k' in {'k': 1} }} {{ not 'a' in 'b' }} {{ 'u' in nope }}",
    "{{ (1, 2) == (1, 2) }} {{ {'a': 1} == {'a': 1} }} {{ none == nope }} {{ nope == nada }}",
    # access
    "{{ messages[0].role }} {{ messages[-1]['content'] }} {{ messages[9] is defined }} {{ messages[0].nope }}|",
    "{{ 'hello'[1] }} {{ 'hello'[-1] }} {{ 'hello'[1:3] }} {{ 'hello'[::-1] }} {{ 'hello'[:-2] }} {{ 'häßlich'[1:4] }} {{ 'hello'[10:] }}|",
    "{{ [1,2,3,4][1:] }} {{ [1,2,3,4][::2] }} {{ [1,2,3,4][-2:] }} {{ [1,2,3,4][3:0:-1] }} {{ [[1,2],[3]].0.1 }}",
    "{{ nope }}| {{ nope is defined }} {{ nope is undefined }} {{ messages is not defined }}",
    "{{ nope.x }}", "{{ nope['x'] }}", "{{ nope() }}", "{{ nope + 'a' }}", "{{ 'a' + 1 }}", "{{ 1 / 0 }}", "{{ none.x }}|",
    "{{ {'items': 1, 'a': 2}['items'] }} {{ {'b': 2, 'a': 1}.items() | list | tojson }} {{ {'a': 1}.get('b', 'c') }} {{ {'a': 1}.get('z') }} {{ {'a': 1}.keys() | list }} {{ {'a': 5}.values() | list }}",
    # filters
    "{{ ' a b '|trim }}|{{ 'xxaxx'|trim('x') }}|{{ 'aB'|upper }}|{{ 'aB ÄÖ Σ Ж'|lower }}|{{ 'äöж'|upper }}|{{ 'hello world-it\\'s'|title }}|{{ 'hELLO'|capitalize }}",
    "{{ messages|length }} {{ 'abcä'|length }} {{ {'a': 1}|count }} {{ nope|length }} {{ [1,2]|first }} {{ [1,2]|last }} {{ []|first }}|{{ 'abc'|list }}",
    "{{ [1, 'a', none]|join('-') }} {{ messages|join(',', attribute='role') }} {{ ['a','b']|join }} {{ 'abc'|join('.') }}",
    "{{ nope|default('d') }} {{ ''|default('d') }}| {{ ''|default('d', true) }} {{ none|default('d') }} {{ 0|d(5, boolean=true) }} {{ nope|default }}|",
    "{{ {'a': [1, 2.5, true, none, 'é\\n\"\\\\/'], 'b': {}, 'c': []}|tojson }}", "{{ {'a': [1, {'b': 2}], 'e': [], 'f': {}}|tojson(indent=2) }}", "{{ messages|tojson }}", "{{ 'x\\u0001\\x7f'|tojson }}",
    "{{ 'a-b-c'|replace('-', '+') }} {{ 'aaa'|replace('a', 'b', 2) }} {{ 'abc'.replace('', '.') }} {{ 12|replace('1', 'x') }}",
    "{{ '3'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ '3.9'|int }} {{ 3.9|int }} {{ ' 5 '|int }} {{ '2.5'|float }} {{ 'x'|float }} {{ 1|string + 'a' }} {{ true|int }}",
    "{{ [3,1,2]|sort }} {{ ['b','A','c']|sort }} {{ [3,1,2]|sort(reverse=true) }} {{ [1,2,1]|unique|list }} {{ [1,5,2]|max }} {{ [4,2]|min }} {{ [1,2,3]|reverse|list }} {{ 'abc'|reverse }}",
    "{{ messages|selectattr('role', 'equalto', 'user')|list|length }} {{ messages|rejectattr('role', 'eq', 'user')|list }} {{ messages|map(attribute='role')|list }} {{ ['a','b']|map('upper')|join }}",
    "{{ [1,2,3,4]|select('odd')|list }} {{ [1,0,2]|select|list }} {{ [1,2,3]|reject('gt', 1)|list }} {{ ['1','2']|map('int')|list }} {{ messages|selectattr('nope', 'defined')|list }} {{ messages|selectattr('content')|list|length }}",
    "{{ {'b': 1, 'a': 2}|items|list|tojson }} {{ 'a\\nb\\n\\nc'|indent }}|{{ 'a\\nb'|indent(2, true) }} {{ '<a>&\"\\''|e }} {{ 'x'|safe }} {{ 2.567|round(2) }} {{ 2.5|round }} {{ 2.1|round(0, 'ceil') }} {{ -3.5|abs }}",
    "{{ messages|map(attribute='nope', default='n')|list }} {{ [{'a': {'b': 1}}]|map(attribute='a.b')|list }}",
    "{{ 1|nosuchfilter }}", "{{ 1 is nosuchtest }}", "{{ x|tojson }}",
    # tests
    "{{ 1 is number }} {{ 'a' is string }} {{ [] is iterable }} {{ {} is mapping }} {{ [] is sequence }} {{ 'a' is iterable }} {{ none is none }} {{ 1 is not none }} {{ true is boolean }} {{ true is true }} {{ 0 is false }} {{ 1.0 is float }} {{ 1 is integer }} {{ true is integer }} {{ true is number }}",
    "{{ 4 is divisibleby 2 }} {{ 4 is divisibleby(3) }} {{ 3 is odd }} {{ 3 is even }} {{ 1 is in [1] }} {{ 1 is not in [1] }} {{ 1 is eq 1 }} {{ 1 is sameas 1 }} {{ 2 is gt 1 }} {{ raise_exception is callable }} {{ 'ab' is lower }} {{ 'AB' is upper }} {{ 'x' is equalto 'x' and true }} {{ nope is none }} {{ 1 is mapping }} {{ 5 is iterable }}",
    "{{ strftime_now is defined }} {{ strftime_now('%Y') | length }}",
    # methods
    "{{ ' a '.strip() }}|{{ 'xax'.strip('x') }}|{{ ' a'.lstrip() }}|{{ 'a '.rstrip() }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a b c'.split(' ', 1) }}|{{ ' a b c '.split(none, 1) }}|{{ 'a\\nb\\r\\nc\\n'.splitlines() }}",
    "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'bc')) }} {{ 'abc'.find('c') }} {{ 'äbc'.find('c') }} {{ 'abc'.find('z') }} {{ 'aXbX'.count('X') }} {{ '12'.isdigit() }} {{ ''.isdigit() }} {{ '-'.join(['a', 'b']) }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('x') }}",
    "{{ 'Ab'.upper() }} {{ 'Ab'.lower() }} {{ 'ab cd'.title() }} {{ 'ab'.capitalize() }} {{ 'aab'.replace('a', 'x', 1) }} {{ [1, 2, 1].count(1) }} {{ [5, 6].index(6) }}",
    "{{ 'a'.nosuch() }}", "{{ [1].append(2) }}", "{{ 'a'.startswith(1) }}",
    # statements
    "{% for i in range(3) %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for i in [1,2,3] %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {{ loop.cycle('a', 'b') }};{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}{% for k in {'x': 1} %}{{ k }}{% endfor %}{% for c in 'añb' %}({{ c }}){% endfor %}",
    "{% for i in [] %}x{% else %}empty{% endfor %}{% for i in nope %}x{% else %}undef{% endfor %}",
    "{% for i in range(10) if i % 2 %}{% if i == 7 %}{% break %}{% endif %}{% if i == 3 %}{% continue %}{% endif %}{{ i }}/{{ loop.index }} {% endfor %}",
    "{% for i in range(10, 0, -3) %}{{ i }} {% endfor %}{{ range(2, 4) | list }} {{ range(0) | list }}",
    "{% set x = 1 %}{% for i in [1,2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}",
    "{% set ns = namespace(a=1, b='x') %}{% for i in [1,2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c }}|",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c[0] }}{% set a, b = b, a %}{{ a }}{{ b }}",
    "{% set x %}  block {{ 1 + 1 }} {% endset %}[{{ x }}]{% set y | trim | upper %}  block {% endset %}[{{ y }}]",
    "{% set x.y = 1 %}", "{% set d = {} %}{% set d.y = 1 %}", "{% set a, b = [1] %}",
    "{% if 0 %}a{% elif 1 %}b{% elif 1 %}c{% else %}d{% endif %}{% if none %}a{% else %}b{% endif %}{% if messages %}c{% endif %}",
    "{% macro f(a, b=2, c=[]) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(1, c=5) }} {{ f() }} {{ f(a=7) | upper }}",
    "{% macro fact(n) %}{% if n <= 1 %}1{% else %}{{ n * (fact(n - 1) | int) }}{% endif %}{% endmacro %}{{ fact(10) }}",
    "{% set g = 5 %}{% macro f() %}{{ g }}{% endmacro %}{{ f() }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}",
    "{{ raise_exception('stop here') }}",
    "{{ dict(a=1, b='c') }} {{ dict({'x': 1}, y=2) }}",
    # white space
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a {%- if true -%} b {%- endif -%} c", "  {{- 'x' -}}  y", "a\n\n  {#- comment -#}  \n b", "{# comment #}\nx",
    "x{# c #}\n  {# d #}  \ny", "  {%+ if true %}\n  x{% endif +%}\ny", "{% if true %}\n\n\nx{% endif %}\n\n", "a\r\nb{% if 1 %}\r\nc{% endif %}\r\n",
    "{% raw %}{{ x }} {% if %}{% endraw %}|{%- raw -%}  {{ y }}  {%- endraw -%}  z", "\t {% set x = 1 %} \n{{ x }}\n", "{% if 1 %}a{% endif %} {% if 1 %}b{% endif %}\n {% if 1 %}c{% endif %}",
    "{{ {'a': {'b': 1}}['a']['b'] }}{{ '}}' }}{{ \"{%\" }}", "a { b } c {", "{%-if true-%}x{%-endif-%}", "{{-1}}{{- -1 }}",
    # wrong templates
    "{% if %}", "{% if true %}", "{{ }}", "{{ 1 + }}", "{% endfor %}", "{{ 'abc }}", "{% for x %}{% endfor %}", "{{ (1 }}", "{{ [1, }}", "{# never", "{{ 1 ? 2 }}", "{% else %}", "{{ f(a=1, 2) }}", "{% nosuch %}",
]
