"""Tells text *about* an error from the error: what a model generates, a data set holds, a note or a manual says.

A real error's words begin a record, or follow the name of an exception. What stands before quoted ones labels them: ``generated:``, ``"prompt":``.
"""

from __future__ import annotations

import re

_LABELS = (
    r"generat(?:ed|ion|ions)(?:[ _](?:text|sample|output))?|completions?|samples?|examples?|prompts?|responses?|answers?|questions?|decoded|predict(?:ed|ion)|"
    r"(?:model|sample)[ _]output|text|content|instruction|document|records?|notes?|tags|comment|hypothesis|user|human|assistant|chosen|rejected|ground_truth|"
    r"rollout|trajectory|messages?_?content|generated_text|reward_text|preview|conversation"
)
_LABEL = re.compile(rf"(?i)(?<![\w.])(?:{_LABELS})\s*(?:[#\[(]?\s*\d+\s*[)\]]?)?\s*(?:[:=]|-+>|[\[({{]|\s['\"`])|^\W*[QA]\s*:")
_KEY = re.compile(rf"(?i)['\"](?:{_LABELS})['\"]\s*:|Finish: \{{|<\|im_start\|>|<\|user\|>|<\|assistant\|>|\[INST\]")
_TALK = re.compile(
    r"(?i)\b(?:if you (?:see|get|hit|run into)|in case of|to avoid|such as|e\.g\.|for example|when you see|means that|may (?:lead|cause)|can (?:lead|cause)|"
    r"prevent|messages? like|errors? like|looks? like|a message|the message|known issue|see also|"
    r"last (?:run|time|week|job)|previous (?:run|attempt|job)|resum\w+ after|fixe[sd])\b"
)
_SOURCE = re.compile(r"\b(?:raise|assert|if|elif|print|match|grep|re\.\w+)\b[^:]*[(\s]f?r?['\"][^'\"]*$")
# what is said of an error behind its words
_SAID_OF_IT = re.compile(
    r"^['\"`.]*\s+(?:may|can|might|could|usually|often|sometimes|means|happens|is (?:the|a|an|often|usually|caused|not|what)|are|was fixed|occurs|appears)\b"
)
_NAMES = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception)(?:\(\w+\))?:?|\b(?:WARN(?:ING)?|ERROR|CRITICAL)\b")
# a line that announces a generated text or a record below it
_OPENS = re.compile(
    r"(?i)^\W*(?:generat(?:ed|ion|ions)|completions?|prompts?|responses?|(?:sample|example|record) \d+|sample output|"
    r"(?:first|last|random) (?:record|sample|example)|decoded|rollout|conversation|question|answer|preview)\b[^=\n]{0,60}[:=]\s*(?:['\"]{3}|['\"`])?\s*$"
)
LONGEST_BLOCK = 60
LOOKED_AT = 400


def is_quoted(lead: str) -> bool:
    """Whether what stands before an error's words makes them text that the model or a person wrote."""
    lead = lead[-LOOKED_AT:]
    return any(pattern.search(lead) is not None for pattern in (_KEY, _TALK, _SOURCE))


def is_labelled(lead: str) -> bool:
    """Whether a plain word such as ``sample 3:`` stands before an error's words: a text's label, or where the program failed."""
    return _LABEL.search(lead[-LOOKED_AT:]) is not None


def is_discussed(tail: str) -> bool:
    """Whether what stands behind an error's words says something of them."""
    return _SAID_OF_IT.search(tail[:80]) is not None


def is_doubtful(lead: str) -> bool:
    """Whether more stands before an error's words than the names of exceptions: a remark, a list, a comment."""
    rest = _NAMES.sub("", lead[-LOOKED_AT:])
    return sum(letter.isalpha() for letter in rest) >= 3 or lead.lstrip().startswith(("#", ">", "`", "- ", "* "))


def opens_block(text: str) -> bool:
    """Whether the lines below a line are a text that it announces."""
    return text.rstrip().endswith((":", "=", '"', "'", "`")) and len(text) < 200 and _OPENS.match(text) is not None
