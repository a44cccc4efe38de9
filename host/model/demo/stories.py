# SPDX-License-Identifier: Apache-2.0
"""Training documents: splits the corpus into stories and invents a request for each.

A document is a list of (kind, text) fragments, kind being "bos", "eos", a chat marker or "text".
`loss` is False on the fragments the model only reads (requests and system prompts).
Names and animals are exchanged at random so that the model has to read them from the request
instead of recalling the story.
"""
import collections
import dataclasses
import random
import re

SYSTEM, USER, ASSISTANT = "<|system|>", "<|user|>", "<|assistant|>"

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}"
    "{{ '<|assistant|>\\n' + message['content'] + eos_token }}"
    "{% elif message['role'] == 'system' %}{{ '<|system|>\\n' + message['content'] }}"
    "{% else %}{{ '<|user|>\\n' + message['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)

GIRLS = ("Lily Lucy Jane Molly Sally Amy Sue Mia Ella Lola Mary Daisy Emma Sarah Grace Anna Sara "
         "Lila Emily Kate Jill Annie Nora Bella Zoe Ruby Rose Alice Eva Clara").split()
BOYS = ("Tim Timmy Jack Max Tom Bob Ben Benny Andy Joe John James Billy Sam Charlie Oliver Leo "
        "Danny Jimmy Frank Todd Noah Luke Finn Peter Adam Mark Henry").split()
NICKNAMES = ("Beep Fluffy Spot Binky Bubbles Sparkle Pip Buddy Zip Coco Dot Biscuit Rusty Sunny "
             "Bloom Fuzzy Pickles Snowy Teddy Whiskers").split()
ANIMALS = ("cat dog fox rabbit bear frog duck pig lion turtle squirrel bunny monkey tiger "
           "cow sheep horse mouse").split()
NOT_SUBJECTS = set(
    "day time girl boy way lot bit one thing things mom dad friend friends man woman fun story "
    "moment while morning night name world hand hands head idea people place end other child "
    "side eyes face home help mommy daddy mum something others same next first front best top "
    "better fastest big small little water sea sun sky mother father parents ground rest inside outside back middle hug smile problem".split())

OPENER = re.compile(r"(Once|One (sunny |hot |rainy |cold )?(day|morning|night)|There (was|were|lived)"
                    r"|It was |In a )")
SUBJECT = re.compile(r"(?:there (?:was|lived)|One day,|in a [a-z ]+,) (an?) ((?:[a-z]+ ){0,2}?)([a-z]+)"
                     r"(?: (?:named|called) ([A-Z][a-z]+))?(?:[.,]| (?:who|that|was|went|found))", re.I)
NAME = re.compile(r"(?:named|called|name was) ([A-Z][a-z]+)")
NOUN = re.compile(r"\b(?:a|an|the|her|his|big|little|red|blue|new) ([a-z]{3,})(?=[.,!?]| was | and )")
SYSTEM_PROMPTS = ("You are a helpful assistant.", "You tell short stories.",
                  "You are a kind storyteller for children.", "You are a friendly assistant.",
                  "Write simple stories for small children.")
SMALL_TALK = (
    (("Hello", "Hello!", "Hi", "Hi!", "Hey", "Hi there!", "Good morning!", "hello", "hi"),
     "Hello! I can tell you a story. What should it be about?"),
    (("Who are you?", "What are you?", "What is your name?", "What can you do?"),
     "I am a small model that tells stories. Ask me for a story about a cat or a ball!"),
    (("Thank you", "Thank you!", "Thanks", "Thanks!", "Thank you very much!"),
     "You are welcome! I hope you liked the story."),
    (("How are you?", "How are you today?", "Are you well?"),
     "I am very happy today. Do you want to hear a story?"),
)


@dataclasses.dataclass
class Fragment:
    kind: str
    text: str = ""
    loss: bool = True


def split_stories(corpus):
    """Stories are separated by one newline, their paragraphs by two. Some stories use one newline
    between paragraphs too: a short piece that does not open a story continues the last one."""
    stories, openable = [], False
    for piece in re.split(r"(?<!\n)\n(?!\n)", corpus):
        piece = re.sub(r" *\n *", "\n", re.sub(r"[ \t]+", " ", piece)).strip()
        if not piece:
            continue
        if stories and not OPENER.match(piece) and (len(piece) < 300 or openable):
            stories[-1] += "\n\n" + piece
            openable = len(stories[-1]) < 500
        else:
            stories.append(piece)
            openable = len(piece) < 250
    return [s for s in stories if len(s) >= 150 and s[-1] in ".!?\""]


def noun_ranks(stories):
    """How many stories use each noun: rare ones are what a story is about."""
    counts = collections.Counter()
    for story in stories:
        counts.update(set(NOUN.findall(story)))
    return counts


