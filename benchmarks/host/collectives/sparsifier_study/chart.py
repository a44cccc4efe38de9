# SPDX-License-Identifier: Apache-2.0
"""A line chart as SVG, both axes logarithmic."""
import html
import math

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 440, 70, 40, 150, 50
COLOURS = ("#000000", "#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7",
           "#9c755f", "#1f3b73")


def decades(low, high):
    return [10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def scale(ticks, begin, end):
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    return lambda value: begin + (math.log10(value) - low) / (high - low) * (end - begin)


def log_log(title, x_name, y_name, lines):
    """lines: {name: [(x, y)]}, all above 0."""
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    x_ticks, y_ticks = decades(min(xs), max(xs)), decades(min(ys), max(ys))
    x_at, y_at = scale(x_ticks, LEFT, WIDTH - RIGHT), scale(y_ticks, HEIGHT - BOTTOM, TOP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             f'<text x="{LEFT}" y="20" font-size="13">{html.escape(title)}</text>']
    for x in x_ticks:
        parts.append(f'<path d="M{x_at(x):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>'
                     f'<text x="{x_at(x):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x:g}</text>')
    for y in y_ticks:
        parts.append(f'<path d="M{LEFT} {y_at(y):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
                     f'<text x="{LEFT - 6}" y="{y_at(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 12}" text-anchor="middle">{html.escape(x_name)}</text>'
                 f'<text x="12" y="{TOP - 8}">{html.escape(y_name)}</text>')
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in points)
        key = TOP + 10 + 20 * number
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{3 if number == 0 else 1.6}"/>'
                     f'<path d="M{WIDTH - RIGHT + 12} {key - 4}h24" stroke="{colour}" stroke-width="{3 if number == 0 else 1.6}"/>'
                     f'<text x="{WIDTH - RIGHT + 42}" y="{key}">{html.escape(name)}</text>')
    return "\n".join(parts) + "\n</svg>\n"
