# SPDX-License-Identifier: Apache-2.0
"""More small templates: what Jinja2 and Python offer beyond what most chat templates use."""

D = "{% set d = {'b': 2, 'a': {'c': [1, 2]}} %}"

MORE_CONSTRUCTS = [
    # formats
    "{{ '%s and %d, %5.2f|%-5s|%05d|%x|%X|%o|%e|%g|%c|%r|%%' % ('a', 3, 2.5, 'b', 42, 255, 255, 8, 12345.678, 0.0001, 'z', 'q') }}",
    "{{ '%(a)s-%(b)03d' % {'a': 1, 'b': 2} }} {{ '%s' % 'x' }} {{ '%s' % [1, 'a'] }} {{ '%+d % d %#x %.3d' % (1, 2, 255, 7) }} {{ '%*d|%.*f' % (5, 1, 2, 3.14159) }}",
    "{{ '%d' % 3.99 }} {{ '%i' % true }} {{ '%5s|%-5s|%.2s' % ('é', 'é', 'abc') }} {{ '%s' % none }} {{ '%s%%' % 5 }}",
    "{{ '%s %s' % 'x' }}", "{{ 'x' % 1 }}", "{{ '%d' % 'x' }}", "{{ '%s' % (1, 2) }}", "{{ '%z' % 1 }}", "{{ '%' % 1 }}", "{{ '%(a)s' % {'b': 1} }}",
    "{{ '%s-%s'|format('a', 1) }} {{ '%(x)s'|format(x=2) }} {{ 'no'|format }}", "{{ '%s'|format(1, 2) }}",
    "{{ '{} {} {}'.format(1, 'a', none) }} {{ '{1} {0} {1}'.format('a', 'b') }} {{ '{x}-{y[k]}-{z[0]}'.format(x=1, y={'k': 2}, z=[3]) }} {{ '{{}}{}'.format(1) }}",
    "{{ '{:>5}|{:<5}|{:^5}|{:*^7}|{:05d}|{:+}|{:,}|{:_}|{:x}|{:#b}|{:.2f}|{:.1%}|{:e}'.format(1, 2, 3, 'ab', 42, 7, 1234567, 1234567, 255, 5, 2.345, 0.5, 1500.0) }}",
    "{{ '{!r} {!s} {:{}}|{:>{w}}'.format('a', 'b', 'c', 4, 'd', w=3) }} {{ '{:.3}|{:10.3f}|{:g}|{}'.format('abcdef', 3.14159, 0.00001, 1.0) }} {{ '{:d}'.format(true) }} {{ '{}'.format([1]) }}",
    "{{ '{'.format(1) }}", "{{ '}'.format(1) }}", "{{ '{}'.format() }}", "{{ '{x}'.format(1) }}", "{{ '{:d}'.format('x') }}", "{{ '{:>5}'.format(none) }}", "{{ '{:q}'.format(1) }}",
    "{{ '{a} {b}'.format_map({'a': 1, 'b': 2}) }}",
    # tuples, keys, views
    "{{ (1, 2) }} {{ (1,) }} {{ () }} {{ 1, 'a' }} {{ (1, 2) + (3,) }} {{ (1, 2) == [1, 2] }} {{ (1, 2)[0] }} {{ (1, 2, 3)[1:] }} {{ ((1, 2), 3) | tojson }}",
    "{{ {1: 'a', true: 'b', 2.5: 'c', none: 'd', (1, 2): 'e'} }} {{ {1: 'a'}[1] }} {{ {1: 'a'}[1.0] }} {{ {1: 2}|tojson }} {{ {0: 1, 512: 2}|dictsort }} {{ 1 in {1: 2} }} {{ {1: 2}.get(1) }}",
    "{{ {[1]: 2} }}", "{{ [1] + (2,) }}", "{{ (1, 2)|tojson }}", "{{ {(1, 2): 3}|tojson }}",
    D + "{{ d.items() }} {{ d.keys() }} {{ d.values() }} {{ d.items()|list }} {{ d.items()|tojson }}",
    D + "{{ d.items() }} {{ d.keys() }} {{ d.values() }} {{ d.keys()|length }} {{ 'a' in d.keys() }} {{ d.copy() }} {{ d.get('x', 1) }} {{ d.items()[0] }}|{{ d.items() is sequence }}",
    D + "{{ d.a.c }} {{ d['a']['c'][1] }} {{ d.a['x'] }}| {{ d.nope is defined }} {{ d.items is callable }} {{ d['items'] is callable }} {{ d.get is defined }} {{ 'x'.upper is defined }}",
    D + "{{ d.update({'x': 1}) }}", D + "{{ d.pop('a') }}", "{{ [1].pop() }}", "{{ [3, 1].sort() }}", "{{ [1].extend([2]) }}",
    "{{ range(3) }} {{ range(3)[1] }} {{ range(2, 5)|list }} {{ range(3)|length }} {{ range(3) is sequence }} {{ 2 in range(3) }} {{ range(4)[1:]|list }}",
    "{{ dict([('a', 1), ('b', 2)]) }} {{ dict({'x': 1}, x=2) }} {{ dict() }}", "{{ dict(1) }}",
    # filters
    D + "{{ d|dictsort }} {{ {'b': 1, 'A': 2, 'c': 0}|dictsort }} {{ {'b': 1, 'A': 2}|dictsort(true) }} {{ {'b': 1, 'A': 0}|dictsort(by='value') }} {{ {'b': 1, 'a': 0}|dictsort(reverse=true) }}",
    "{% for k, v in {'z': 1, 'y': 2}|dictsort %}{{ k }}={{ v }};{% endfor %}{{ {'a': 1}|items|list }}",
    "{% for g in [{'k': 'x', 'v': 1}, {'k': 'Y', 'v': 2}, {'k': 'X', 'v': 3}]|groupby('k') %}{{ g.grouper }}:{{ g.list|map(attribute='v')|join(',') }};{% endfor %}",
    "{% for k, items in [{'k': 2}, {'k': 1}, {}]|groupby('k', default=0) %}{{ k }}:{{ items }};{% endfor %}{{ [{'k': 1}]|groupby('k') }}",
    "{{ [1, 2, 3]|sum }} {{ [1, 2.5]|sum(start=10) }} {{ [{'a': 1}, {'a': 2}]|sum(attribute='a') }} {{ [[1], [2]]|sum(start=[]) }}", "{{ ['a']|sum }}",
    "{{ [1, 2, 3, 4, 5]|batch(2)|list }} {{ [1, 2, 3]|batch(2, 'x')|list }} {{ [1, 2, 3, 4, 5]|slice(3)|list }} {{ [1, 2, 3, 4]|slice(3, 'x')|list }}",
    "{{ 'a long text that goes on'|truncate(12) }}|{{ 'a long text that goes on'|truncate(12, true) }}|{{ 'short'|truncate(5) }}|{{ 'a long text'|truncate(6, end='', leeway=0) }}|{{ 'äöü äöü äöü'|truncate(5, false, '-', 0) }}",
    "{{ 'a b_c 1-2'|wordcount }} {{ 'x'|center(5) }}| {{ 'xy'|center(5) }}| {{ '<p>a &amp; b</p>  <!-- c --> d'|striptags }} {{ 'a b/c?é'|urlencode }} {{ {'a b': 1, 'c': '&'}|urlencode }}",
    "{{ {'class': 'a<b', 'x': none, 'id': 3}|xmlattr }} {{ 1|filesizeformat }} {{ 999|filesizeformat }} {{ 1500|filesizeformat }} {{ 2500000|filesizeformat }} {{ 2048|filesizeformat(true) }} {{ 10**15|filesizeformat }}",
    D + "{{ d|attr('a') }}| {{ 'x'|attr('upper') is callable }} {{ d|attr('items') is callable }}",
    "{{ [1, 2, 3]|map('string')|list }} {{ ['a', 'B']|map('upper')|join }} {{ [[1, 2], [3]]|map('first')|list }} {{ ['a']|map('replace', 'a', 'b')|list }} {{ none|map('upper')|list }} {{ none|select|list }} {{ none|selectattr('x')|list }}",
    "{{ [1, 2]|map('string')|length }}", "{{ [1]|map('string')|tojson }}", "{{ [1, 2]|reverse|tojson }}", "{{ [1]|select|last }}", "{{ none|list }}", "{{ none|length }}", "{{ none|join }}", "{{ none|first }}",
    "{{ [1, 2]|map('string') is sequence }} {{ [1, 2]|map('string') is iterable }} {{ [1]|select|first }} {% if []|select %}yes{% endif %}",
    "{{ [{'n': 'b'}, {'n': 'A'}]|sort(attribute='n') }} {{ [{'n': 'b'}, {'n': 'A'}]|map(attribute='n')|sort(case_sensitive=true) }} {{ ['b', 'A']|min }} {{ ['b', 'A']|max }} {{ [{'n': 2}, {'n': 1}]|min(attribute='n') }} {{ []|min }}|",
    "{{ [3, 1, 2]|sort(reverse=true)|first }} {{ ['a', 'A', 'b']|unique|list }} {{ ['a', 'A']|unique(true)|list }} {{ [{'a': 1}, {'a': 1}]|unique(attribute='a')|list }} {{ [1, 'a']|sort }}",
    "{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 1234|round(-2) }} {{ 7|round }} {{ 2.1|round(method='ceil') }} {{ -2.1|round(method='floor') }} {{ 1.25|round(1) }} {{ 5.015|round(2) }} {{ 42.55|round(1, 'floor') }}",
    "{{ '0x1f'|int(0, 16) }} {{ '11'|int(base=2) }} {{ none|int(3) }} {{ [1]|int(4) }} {{ '1e3'|int }} {{ ' -7 '|int }} {{ '1_000'|int }} {{ none|float(1.5) }} {{ 'inf'|float }} {{ true|float }}",
    "{{ nope|int }}", "{{ nope|float }}", "{{ nope|round }}", "{{ nope|abs }}",
    "{{ 'a\nb\n'|indent }}|{{ 'a\n\nb'|indent(2, blank=true) }}|{{ 'a\nb'|indent('> ', true) }}|{{ ''|indent }}|{{ 'a\r\nb'|indent(1) }}|{{ nope|upper }}|{{ nope|trim }}|{{ nope|join }}|{{ nope|list }}|{{ nope|first }}|{{ nope|sort }}|{{ nope|string }}|",
    "{{ 'x'|trim('') }} {{ '-x-'|trim('-') }} {{ none|upper }} {{ 5|lower }} {{ 'ß'|upper }} {{ 'ab'|first }} {{ 'ab'|last }} {{ {'a': 1}|first }} {{ {'a': 1, 'b': 2}|last }} {{ [1, none, 'x', true]|string }}",
    # tojson as Hugging Face defines it
    "{{ {'b': [1, 2], 'a': 'é<>&'}|tojson }} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }} {{ [1, {'a': 2}]|tojson(separators=(',', ':')) }} {{ 'é\U0001f600\u2028'|tojson(ensure_ascii=true) }} {{ [1.0, 1e20, 0.1, -0.0, 1e-7]|tojson }}",
    "{{ {'a': [1, []], 'b': {}}|tojson(indent=0) }} {{ [1]|tojson(indent='--') }} {{ [1, 2]|tojson(false, 1) }} {{ none|tojson }} {{ true|tojson }} {{ [1]|tojson(indent=none) }} {{ [1, [2]]|tojson(indent=2, separators=(', ', ' : ')) }}",
    "{{ nope|tojson }}", "{{ [nope]|tojson }}", "{{ namespace(a=1)|tojson }}", "{{ range|tojson }}",
    # markup
    "{{ '<'|safe + '<' }} {{ '<' + '>'|safe }} {{ '<'|e + '&' }} {{ '<'|e|e }} {{ '<'|e|forceescape }} {{ '%s'|safe|format('<') }} {{ ('%s'|safe) % '<' }} {{ '<'|safe ~ '<' }} {{ ('<'|safe).replace('<', '>') }} {{ '<'|safe|upper + '<' }} {{ '<a>'|safe|replace('a', '&') }} {{ ['<']|join('<'|safe) }} {{ '<'|safe|tojson }} {{ ('<'|safe) * 2 + '<' }} {{ ('a,b'|safe).split(',')[0] + '<' }}",
    # methods
    "{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'a-b'.partition('-') }} {{ 'ab'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'ab'.rpartition('-') }} {{ 'a,b'.rsplit(',') }}",
    "{{ 'ab'.center(5, '*') }} {{ 'abc'.center(6) }}| {{ 'a'.ljust(3, '.') }} {{ 'a'.rjust(3) }} {{ '7'.zfill(3) }} {{ '-7'.zfill(4) }} {{ 'aB1'.swapcase() }} {{ 'a\tb'.expandtabs(4) }} {{ 'ẞ'.casefold() }}",
    "{{ 'abcabc'.find('c', 3) }} {{ 'abcabc'.rfind('b') }} {{ 'abcabc'.index('c') }} {{ 'abcabc'.rindex('a') }} {{ 'abcabc'.count('b', 2) }} {{ 'abc'.find('a', 1) }} {{ 'abc'.startswith('b', 1) }} {{ 'abc'.endswith('b', 0, 2) }} {{ 'éabc'.find('b', -2) }}",
    "{{ 'abc'.index('z') }}", "{{ [1].index(2) }}", "{{ ''.join([1]) }}", "{{ 'a'.split('') }}", "{{ 'abc'.startswith(['a']) }}", "{{ 'a'.center() }}",
    "{{ 'ab'.isalpha() }} {{ 'a1'.isalnum() }} {{ 'é'.isalpha() }} {{ '12'.isdecimal() }} {{ '12'.isnumeric() }} {{ ' \t'.isspace() }} {{ ''.isspace() }} {{ 'aB'.islower() }} {{ 'ab1'.islower() }} {{ 'AB'.isupper() }} {{ '1'.isupper() }} {{ 'Ab Cd'.istitle() }} {{ 'a_1'.isidentifier() }} {{ '1a'.isidentifier() }} {{ 'é'.isascii() }}",
    "{{ 'a\nb\r\nc\x0bd'.splitlines() }} {{ 'a\nb\n'.splitlines(true) }} {{ ''.splitlines() }} {{ (2.0).is_integer() }} {{ 'abc'.removeprefix('ab') }} {{ 'x'.join('abc') }} {{ ', '.join({'a': 1, 'b': 2}) }} {{ (1, 2, 1).count(1) }}",
    # calls
    "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, a=3) }} {{ f() }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=1) }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, a=2) }}",
    "{% macro f(a, b=1, c=2) %}{{ a }},{{ b }},{{ c }}{% endmacro %}{{ f(*[1, 2]) }} {{ f(**{'a': 5, 'c': 6}) }} {{ f(0, *[7], **{'c': 8}) }}", "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}",
    "{% macro box(title) %}<{{ title }}>{{ caller() }}</>{% endmacro %}{% call box('t') %}in {{ 1 + 1 }}{% endcall %}", "{% macro each(list) %}{% for i in list %}{{ caller(i, x=1) }};{% endfor %}{% endmacro %}{% call(n, x=0) each([1, 2]) %}{{ n }}{{ x }}{% endcall %}",
    "{% macro f() %}x{% endmacro %}{% call f() %}y{% endcall %}", "{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}", "{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}",
    "{% for i in [1, 2] %}{% macro f(x) %}{{ i }}{{ x }}{% endmacro %}{{ f('a') }}{% endfor %}", "{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ f() }}", "{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
    "{% macro f() %}{% set y = 1 %}{{ y }}{% endmacro %}{{ f() }}{{ y }}|", "{{ f() }}{% macro f() %}x{% endmacro %}",
    # statements
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set a = 3 %}{{ a }}{% endwith %}{{ a }}|{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}", "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}",
    "{% filter upper %}a{{ 'b' }}{% endfilter %}{% filter replace('a', 'x')|trim %} banana {% endfilter %}", "{% block a %}x{{ messages|length }}{% endblock %}{% block b scoped %}y{% endblock b %}", "{% for i in [1, 2] %}{% block c scoped %}{{ i }}{% endblock %}{% endfor %}", "{% for i in [1] %}{% block c %}{{ i }}{% endblock %}{% endfor %}|",
    "{% for i in [[1, [2]], [3]] recursive %}{{ i if i is number else '(' ~ loop(i) ~ ')' }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}", "{% for i in [1] %}{{ loop([1]) }}{% endfor %}",
    "{% for i in [1, 1, 2] %}{{ loop.changed(i) }} {% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% for i in 1, 2 %}{{ i }}{% endfor %}{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for i in none %}{% endfor %}", "{% for i in 5 %}{% endfor %}",
    "{% set (a, b), c = (1, 2), 3 %}{{ a }}{{ b }}{{ c }}{% set ns = namespace(x=1) %}{% set ns.x, y = 5, 6 %}{{ ns.x }}{{ y }}{% set ns.z %}block{% endset %}{{ ns.z }}", "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}{{ ns['a'] }}",
    "{% for i in range(5) %}{% set x %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endset %}{{ x }}{% endfor %}", "{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{% for j in [1, 2] %}{% if j == 2 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% else %}none{% endfor %}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}{% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}c", "{% for i in [1, 2] %}{% for j in [3] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}", "{% for i in [1, 2] %}{% set l = loop %}{% for j in [1] %}{{ l.index }}{% endfor %}{% endfor %}",
    "{% autoescape false %}{{ '<' }}{% endautoescape %}", "{% include 'x' %}", "{% include 'x' ignore missing %}", "{% import 'x' as y %}", "{% from 'x' import y %}", "{% extends 'x' %}", "{% if false %}{% include 'x' %}{% endif %}ok", "{% do [] %}", "{% trans %}x{% endtrans %}", "{% debug %}",
    "{% if false %}{{ x|nosuch }}{% endif %}ok", "{% if true %}{{ x|nosuch }}{% endif %}", "{{ 1 if true else x|nosuch }}", "{{ x|nosuch if false else 2 }}", "{% if false %}{{ x is nosuch }}{% endif %}ok", "{% if false %}{% for i in [1] %}{{ i|nosuch }}{% endfor %}{% endif %}", "{% if x is nosuch %}{% endif %}", "{% if true %}{% if false %}{{ x|nosuch }}{% endif %}a{% endif %}",
    # undefined
    "{{ nope == none }} {{ nope is none }} {{ nope in [1] }} {{ 'a' in nope }} {{ nope ~ 'x' }} {{ not nope }} {{ nope or 1 }} {{ nope|default(nada)|default(2) }} {{ nope is sequence }} {{ nope is iterable }} {{ nope is mapping }} {{ nope is string }} {{ nope is number }} {{ [nope] }} {{ nope|length }} {{ nope != 1 }} {{ nope if nope else 'n' }}",
    "{{ nope < 1 }}", "{{ -nope }}", "{{ nope * 2 }}", "{{ nope[0] }}", "{{ nope[1:] }}", "{{ 'a' + nope }}", "{{ nope.a.b }}", "{{ messages[0].nope.x }}", "{{ messages[0].nope }}|", "{{ nope|items|list }}", "{{ nope|map('upper')|list }}", "{{ range(nope) }}", "{{ [1][nope] }}|", "{{ {'a': 1}[nope] }}|", "{{ 'abc'[nope] }}|", "{{ nope is odd }}", "{{ nope is in [1] }}", "{{ nope|replace('a', 'b') }}|", "{{ nope|tojson }}", "{{ nope() }}", "{{ none() }}", "{{ 'a'() }}", "{{ none.x.y }}", "{{ none['x'] }}|", "{{ 5.x }}", "{{ 1 .x }}|",
    # tests
    "{{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 2 is ge 2 }} {{ 1 is le(0) }} {{ 'a' is in 'abc' }} {{ [] is none }} {{ none is sameas none }} {{ 1 is sameas true }} {{ 1.0 is number }} {{ 'upper' is filter }} {{ 'nosuch' is filter }} {{ 'odd' is test }} {{ range is callable }} {{ 'x' is escaped }} {{ loop is defined }} {{ 1 is not odd }} {{ (1,) is sequence }} {{ (1,) is iterable }} {{ {} is iterable }} {{ 1 is float }} {{ 1.0 is integer }} {{ 'A' is upper and 'b' is lower }} {{ true is in [true] }} {{ {} is sequence }}",
    "{{ 4 is divisibleby 0 }}", "{{ 'a' is lt 1 }}", "{{ 'a' is odd }}", "{{ 1 is in 5 }}",
    # literals, operators
    "{{ 0x1f }} {{ 0b101 }} {{ 0o17 }} {{ 0XFF }} {{ 1_0 }} {{ 1.5e3 }} {{ 1e3|int }} {{ '\\101\\x42\\u0043' }} {{ 'a\\\nb' }} {{ 2**3**2 }} {{ -2**2 }} {{ 10 % 3.5 }} {{ 7 // 2.0 }} {{ 1 / 3 }} {{ 2**0.5 }} {{ 10**-2 }} {{ 1e300 * 10 }} {{ 5 // -2 }} {{ true + 1 }} {{ not 1 == 2 }} {{ 'a' * 0 }}| {{ [1] * 2 }} {{ 3 * 'ab' }}",
    "{{ 'a' < 'b' < 'c' }} {{ 1 in [1] == true }} {{ 1 < 2 == true }} {{ none == false }} {{ [1, [2]] == [1, [2]] }} {{ {'a': 1} == {'a': 1.0} }} {{ 'a' == 1 }} {{ (1, 2) < (1, 3) }} {{ not none }} {{ 1 if [] else 2 if {} else 3 }} {{ (1 if true) }} {{ 'x' in ['x'] and 'y' not in ['x'] }}",
    "{{ 'a' < 1 }}", "{{ [1] < (2,) }}", "{{ {} < {} }}", "{{ none < 1 }}", "{{ 'a' in 1 }}", "{{ 1 in 'a' }}", "{{ 1 % 0 }}", "{{ 'a' - 'b' }}", "{{ [1] - [1] }}", "{{ -'a' }}", "{{ +'a' }}", "{{ 'a' ** 2 }}", "{{ none + 1 }}",
    "{{ 'hello'[1:4:2] }} {{ [1, 2, 3][-1] }} {{ [1, 2, 3][5:] }} {{ 'abc'[-10:2] }} {{ [1, 2, 3][::-2] }} {{ messages[0]['role'][0] }} {{ messages[:1]|length }} {{ 'abc'[true] }} {{ [1, 2][0:none] }} {{ 'abc'[5] }}|{{ 'abc'.x }}|{{ [1]['a'] }}|", "{{ [1, 2][::0] }}", "{{ [1]['a':] }}", "{{ 5[0] }}|", "{{ 5[1:] }}|", "{{ none[1:] }}|",
    "{{ é }}|{% set é = 1 %}{{ é }}", "{{ 'x'.join(['a'])if true else 1 }}", "{{ {'a':1,}['a'] }} {{ [1,] }} {{ f is defined }} {{ ('a' 'b') }} {{ [1, 2]|join(', ')|upper }} {{ {'a': {'b': [10, 20]}}.a.b[1] }} {{ {'a': 1}.a + 1 }} {{ -messages|length }} {{ 'a' ~ 1 + 2 }} {{ 1 ~ 2 * 3 }}",
    # wrong templates
    "{% set true = 1 %}", "{% set 1 = 2 %}", "{% macro %}", "{% call 1 %}{% endcall %}", "{% filter %}{% endfilter %}", "{% filter nosuch %}{% endfilter %}", "{% with a %}{% endwith %}", "{% block %}{% endblock %}", "{% block a %}{% endblock b %}", "{% for i in [1] %}", "{% include %}", "{{ a b }}", "{{ f(*a, *b) }}", "{{ f(**a, b) }}", "{{ 'a }}", "{{ a[ }}", "{{ {1} }}", "{% raw %}x", "{% break %}", "{% macro f() %}{% break %}{% endmacro %}", "{% endif %}", "{% if 1 %}{% endfor %}", "{{ a. }}", "{{ a|  }}", "{{ a is }}", "{{ }} }}", "{% for a.b in c %}{% endfor %}", "{% set a = %}", "{{ 1 is == 1 }}", "{% elif %}", "{% if %}{% endif %}", "{{ 1 if }}", "{{ @ }}", "{{ a ? b }}", "{{ (1, 2 }}", "{{ [1 2] }}", "{{ {1: } }}",
]