def salient_nouns(story, ranks):
    words = collections.Counter(re.findall(r"[a-z]+", story))
    found = {n for n in NOUN.findall(story) if n not in NOT_SUBJECTS and n[-1] != "s" and 3 <= ranks[n] <= 120}
    return sorted(found, key=lambda n: (-words[n], ranks[n], n))[:3]


def exchange(story, rng):
    """Renames people (60 %) and recasts a single animal (35 %), consistently."""
    renames = {}
    for names in (GIRLS, BOYS):
        present = [n for n in names if re.search(rf"\b{n}\b", story)]
        if present and rng.random() < 0.6:
            free = [n for n in names if n not in present]
            renames.update(zip(present, rng.sample(free, min(len(present), len(free)))))
    name = NAME.search(story[:300])
    if name and name.group(1) not in GIRLS + BOYS and rng.random() < 0.6:
        renames[name.group(1)] = rng.choice([n for n in NICKNAMES if n not in story])
    present = [a for a in ANIMALS if re.search(rf"\b{a}s?\b", story, re.I)]
    if len(present) == 1 and "mouse" not in present and rng.random() < 0.35:
        old = present[0]
        new = rng.choice([a for a in ANIMALS if a not in (old, "mouse", "sheep", "fox")])
        for a, b in ((old, new), (old + "s", new + "s")):
            renames[a], renames[a.capitalize()] = b, b.capitalize()
    if not renames:
        return story
    return re.sub(r"\b(" + "|".join(renames) + r")\b", lambda m: renames[m.group(1)], story)


def article(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def request_for(story, ranks, rng):
    """One request whose answer the story could be."""
    opening = story[:300]
    subject, name = SUBJECT.search(opening), NAME.search(opening)
    nouns = salient_nouns(story, ranks)
    known = [n for n in dict.fromkeys(re.findall(r"[A-Z][a-z]+", opening)) if n in GIRLS + BOYS]
    who = name.group(1) if name else (known[0] if known else None)
    kind = adjective = None
    if subject and subject.group(3) not in ("time", "day"):
        kind, adjective = subject.group(3), subject.group(2).strip().split(" ")[-1]
    topics = []
    if kind:
        topics += [article(kind)] * 2
        if adjective:
            topics += [article(f"{adjective} {kind}")]
        if who:
            topics += [f"{article(kind)} named {who}"] * 3
            topics += [f"{article(f'{adjective} {kind}')} named {who}"] * 2 if adjective else []
        topics += [f"{article(kind)} and {article(n)}" for n in nouns if n != kind]
    if who:
        topics += [who] * 2 + [f"{who} and {article(n)}" for n in nouns[:2]]
    for second in known[1:2]:
        topics += [f"{known[0]} and {second}"] * 2
    topics += [article(n) for n in nouns] * 2
    if not topics or rng.random() < 0.07:
        return rng.choice(("Tell me a story.", "Tell me a short story.", "Can you tell me a story?",
                           "Please tell me a story.", "Tell me a bedtime story.", "Write a story.",
                           "Tell me a story", "Write a short story."))
    form = rng.choice(("Tell me a story about {}.",) * 5 + (
        "Tell me a story about {}", "Write a story about {}.", "Write a short story about {}.",
        "Can you tell me a story about {}?", "Please tell me a story about {}.",
        "I want a story about {}.", "Tell me about {}.", "A story about {}, please.",
        "Tell me a short story about {}."))
    return form.format(rng.choice(topics))


def chat_turn(request, answer):
    return [Fragment(USER), Fragment("text", "\n" + request, False),
            Fragment(ASSISTANT, "", False), Fragment("text", "\n" + answer), Fragment("eos")]


def small_talk(rng):
    requests, answer = rng.choice(SMALL_TALK)
    return chat_turn(rng.choice(requests), answer)


def document(story, ranks, rng):
    """A plain story (30 %) or a chat (70 %), sometimes with a system prompt or small talk."""
    story = exchange(story, rng)
    if rng.random() < 0.3:
        return [Fragment("bos"), Fragment("text", story), Fragment("eos")]
    fragments = [Fragment("bos")]
    if rng.random() < 0.2:
        fragments += [Fragment(SYSTEM), Fragment("text", "\n" + rng.choice(SYSTEM_PROMPTS), False)]
    if rng.random() < 0.05:
        fragments += small_talk(rng)
    fragments += chat_turn(request_for(story, ranks, rng), story)
    if rng.random() < 0.05:
        fragments += small_talk(rng)
    return fragments


def epoch_documents(stories, ranks, rng):
    documents = [document(story, ranks, rng) for story in stories]
    documents += [[Fragment("bos")] + small_talk(rng) for _ in range(len(stories) // 25)]
    rng.shuffle(documents)
    return documents
