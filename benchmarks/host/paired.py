# SPDX-License-Identifier: Apache-2.0
"""Differences of pairs of turns, as the benchmarks of small costs state them."""

import statistics


def interval(ratios):
    """In percent: the median with the order statistics that enclose the true one in 95 of 100 cases, and the mean without the
    outer tenth of each side with its 95 % interval, which steps of what is counted do not disturb. Fewer than six pairs have no
    such interval; then `low` and `high` are their range."""
    ordered, count = sorted(ratios), len(ratios)
    reach = 0.98 * count ** 0.5
    low, high = max(0, int(count / 2 - reach)), min(count - 1, int(count / 2 + reach))
    inner = ordered[count // 10:count - count // 10]
    mean = statistics.fmean(inner)
    error = 1.96 * statistics.pstdev(inner) / len(inner) ** 0.5 * (count / len(inner)) ** 0.5
    found = {"median": statistics.median(ordered), "low": ordered[low], "high": ordered[high],
             "mean": mean, "mean_low": mean - error, "mean_high": mean + error}
    return {name: round(100 * value, 3) for name, value in found.items()}
