# SPDX-License-Identifier: Apache-2.0
"""Chat templates against Jinja2 itself.

usage: jinja_oracle.py RENDER_TEMPLATE_PROGRAM [--templates FOLDER] [--list]

Both render templates in the styles that model files carry, and small ones for each construct, over
conversations. Texts must be equal, and where Jinja2 raises, ours must report an error. With
--templates, or TANDEM_CHAT_TEMPLATES in the environment, so do the *.jinja files of FOLDER. A table
tells for each template what differs. Exit code 77: Jinja2 is not installed.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import subprocess
import sys

try:
    import jinja2
    import jinja2.ext
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    print(f"skipped: {error}; scripts/test.sh installs tests/requirements.txt")
    sys.exit(77)

from constructs import CONSTRUCTS
from conversations import CONVERSATIONS
from more_constructs import MORE_CONSTRUCTS
from templates import STYLES


class Generation(jinja2.ext.Extension):
    """{% generation %}, which Hugging Face adds: its body as it is."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


def environment():
    """As Hugging Face's apply_chat_template sets it up."""
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return env


def expected(env, job, compiled):
    try:
        if compiled.get("source") != job["template"]:  # jobs of one template follow each other
            compiled.update(source=job["template"], template=None)
            compiled["template"] = env.from_string(job["template"])
        if compiled["template"] is None:
            raise jinja2.TemplateSyntaxError("as before", 1)
        return compiled["template"].render(
            messages=job["messages"], tools=job["tools"], documents=None,
            add_generation_prompt=job["add_generation_prompt"], bos_token=job["bos"],
            eos_token=job["eos"], **job["variables"])
    except Exception as error:  # whatever Jinja2 raises, ours must raise too
        return error


def job_of(name, template, conversation, add_generation_prompt):
    messages, tools, variables = CONVERSATIONS[conversation]
    return {"name": name, "conversation": conversation, "template": template, "bos": "<s>",
            "eos": "</s>", "messages": messages, "tools": tools, "variables": variables,
            "add_generation_prompt": add_generation_prompt}


def jobs_over(templates):
    for name, template in templates:
        for conversation in CONVERSATIONS:
            for add_generation_prompt in (False, True):
                yield job_of(name, template, conversation, add_generation_prompt)


def own_jobs():
    yield from jobs_over((f"style {i}", template) for i, template in enumerate(STYLES))
    for template in CONSTRUCTS + MORE_CONSTRUCTS:
        yield job_of("construct", template, "one", True)


def folder_jobs(folder):
    files = sorted(pathlib.Path(folder).glob("*.jinja"))
    if not files:
        sys.exit(f"{folder} holds no *.jinja file")
    return jobs_over((file.stem, file.read_text(encoding="utf-8")) for file in files)


def verdict(answer, wanted):
    is_error = isinstance(wanted, Exception)
    if "error" in answer:
        return "alike" if is_error else "refused" if answer["in"] == "parse" else "fails"
    if is_error:
        return "accepts"  # what Jinja2 does not
    return "alike" if answer["text"] == wanted else "differs"


def print_table(rows):
    columns = ["alike", "errors", "refused", "fails", "differs", "accepts"]
    print("template".ljust(60), *(column.rjust(8) for column in columns))
    for name, counts in rows.items():
        print(name.ljust(60), *(str(counts[column]).rjust(8) for column in columns))
    good = sum(counts["alike"] == counts["all"] for counts in rows.values())
    print(f"{len(rows)} templates, {good} of them alike in all conversations")


def show(job, answer, wanted):
    print(f"{job['name']}, conversation '{job['conversation']}'")
    if job["name"] == "construct":
        print(f"template: {job['template']!r}")
    wanted_text, text = str(wanted), str(answer.get("text", answer))
    at = next((i for i, (a, b) in enumerate(zip(wanted_text, text)) if a != b),
              min(len(wanted_text), len(text)))
    begin = max(0, at - 60)
    print(f"wanted: {type(wanted).__name__} {wanted_text[begin:at + 240]!r}\n"
          f"got:    {text[begin:at + 240]!r}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--templates", default=os.environ.get("TANDEM_CHAT_TEMPLATES"))
    parser.add_argument("--list", action="store_true", help="every difference, not one a template")
    options = parser.parse_args()
    env = environment()
    jobs = list(own_jobs())
    if options.templates:
        jobs.extend(folder_jobs(options.templates))
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    run = subprocess.run([options.program], input=lines, capture_output=True, text=True, check=True)
    rows, compiled = collections.defaultdict(collections.Counter), {}
    for job, line in zip(jobs, run.stdout.split("\n")[:-1], strict=True):
        answer, wanted = json.loads(line), expected(env, job, compiled)
        result, row = verdict(answer, wanted), rows[job["name"]]
        row.update([result, "all"])
        row["errors"] += isinstance(wanted, Exception) and result == "alike"
        if result != "alike" and (options.list or row["all"] - row["alike"] == 1 or
                                  job["name"] == "construct"):
            show(job, answer, wanted)
    print_table(rows)
    failures = sum(row["all"] - row["alike"] for row in rows.values())
    print(f"{len(jobs)} renderings, {sum(row['errors'] for row in rows.values())} of them errors in "
          f"both, {failures} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
