# SPDX-License-Identifier: Apache-2.0
"""Chat templates against Jinja2 itself: usage: jinja_oracle.py RENDER_TEMPLATE_PROGRAM

Templates in the styles model files carry, and small ones for each construct, are rendered over
conversations by both; texts must be equal, and where Jinja2 raises, ours must report an error.
Exit code 77: Jinja2 is not installed.
"""
import json
import subprocess
import sys

try:
    import jinja2
    import jinja2.ext
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    print(f"skipped: {error}; scripts/test.sh installs tests/requirements.txt")
    sys.exit(77)

from templates import CONSTRUCTS, CONVERSATIONS, STYLES


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
    env.globals["strftime_now"] = lambda form: __import__("datetime").datetime.now().strftime(form)
    return env


def expected(env, job):
    try:
        return env.from_string(job["template"]).render(
            messages=job["messages"], add_generation_prompt=job["add_generation_prompt"],
            bos_token=job["bos"], eos_token=job["eos"], tools=None, documents=None)
    except Exception as error:  # whatever Jinja2 raises, ours must raise too
        return error


def jobs():
    for template in STYLES:
        for messages in CONVERSATIONS:
            for add_generation_prompt in (False, True):
                yield {"template": template, "bos": "<s>", "eos": "</s>", "messages": messages,
                       "add_generation_prompt": add_generation_prompt}
    for template in CONSTRUCTS:
        yield {"template": template, "bos": "<s>", "eos": "</s>", "messages": CONVERSATIONS[1],
               "add_generation_prompt": True}


def main():
    env = environment()
    all_jobs = list(jobs())
    lines = "".join(json.dumps(job) + "\n" for job in all_jobs)
    run = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True)
    failures = errors = 0
    for job, line in zip(all_jobs, run.stdout.split("\n")[:-1], strict=True):
        answer, wanted = json.loads(line), expected(env, job)
        is_error = isinstance(wanted, Exception)
        errors += is_error
        if ("error" in answer) if is_error else answer.get("text") == wanted:
            continue
        failures += 1
        print(f"template: {job['template']!r}\nmessages: {job['messages']!r}\n"
              f"wanted: {wanted!r}\ngot: {answer!r}\n")
    print(f"{len(all_jobs)} renderings, {errors} of them errors in both, {failures} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
