# SPDX-License-Identifier: Apache-2.0
"""Checks one kind of rule over the source tree: lint.py <format|includes|budgets|style|pages> <root>.

Prints one "path:line: message" per violation, warnings apart. Exit code: 0 clean (warnings are
allowed), 1 violations, 77 skipped with the reason. Standard library only.
"""

import sys

import rules_budgets
import rules_format
import rules_includes
import rules_pages
import rules_style
from source_tree import Skipped, SourceTree

CHECKS = {
    "format": rules_format.check,
    "includes": rules_includes.check,
    "budgets": rules_budgets.check,
    "style": rules_style.check,
    "pages": rules_pages.check,
}


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in CHECKS:
        print(f"usage: lint.py <{'|'.join(CHECKS)}> <root of the source tree>")
        return 2
    try:
        findings = CHECKS[arguments[0]](SourceTree(arguments[1]))
    except Skipped as reason:
        print(f"skipped: {reason}")
        return 77
    errors = sorted(f for f in findings if not f.is_warning)
    warnings = sorted(f for f in findings if f.is_warning)
    for title, group in (("warning", warnings), ("error", errors)):
        for finding in group:
            print(f"{finding.path}:{finding.line}: {title}: {finding.message}")
    print(f"{arguments[0]}: {len(errors)} errors, {len(warnings)} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
