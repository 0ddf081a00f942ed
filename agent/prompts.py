"""Every text the model is given, beside the notebook's own record of the run.

Each function makes one instruction: the last part of a prompt. They are short because each is
evaluated anew at every call, and plain because the model is small.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from string import ascii_uppercase

from agent.state import Evidence, Note, citation_marks

SYSTEM = (
    "You are a careful research assistant who works in a notebook, one small step at a time. "
    "You use only what the notebook's evidence says, never your own memory. "
    "Copy names, numbers, units and dates exactly. Follow the last instruction and nothing else."
)

READING = "You answer a question from numbered passages and from nothing else."
"""The system prompt of `answer`."""

NOT_FOUND = "Not found in your documents."
WITHHELD = "The answer is withheld: your documents do not support all of it."

TAUGHT = (
    "You work from numbered passages and from nothing else. You write the answer in one to four short "
    "sentences, in the language of the question, with figures, units, dates and names copied exactly. You "
    f"answer all that was asked. If the passages do not answer it, you write: {NOT_FOUND}"
)
"""The system prompt of a model that was taught to answer from passages."""


_EXAMPLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Which firm built the harbour bridge of Avelin, and how large was that firm's loss in 2019?",
        ("Which firm built the harbour bridge of Avelin?", "How large was the loss of #1 in 2019?"),
    ),
    (
        "Where did the mother of the author of the novel Marrow die?",
        ("Who wrote the novel Marrow?", "Who is the mother of #1?", "Where did #2 die?"),
    ),
    (
        "Were the director of the film Kadis and the director of Lunar Tide born in the same country?",
        (
            "Who directed the film Kadis?",
            "Who directed Lunar Tide?",
            "In which country was #1 born?",
            "In which country was #2 born?",
        ),
    ),
    (
        "Given the risks in Varo's report, what does the new Kestrel engine of Ansel mean for Varo?",
        (
            "What risks from competition does Varo's report name?",
            "What is the new Kestrel engine of Ansel?",
        ),
    ),
    ("How many bridges does Avelin have?", ("How many bridges does Avelin have?",)),
)
# Steps that a plan holds word for word, and names that stand in the examples only, were copied, not made.
EXAMPLE_STEPS = frozenset(step for _, steps in _EXAMPLES for step in steps)
EXAMPLE_NAMES = ("Marrow", "Kadis", "Lunar Tide", "Ansel", "Avelin", "Varo", "Kestrel")

_SEED_EXAMPLES = (
    "QUESTION: Which firm built the harbour bridge of Avelin, and how large was its loss in 2019?\n"
    '{"steps":[{"question":"Which firm built the harbour bridge of Avelin?",'
    '"reason":"The firm must be known before its loss can be looked up.",'
    '"tool":"archive","keywords":"harbour bridge Avelin built","section":"Projects"},'
    '{"question":"How large was the loss of #1 in 2019?",'
    '"reason":"This is the second thing asked for.",'
    '"tool":"reports","keywords":"loss 2019","section":"Results"}]}\n'
    "QUESTION: Where did the mother of the author of the novel Marrow die?\n"
    '{"steps":[{"question":"Who wrote the novel Marrow?",'
    '"reason":"The author leads to the mother.",'
    '"tool":"archive","keywords":"novel Marrow author","section":""},'
    '{"question":"Who is the mother of #1?",'
    '"reason":"Her name is needed to find where she died.",'
    '"tool":"archive","keywords":"mother family","section":"Life"},'
    '{"question":"Where did #2 die?",'
    '"reason":"This is what the question asks for.",'
    '"tool":"archive","keywords":"died place of death","section":"Life"}]}'
)


def plan(most: int, tools: Sequence[str] | None = None) -> str:
    """Asks for a plan of at most ``most`` lookups.

    With ``tools`` also for reason, tool, keywords and likely section of each (``seed``).
    """
    examples, where = _SEED_EXAMPLES, ""
    if tools is None:
        examples = "\n".join(
            f"QUESTION: {question}\n{json.dumps({'steps': steps}, separators=(',', ':'))}"
            for question, steps in _EXAMPLES
        )
    else:
        tool = f"one of {', '.join(tools)}" if tools else "empty"
        where = f" tool: {tool}. section: the heading it is likely under, or empty."
    return (
        "Split the QUESTION at the top into the simple lookups it needs, in order, at most "
        f"{most}. Each lookup asks for one fact about one named thing. Write #1 for the result of "
        f"lookup 1. Never compare or calculate in a lookup.{where}\n"
        f"Examples:\n{examples}\nNow the JSON for the QUESTION at the top."
    )


def revise(missing: Sequence[str], most: int, *, full: bool) -> str:
    """Asks for new steps for what is still missing, in the form of the plan."""
    lines = "\n".join(f"- {question}" for question in missing)
    # Shown a form with dots in it, a small model gives the dots back: its grammar holds it to the form.
    form = (
        'the JSON only: {"steps":[{"question":"…","reason":"…","tool":"…","keywords":"…","section":""}]}'
        if full
        else "the JSON only, each lookup one question that ends with a question mark."
    )
    return (
        f"Still missing:\n{lines}\n"
        f"Write at most {most} new lookups that find it, in other words, or by way of the names in "
        f"the findings.\nAnswer with {form}"
    )


def rewrite(question: str) -> str:
    """Asks for a search query (``seed``)."""
    return (
        f"Write the best search query for: {question}\n"
        "One line of at most 20 words: key terms and names, no operators, no explanation."
    )


def strategy(query: str) -> str:
    """Asks which retrieval strategy suits (``seed``)."""
    return (
        f"Choose how to search for: {query}\n"
        "vector: conceptual questions. keyword: exact names, codes, numbers. hybrid: both, or "
        'unsure.\nAnswer with JSON: {"justification":"…","strategy":"vector|keyword|hybrid"}'
    )


def distil(question: str, passages: Sequence[str]) -> str:
    """Asks for what bears on the question in passages that are shown only here (``seed``)."""
    shown = "\n\n".join(f"({letter}) {text}" for letter, text in zip("ABCDEFGH", passages, strict=False))
    return (
        f"PASSAGES:\n{shown}\n\nCopy, word for word, the sentences and table rows that help to answer: "
        f"{question}\nWrite one line for each passage that helps, beginning with its letter in "
        "brackets. Leave out passages that do not help."
    )


def grade(question: str, passages: Sequence[str]) -> str:
    """Asks how far each passage, shown only here, helps to answer (``seed``)."""
    lettered = zip(ascii_uppercase, passages, strict=False)
    shown = "\n\n".join(f"({letter}) {text}" for letter, text in lettered)
    return (
        f"PASSAGES:\n{shown}\n\nGrade each passage for this question: {question}\n"
        "correct: it says the answer, or a part of it. ambiguous: it is about the same thing and may help. "
        "incorrect: it does not help.\n"
        'Answer in JSON, one grade for each letter: {"A":"…"}'
    )


def reflect(question: str) -> str:
    """Asks for a one-sentence summary of what the step found (``seed``)."""
    return (
        f"Reflect on the evidence of this step. Question: {question}\n"
        "Answer in JSON. source: the number of the passage that answers it, 0 if none does. "
        "answer: the shortest exact answer, copied from that passage, empty if none. "
        "sentence: one full sentence that states it as a fact with names, numbers and dates, "
        "empty if none.\n"
        '{"source":…,"answer":"…","sentence":"…"}'
    )


def judge() -> str:
    """Asks for CONTINUE, REVISE or FINISH as a letter."""
    return (
        "Decide what to do next.\n"
        "A: CONTINUE with the next step of the plan; more facts are needed.\n"
        "B: REVISE the plan; the steps that are left will not find what is missing.\n"
        "C: FINISH; the findings answer the QUESTION completely.\n"
        "Answer with one letter."
    )


def justify(action: str) -> str:
    """Asks why an action was chosen."""
    return f"You chose {action}. Say why in one short sentence."


FOUND = "What was found:"
"""Stands above the findings; a small model repeats it."""
_LONGEST_FINDING = 400  # characters shown of a finding; the evidence has all of it
_LENGTHS = {
    "brief": "Answer in one or two short sentences",
    "normal": "Answer in one to four short sentences",
}
_FORM = (
    "in the language of the question. Begin with what was asked for; do not repeat the question. Give "
    "figures, units, dates and names as the passages write them. Put the number of the passage that says "
    "it at the end of every sentence, like [1]."
)


def synthesise(question: str, notes: Sequence[Note], missing: Sequence[str], length: str = "normal") -> str:
    """Asks for the answer, ``brief`` or ``normal``, each sentence with its source."""
    found = "\n".join(line for note in notes if note["found"] for line in _finding_lines(note))
    gaps = f" This was not found, so leave it out: {'; '.join(missing)}" if missing else ""
    return (
        f"{FOUND}\n{found}\n\nNow answer the QUESTION: {question}\n"
        f"Use only what was found and the evidence. {_LENGTHS[length]} {_FORM}{gaps}"
    )


def _finding_lines(note: Note) -> list[str]:
    """A finding as the model is shown it, and what an earlier version of its document says."""
    lines = [f"{note['sentence'][:_LONGEST_FINDING]} {citation_marks(note['cites'])}"]
    if earlier := note.get("earlier"):
        marks = citation_marks([earlier["number"]])
        lines.append(f"Earlier version: {earlier['sentence'][:_LONGEST_FINDING]} {marks}")
    return lines


def answer(
    question: str, passages: Sequence[str], found: Sequence[tuple[int, str]], length: str = "normal"
) -> str:
    """Asks for the answer from whole passages, in one prompt (``lean``).

    A small model that may refuse does so where the answer is before it, so it may not: what it says is
    checked against the passages and by the reader. Nor is it asked to cite: it gets answers wrong that it
    gets right without, and which passage a sentence comes from can be found out.

    ``passages`` are as `notebook.passage` shows them; ``found`` has the passage number and sentence of what
    the plan's steps found, if anything; ``length`` is ``brief`` or ``normal``.
    """
    listed = "\n".join(f"- {sentence[:_LONGEST_FINDING]} [{number}]" for number, sentence in found)
    hint = f"These sentences may help:\n{listed}\n\n" if listed else ""
    shown = "\n\n".join(passages)
    parts = "Answer every part of the question. " if len(found) > 1 else ""
    return (
        f"PASSAGES:\n{shown}\n\n{hint}QUESTION: {question}\n"
        f"{parts}{_LENGTHS[length]}, in the language of the question, with figures, units, dates and names "
        "copied exactly. If the passages do not say it in full, give the answer that they make the most "
        "likely."
    )


def passages(shown: Sequence[str]) -> str:
    """Where the prompts of a taught model begin: passages as `notebook.passage` shows them."""
    return "PASSAGES:\n" + "\n\n".join(shown)


def question(text: str) -> str:
    """Asks a taught model for the answer from the passages above."""
    return f"QUESTION: {text}"


def verify(question: str, claims: Sequence[tuple[str, Sequence[Evidence]]]) -> str:
    """Asks whether the cited passages support each sentence (``seed``)."""
    shown = list({item["number"]: item for _, cited in claims for item in cited}.values())
    passages = "\n".join(f"[{item['number']}] ({item['title']}) {item['excerpt']}" for item in shown)
    listed = "\n".join(
        f"{index}. {text} {citation_marks(item['number'] for item in cited)}".rstrip()
        for index, (text, cited) in enumerate(claims, start=1)
    )
    return (
        f"PASSAGES:\n{passages}\n\nSENTENCES that answer “{question}”:\n{listed}\n\n"
        "Judge each sentence by the passages it cites and by nothing else. supported: they say all of it. "
        "partly: they say some of it. not: they do not say it, or nothing is cited. "
        f'One verdict for each of the {len(claims)} sentences, in order.\n{{"verdicts":["…"]}}'
    )


def converse(question: str, turns: Sequence[tuple[str, str]], tools: Sequence[tuple[str, str]]) -> str:
    """Asks for a reply to what is no question about the documents."""
    said = "\n".join(f"Person: {asked}\nAssistant: {answer}" for asked, answer in turns)
    listed = "\n".join(f"- {name}: {description}" for name, description in tools)
    return (
        f"CONVERSATION SO FAR:\n{said or '(nothing yet)'}\n\n"
        f"The person's documents, which you cannot see now:\n{listed or '(none)'}\n\n"
        f"The person now says: {question}\n"
        "Reply in at most three short sentences, in the person's language. State no fact that does not "
        "stand in the conversation above; if one is wanted, say that it must be asked as a question of "
        "its own."
    )


# --- the question itself: its route, its meaning, its words ------------------------------------

_ROUTES = (
    ("Thanks, that helps.", "direct"),
    ("And the second one?", "clarify"),
    ("Who founded Varo?", "single"),
    ("Where was the founder of Varo born?", "deep"),
    ("Say that again in one sentence.", "direct"),
    ("How much was it?", "clarify"),
    ("In which town is the Kestrel works located?", "single"),
    ("Which is older, Varo or Ansel?", "deep"),
    ("Bonjour", "direct"),
    ("Und warum?", "clarify"),
    ("Wie viele Leute arbeiten bei Ansel?", "single"),
    ("Who paid for the bridge that Ansel built, and how much?", "deep"),
    ("What did I ask you before?", "direct"),
    ("谁创办了安瑟尔？", "single"),
    ("What do the new rules mean for Varo?", "deep"),
    ("Tell me more about that", "clarify"),
)


def route(question: str) -> str:
    """Asks what kind of question it is."""
    examples = "\n".join(f'{message} {{"route":"{label}"}}' for message, label in _ROUTES)
    return (
        "Sort the last message.\n"
        "direct: small talk, or about this conversation\n"
        "clarify: names nothing that could be looked up\n"
        "single: one fact about one named thing\n"
        "deep: several look-ups: it compares, asks for more than one thing, or describes a thing instead "
        f"of naming it\n{examples}\n{question}"
    )


def clarify(question: str, tools: Sequence[tuple[str, str]]) -> str:
    """Asks for the one question that would make ``question`` clear."""
    listed = ", ".join(name for name, _ in tools)
    return (
        "A message does not say what it is about. Ask the person which thing is meant.\n"
        "Message: how much did they pay?\nYou: Which company do you mean, and what did it pay for?\n"
        "Message: the other one please\n"
        "You: Which one do you mean, and what would you like to know about it?\n"
        "Message: 为什么呢？\nYou: 您指的是哪件事的原因？\n"
        f"Ask in the language of the message. There are documents on: {listed or 'nothing yet'}.\n"
        f"Message: {question}\nYou:"
    )


_FOLLOWED = (
    "EARLIER:\nQuestion: Which firm built the harbour bridge?\nAnswer: Varo built the harbour bridge.\n"
    "NEW: how much did that firm lose in 2019?\nALONE: How much did Varo lose in 2019?\n\n"
    "EARLIER:\nQuestion: What did the Bridges division of Varo earn in 2019?\nAnswer: 12 million.\n"
    "NEW: and Ferries?\nALONE: What did the Ferries division of Varo earn in 2019?\n\n"
    "EARLIER:\nQuestion: Who founded Varo?\nAnswer: Ines Ansel founded Varo in 1987.\n"
    "NEW: where was she born?\nALONE: Where was Ines Ansel born?\n\n"
    "EARLIER:\nQuestion: Who founded Varo?\nAnswer: Ines Ansel founded Varo in 1987.\n"
    "NEW: When does the ferry to Kestrel leave?\nALONE: When does the ferry to Kestrel leave?"
)


def follow(question: str, turns: Sequence[tuple[str, str]]) -> str:
    """Asks for ``question`` with what it leaves unsaid; each turn is a question and its answer."""
    earlier = "\n".join(f"Question: {asked}\nAnswer: {answer or '(none)'}" for asked, answer in turns)
    return (
        "Rewrite the NEW question so that it can be understood ALONE: put the names and dates from EARLIER "
        "in place of words that point to them. Keep its meaning and its language. If it is about something "
        "else, repeat it. Do not answer it. One line.\n\n"
        f"{_FOLLOWED}\n\nEARLIER:\n{earlier}\nNEW: {question}\nALONE:"
    )


def phrase(query: str, most: int) -> str:
    """Asks for other phrasings of a search (``seed``)."""
    return (
        f"Write {most} other ways to search for: {query}\n"
        "Each looks at it from another side or uses other words, and keeps the names, numbers and dates. "
        'One short line each, no explanation.\n{"searches":["…"]}'
    )


def reword(query: str, tried: Sequence[str], most: int) -> str:
    """Asks for other phrasings after searches that did not bring enough (``seed``)."""
    listed = "\n".join(f"- {search}" for search in tried)
    return (
        f"These searches did not find enough about: {query}\n{listed}\n"
        f"Write {most} others, in words that a passage with the answer would use. One short line each, no "
        'explanation.\n{"searches":["…"]}'
    )
