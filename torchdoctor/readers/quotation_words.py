"""The words that tell a quotation of an error from the error itself: leads, meanings, advice, signs of a report."""

from __future__ import annotations

import re

from torchdoctor.patterns import lazily

_SEE = (
    r"(?:see|get|encounter|receive|hit|run into|face|observe|notice|experience|(?:have|'ve) (?:seen|got)"
    r"|(?:are|'re) (?:getting|seeing|hitting|facing|encountering|receiving))"
)
_THING = (
    r"(?:errors?|warnings?|messages?|exceptions?|failures?|problems?|issues?|crash(?:es)?|symptoms?|lines?)"
    r"(?: messages?)?"
)
_OFTEN = r"(?:\w{1,20}ly |often )?"
_CAUSES = r"(?:solutions?|fix(?:es)?|causes?|resolutions?|workarounds?|answer|reason|how to (?:fix|solve)|why)"
_THIS = r"(?:this|the|such an?|that|these|those)"
_DUE = r"(?:caused by|due to|because|a result of)"
_MINE = (
    r"(?:gpu|card|machine|system|setup|environment|laptop|pc|computer|code|script|training|server|env|os|driver|case"
    r"|logs?|output|config)"
)
_DID = (
    r"(?:get|got|see|saw|am|have|had|tried|try|ran|run|installed|install|use|used|found|hit|upgraded|keep|getting|trying"
    r"|using|running|having|seeing|facing|just|also|still|can't|cannot|followed|updated|encounter(?:ed)?)"
)


