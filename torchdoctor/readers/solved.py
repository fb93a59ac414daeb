"""Whether the writer of a text says at its end that the error in it is gone: "fixed it by ..., now it works"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchdoctor.patterns import lazily

_LAST = 8  # lines of the end of a text that may say so

_DONE = lazily(
    r"\b(?:I|we)(?:'ve| have)? (?:\w{1,12}ly |just |already )?(?:fixed|solved|resolved) (?:it|this|that|them"
    r"|(?:the|my|our) (?:above|errors?|issues?|problems?|bug))\b"
    r"|^(?:\W|edit|update|\d)*(?:fixed|solved|resolved)(?: it| this| that)?"
    r"(?:[!.](?= )|\W{0,3} ?(?:\b(?:by|with|via|through)\b|$))"
    r"|\b(?:edit|update)\d?\W{1,4}(?:fixed|solved|resolved)\b"
    r"|\b(?:now (?:it|everything|all)|and (?:now )?(?:it|everything)) (?:works|runs)\b(?! (?:on|only|if|when)\b)"
    r"|\b(?:works|runs) (?:fine |perfectly |again )?now\b|\b(?:that|this|which) (?:fixed|solved|did) (?:it|the trick)\b"
    r"|\b(?:errors?|problems?|issues?|warnings?) (?:is|are|has|have) (?:now )?"
    r"(?:gone|disappeared|vanished|fixed|solved)\b",
    re.IGNORECASE,
)
_DOUBT = lazily(
    r"\b(?:but|except|however|unless|until|though|although|yet|still|only|sometimes|partly|partially|temporar\w*|if|how"
    r"|whether|hope|not|never(?! mind)|cannot|without|next|another|new(?: one| error| problem))\b|n't\b|\?"
    r"|\b(?:last (?:year|month|week|time)|previously|earlier|back then|once|used to|ago|yesterday)\b"  # and gone again
    r"|\b(?:is|came|comes|it's) back\b|\breturned\b|\bdid nothing\b|\bno (?:effect|use|help)\b|\b(?:dead|broken)\b"
    r"|\b(?:shows?|gives?|prints?|throws?|fails?|raises?|crash(?:es)?) (?:this|that|the|it|an?)\b"
    r"|\b(?:on|only|using|device\s?=)\s?(?:the )?[\"']?cpu\b(?! (?:wheel|build|version|torch))"
    r"|^\W*(?:in|on|inside|under) (?!the end\b|our end\b|my end\b)"  # there, and not here
    r"|\b(?:said|says|wrote|writes|claims?|suggests?|according to|somebody|someone|others?|people)\b",
    re.IGNORECASE,
)
_OTHER = lazily(r"\s*(?:```|Traceback |File \"|[\w.]{0,60}(?:Error|Exception)\b|E\s{3}|\[|[$>%] |>>>|\d{4}-)")


def solved_at(lines: Sequence[str]) -> int:
    """The line in which the writer says so, or -1; nothing but prose without a doubt may follow it."""
    last = [index for index, line in enumerate(lines) if line.strip()][-_LAST:]
    for index in reversed(last):
        if _DOUBT.search(lines[index]) or _OTHER.match(lines[index]):
            return -1
        if _DONE.search(lines[index]):
            return index
    return -1
