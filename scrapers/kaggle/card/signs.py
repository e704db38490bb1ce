"""The words by which a page gives away that its metric is not the plain one, and the sentences that do not matter.

All are looked for in comparable text (see `wording`).
"""

import re


def _either(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_CHANGED = (
    r"(?:scaled|normali[sz]ed|weighted|capped|divided|multiplied|averaged|transformed|logged|raised|subtracted|adjusted|grouped"
    r"|squared|combined|summed|rounded|thresholded|binned|converted)"
)

SIGNS = _either(
    r"\bweight(?:s|ed|ing|ings)?\b",
    r"\b(?:penalt(?:y|ies)|bonus\w*|multipl(?:ied|ier)|modified|variant of|adapted|customi[sz]ed)\b",
    r"\bcustom (?:\w+ )?(?:metrics?|scores?|scoring|functions?|evaluation|implementation)\b",
    rf"\b(?:scores?|metric|errors?|loss|values?|predictions?|targets?) (?:is|are|will be|gets?) (?:\w+ ){{0,2}}?{_CHANGED}\b",
    r"\b(?:score|metric|error|loss)s? (?:is|are|will be) (?:then |first )?(?:computed|calculated|evaluated) "
    r"(?:separately|individually|independently|per|for each|by group|within)\b",
    r"\bbefore (?:being )?scor(?:ed|ing)\b",
    r"\b(?:harmonic|geometric) mean\b",
    r"\bcombin(?:ation|ed|es|ing)\b",
    r"\b(?:mean|average) of the (?:two|three|four)\b",
    r"\b(?:minus|divided by|multiplied by|times) the\b",
    r"\b(?:is|are) (?:ignored|excluded|not scored|not evaluated|not counted)\b",
    r"\b(?:equally important|same importance|contribut\w+ equally)\b",
    r"\bcounts? (?:the same|equally|twice|double|more|half|as)\b",
)
"""Enough to doubt whatever Kaggle's field says."""

ALTERS = _either(
    r"\b(?:each|every|per|within|among|weight\w*|averaged|averaging|mean of|lowest|highest|min(?:imum)?|max(?:imum)?)\b",
    r"\b(?:separate\w*|group\w*|then|added|plus|minus|times|multipl\w*|divid\w*|combin\w*|parts?|components?|half|only)\b",
    r"\b(?:except|unless|clip\w*|capp\w*|scaled|normali\w*|transform\w*|exponent\w*|rounded|subset|worst)\b",
    r"\d ?%\)",
)
"""Beside a metric's name, enough to doubt where the pages alone name it."""

UNDERSTOOD = _either(
    r"^(?:evaluation|overview|goal|metrics?|scoring|(?:the )?evaluation (?:metric|criteria)|competition metric)\W*$",
    r"^how (?:you are|it is) scored\W*$",
    r"\b(?:metric|score|measure|formula|it)(?: \w+){0,4}? (?:is|are)(?: then)?(?: (?:calculated|computed|defined|given))?"
    r"(?: as| by)?(?: follows)?\W*$",
    r"^where\W*$",
    r"^(?!.*\b(?:clip\w*|capp?\w*|at least|at most|weight\w*|scaled|normali\w*|transform\w*|divided|multipl\w*|rounded"
    r"|adjusted|truncat\w*|after|before|relative|shifted)\b)"
    r"(?:where|here|and|with)?\W*\(?[\w\\()^{} ]{0,14}\)? (?:is|are|denotes?|stands for) "
    r"(?:1 if |0 if |the |a |an |your |each )?(?:total number|number|natural|base|predict|actual|true|observ|ground truth|real"
    r"|target|logarithm|\w+ belongs)",
    r"^each (?:\w+ ){1,5}(?:has|belongs)(?: been)?(?: \w+){0,3} (?:one|single) (?:true )?\w+(?: \w+){0,2}\W*$",
    r"^(?!.*\b(?:scor\w+|metric|evaluat\w+|weight\w*|averag\w*|separately|per|errors?|rank\w*|less|divid\w*)\b)"
    r".*\b(?:you|file|participants?) (?:must|should|have to|need to|are to|will|may|can) (?:\w+ )?"
    r"(?:submit|predict|contain|have|look|provide)\b",
    r"^(?:the )?(?:column|field|variable)? ?codespan (?:is|are|has|holds) the\b",
    r"^(?:the )?(?:order of (?:the )?rows does not matter|submission (?:file )?format\b.*)\W*$",
    r"^(?:the )?predictions? (?:should|must) be (?:in|a)\b",
    r"^submit (?:probabilities|predictions|values|labels|a csv)\b",
    r"^(?:the )?(?:public|private) leaderboard (?:is|will be) (?:calculated|based|computed)\b.*\d ?%",
    r"^(?:the )?final (?:results|standings|ranking) will be based on .*\d ?%",
    r"^(?:a |the )?(?:lower|smaller|higher|larger|greater)(?: \w+){0,3} better\b(?: \w+){0,3}\W*$",
    r"^(?:for more|more|see|check out|read|good luck|happy)\b(?!.*\b(?:exact|weights?|except)\b)",
    r"^(?:this|the) (?:evaluation )?(?:metric|score|measure) penali[sz]es (?:wrong|large|big|confident)\b",
    r"^please note, winners\b.*\bset\b",
)
"""Sentences about an evaluation that leave its metric as it is."""

ASIDE = _either(r"\b(?:scor(?:e|es|ed|ing)|metric|weight\w*|penalt\w*|averag\w*|clip\w*|errors?)\b")
"""What the description of the file has no business to speak of."""

LOGARITHMS = _either(
    r"\blog(?:arithm)?s? of (?:the |your )?(?:predict|target|actual|observed|true|sale|price|real)\w*",
    r"\blog (?:transform\w*|scale)\b",
    r"\btaking (?:the )?log",
)
"""Signs of another metric, unless its name says logarithm."""

_RESCALED = (
    r"(?:re ?normali[sz]ed|normali[sz]ed|rescaled|scaled|divided) "
    r"(?:by (?:the|their|its) (?:row )?sum|to sum to (?:one|1))"
)
_KEPT = (
    r"(?:kept|held|bounded|limited|restricted|constrained|clipped|clamped|truncated)"
    r"(?:\s|\b(?:to|between|within|away|from|in|by|at|of|the|range|interval|and|eps|epsilon)\b|[\d.,^{}()\[\]\\]|(?<=\d)e(?=[\s\d]))+"
)
_WAY = rf"(?:{_RESCALED}|{_KEPT})(?:\s*\b(?:before|prior to) (?:being )?scor(?:ed|ing))?"

OF_LOG_LOSS = _either(
    r"rescaled|row sum|sum to one|sum to 1|divided by the (?:row )?sum|normali[sz]ed (?:so|to|by)",
    r"extremes of the log|clip|replaced with|probabilities (?:are|will be) (?:automatically )?normali[sz]ed",
    r"^(?:(?:the|all|each|every|your|submitted|predicted|class) )*(?:probabilit(?:y|ies)|predictions?|rows?)"
    r"(?: (?:of|for|in) (?:a|an|the|each|every|any)(?: given)? \w+)? (?:is|are|will be|get) "
    rf"(?:(?:first|then|automatically) )?{_WAY}"
    rf"(?:,? ?(?:and|then)(?: (?:and|then|are|is|afterwards|finally))* {_WAY})?\W*$",
)
"""Log loss's own way with probabilities, which is read elsewhere."""

WEIGHING = _either(
    r"weight|penalt|bonus|multipl|importan",
    r"\b(?:loss|scores?|metric|errors?) (?:is|are|will be) (?:then |also )?"
    r"(?:(?:re ?)?scaled|divided|(?:re ?)?normali|clip|replaced)",
)
"""What is another metric though it speaks as log loss does: of losses that are treated so, not of probabilities."""

HARMLESS_WEIGHTS = _either(
    r"\bweights? (?:must|should|files?)\b",
    r"\b(?:model|pre ?trained) weights\b",
    r"\bequal(?:ly)? weight(?:ed|s)?\b",
    r"\bsubmission weight\w*",
)
"""Of models, or of no effect."""