def _any(*patterns: str) -> re.Pattern[str]:
    return lazily("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


LEAD = _any(  # goes before a quotation
    rf"\b(?:if|when|whenever|in case) (?:you|users?|one|people)\b.{{0,80}}?\b{_SEE}s?\b",
    rf"\b(?:you|users|people|one)(?:'ll| will| may| might| can| could)? (?:also |then |sometimes |probably )?{_SEE}\b",
    r"\b(?:errors|warnings|messages|exceptions|failures) (?:such as|like|similar to|of the (?:form|kind))\b",
    rf"\b(?:may|might|will|can|could|would)\b.{{0,60}}\b{_THING} (?:such as|like|similar to|of the (?:form|kind))\b",
    r"\bif (?:the |your |a |an )?[\w./` -]{1,60}? (?:complains|fails|crashes|stops|returns|reports|shows)"
    r"(?: with\b| an?\b|:)",
    r"\b(?:may|might|can|could) (?:fail with|raise|throw|result in|lead to|end in)\b",
    r"\b(?:common|typical|frequent)\b.{0,60}\b(?:is|are)(?: the following)?:?$",
    r"\blook for (?:these|the following) lines\b",
    rf"^or (?:an? )?(?:\w{{1,20}} )?{_THING}\b",
    rf"\b(?:you|it) (?:should|will|'ll|would|must)(?:n't| no longer| not| never) {_SEE}\b",
    r"\b(?:reasons?|explanations?|causes?|fix(?:es)?|solutions?|workarounds?) (?:for|of|behind|to) (?:the )?"
    r"(?:(?:error|message|exception) )?(?:[`\"'\u201c][^`\"'\u201d]{0,80})?$",
    r"\bin case of\b|^\W{0,9}(?:on|upon|for) (?:an? )?[`\"'\u201c][^`\"'\u201d]{0,80}$",
    r"\bif (?:it|this|that) (?:says|shows|prints|reads|fails with|ends (?:in|with))\b",
    r"(?:\u5982\u679c|\u82e5|\u5982\u9047).{0,20}(?:\u9047|\u51fa\u73b0|\u770b\u5230|\u62a5|\u63d0\u793a)",  # Chinese
    r"\u5834\u5408|\b\u0435\u0441\u043b\u0438\b|\bwenn (?:sie|du|man)\b|\bsi (?:vous|usted|aparece)\b",
)
MENDED = _any(  # in the sentence of a quotation: release notes, instructions
    r"\botherwise\b",
    r"^\W{0,9}(?:\[[^\]]{1,30}\]\W{0,3})?(?:fix(?:ed|es)?|resolve[sd]?|mend(?:ed|s)|prevents?|avoids?)\b",
    r"\bno longer (?:fails|crashes|raises|throws|ends|stops)\b",
)
BEFORE = _any(
    r"\b(?:previously|formerly|before this (?:change|commit|patch)),? .{0,200}\b(?:raised|threw|failed with|gave)\b"
)
CHANGED = _any(  # goes behind what was so before
    r"\b(?:we now|now (?:we|checks?|returns?|falls?|uses?))\b|\bthis (?:commit|patch|change|pr|pull request)\b"
)
MEANING = _any(  # goes behind a quotation
    rf"\b{_THIS}(?: \w{{1,30}})? {_THING}(?: above)? {_OFTEN}(?:means?|indicates?|(?:is|are) {_OFTEN}{_DUE})\b",
    rf"\b{_THING} (?:can|may) be (?:\w{{1,20}}ly )?(?:fixed|solved|resolved|ignored|avoided)\b",
    rf"^\W{{0,9}}(?:this|that|it|which)(?: error)? {_OFTEN}(?:means|indicates|(?:is|are) {_OFTEN}{_DUE})\b",
    rf"^\W{{0,9}}{_CAUSES}\b(?:\W|$)",
    r"^\W{0,9}(?:(?:comes|stems|results) from|(?:appears|occurs|arises) (?:when|if)|tells (?:you|us))\b",
    r"^A\d{0,3}[:.)]\s",
    r"^\W{0,3}is (?:what|printed|raised|shown|thrown|caused)\b",
    r"\b(?:means|indicates) (?:that )?(?:the|your|a|an|you|no|there|torch|pytorch|cuda|pip)\b",
    r"^\W{0,9}to (?:fix|resolve|solve|avoid|mend) (?:this|it|the)\b",
)
HAPPENS = _any(
    rf"^\W{{0,9}}(?:this|the)(?: {_THING})? {_OFTEN}(?:happens|occurs|appears|arises)\b"
)  # with advice behind
YOURS = _any(r"\byou (?:can|should|need|must|may|have to)\b|\byours?\b|\bmake sure\b|\bset (?:the )?`")
SOLUTION = _any(r"^\W{0,6}(?:solution|fix|workaround)\b", r"\[(?:solution|fix|workaround)\]")
LABEL = lazily(r"\W{0,6}(?:Solutions?|Fix|Causes?|Reason|Workaround|\u539f\u56e0|\u89e3\u51b3\w{0,4})\W{0,3}[:\uff1a]")
ADVICE = _any(
    r"\b(?:make sure|ensure|try|install|reinstall|upgrade|update|downgrade|set|use|add|run|check|verify|reduce|lower"
    r"|increase|please|should|must|need to|recommend(?:ed)?|solution|workaround|resolve[sd]?)\b"
)
PAGE = _any(  # in a heading of a page that is documentation
    r"troubleshoot|\bfaqs?\b|frequently asked|common (?:\w{1,30} )?(?:errors|issues|problems|pitfalls|mistakes)",
    r"known (?:issues|problems|limitations)|release notes|change ?log|what's new",
    r"error (?:messages|reference|codes|index)|(?:errors|problems) and (?:their )?(?:solutions|fixes|causes)",
    r"\bq ?& ?a\b|installation guide|getting started|\bhow to (?:fix|solve|resolve|avoid)\b|^\W{0,9}errors?\W{0,9}$",
)
ISSUE = _any(r"\s*#{1,6} .{0,6}(?:describe|to reproduce|steps to|expected|environment$|versions|your current)")
REPORT = lazily(  # somebody tells of a host of his own
    r"^\s*(?:Collecting environment information|PyTorch version: |CUDA used to build PyTorch: |GPU models and conf"
    r"|\| NVIDIA-SMI \d|\[pip3?\] torch|### (?:Versions|Your current environment|How would you)"
    r"|#{1,4} .{0,6}(?:Describe the (?:bug|issue)|To reproduce|Steps to reproduce|Expected behaviou?r|Environment$))"
    rf"|\bI(?:'m| am)? {_DID}\b|\bI've\b|\bmy {_MINE}\b"
    r"|\b[Ww]e (?:are (?:getting|seeing|running)|get|got|saw|see the following)\b|Package\s+Version\s*$"
    r"|^(?!.*\b(?:[Ii]f|[Ww]hen|should)\b).*\bstill (?:there|happen|occur|fail|broken|crash|present)"
    r"|[Pp]lease (?:re-?open|help)\b|\btell me\b|\b[Oo]urs is\b"
    r"|\b[Ss]ince (?:yesterday|today|this morning|last (?:week|night|month))\b"
    r"|^(?=.*\b(?:gets?|shows?|stops?|fails?|crash(?:es)?|prints?|broken)\b).*\b[Ss]ince (?:the|our|an?) "
    r"(?:last |latest )?(?:up(?:date|grade)|reboot|move|switch|migration|reinstall)\b"
    r"|^[Dd]ear (?:support|help ?desk|team|all|admins?|colleagues|developers|maintainers)\b"
    r"|\b[Ww]hat (?:did|do|are|have) (?:we|I) (?:break|broken|miss|missed|missing|do(?:ing|ne)? wrong)\b"
)
TRACKER = _any(  # the titles of a form for reports
    r"(?:describe the (?:bug|issue)|bug (?:description|report)|(?:issue|problem) description|what happened"
    r"|what (?:did you|was|is) (?:do|expect\w*|the (?:bug|issue|problem))|(?:expected|actual|current|observed)"
    r" (?:behaviou?rs?|results?|outcome)|(?:steps )?to reproduce|steps to reproduction|(?:how to|minimal) reproduc\w+.*"
    r"|(?:error messages?|relevant) (?:and )?(?:logs?|log output)|(?:my|your current|your) (?:environment|setup|system)"
    r"|is there an existing issue.*|what version.*|how would you like.*)\W*$"
)
TRACKER_TOO = _any(  # such a title stands in other texts as well
    r"(?:environment|versions?|version info\w*|system info\w*|trace ?back|stack ?trace|(?:full |complete )?logs?"
    r"|(?:log )?output|reproduction|description|additional (?:context|information)|more info|possible (?:solution|fix)"
    r"|screenshots?|checklist|affected versions?|setup|problem|question|errors?(?: messages?)?|summary|impact)\W*$"
)
CHANGES = _any(  # the title over a list of changes
    r"(?:bug ?fixes|fixed|fixes|added|changed|changes|removed|deprecated|security|features|improvements|enhancements"
    r"|(?:known|fixed|resolved|open) (?:issues|problems|bugs)|breaking changes|what's (?:changed|new)|notable changes"
    r"|release notes.*|change ?log|changes (?:in|since|from|of)\b.*\d.*"
    r"|(?:common|typical|frequent|usual|possible) (?:\w{1,20} )?(?:errors?|problems?|issues?|pitfalls|messages)"
    r"(?: messages?)?)\W*$",
    r"[\w.+-]{2,60} \(\S{1,60}\) [\w -]{1,40}; urgency=",
    r"(?:version |release )?\[?v?\d{1,4}\.\d{1,4}(?:\.\w{1,12}){0,3}\]?"
    r"(?:\W{1,3}(?:\(?\d{1,4}[-/. ]|\(?unreleased|\w{3,9} \d).*)?\W*$",
)
POINT = lazily(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+\S")
MARKS = lazily(r"^(?:</?\w{1,10}[^>]{0,60}>|\W)+|</\w{1,10}>|[*_:]+$")
TRIED = _any(r"\b(?:tried|attempted|so far|done|taken|steps)\b")  # in a title over what somebody has tried
_OPEN = r"unknown|none|not known|n/a|to be|tbd|pending|open|unclear|\?"
LABELS = (  # a page of a knowledge base has both
    _any(rf"(?:root )?causes?(?:\W*$|: (?!{_OPEN}))"),
    _any(rf"(?:resolutions?|solutions?|fix|workarounds?|remedy)(?:\W*$|: (?!{_OPEN}))"),
)
HOSTS = _any(  # at the head of a table of what somebody has tried
    r"\b(?:gpus?|cards?|torch|pytorch|driver|versions?|os|python|results?|status|runs?|nodes?|ranks?|hosts?|devices?|model"
    r"|jobs?|stages?|printed|outputs?|logged|happened|exit code)\b|^\W*(?:when|time|date)\b"
)
REMEDY = _any(
    r"\b(?:fix(?:es)?|solutions?|causes?|reasons?|remed(?:y|ies)|mean(?:s|ing)|why|what to do|actions?|resolutions?"
    r"|workarounds?|help|try|explanations?|answers?|do)\b"
)
LOG = lazily(
    r"\s*(?:File \"|Traceback|The above exception|During handling|[\w.]{1,60}(?:Error|Exception|Warning)\b"
    r"|\S{1,300}\.py:\d"
    r"|\[|\d{4}-\d\d|\d\d:\d\d|[$%>]\s|>>>"
    r"|(?:E|W|I|ERROR|WARNING|INFO|DEBUG|FATAL|CRITICAL|NOTE|note|hint|error|warning):)"
)
COMMON = _any(r"\b(?:the|an?|is|are|to|of|and|your?|this|that|with|for|in|on|not|can|may|by|it|or|from|if)\b")
ITEM = lazily(
    r"\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+(?:\*\*`?|`|[\"\u201c])[^`*\"\u201c]{4,300}[`*\"\u201d]{1,3}\W{0,3}\s\S+\s\S"
)
