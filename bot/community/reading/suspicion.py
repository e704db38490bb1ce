"""Posts that look as if they try to steer their reader: hidden text, fake roles, orders to machines, code that reads elsewhere.

It is a label for people and for the report, and no wall: whoever wants to can word an order so that nothing here finds it. What
a post can do is bounded elsewhere: by the form of its reader's answers, and by the sandbox.
"""

import re
import unicodedata
from collections.abc import Iterator

_LONGEST = 200_000
"""Characters that are read: as much as is stored of a post."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e01ef]"
)
# A few are usual: joiners and selectors in emoji and in scripts, marks that pages leave behind.
_HIDDEN = re.compile(rf"{_INVISIBLE.pattern}{{4,}}|[\u202d\u202e]|(?:\w{_INVISIBLE.pattern}){{6,}}")
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝкмтвнАВЕКМНОРСТУХІЈЅοαεικνρτυΑΒΕΗΙΚΜΝΟΡΤΥΧΖ",  # Cyrillic and Greek
    "aeopcyxijsdhqwkmtbhABEKMHOPCTYXIJSoaeiknptuABEHIKMNOPTYXZ",
)
_MIXED_WORD = re.compile(r"\b(?=\w*[a-zA-Z])\w*[\u0370-\u052f]\w*")


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE)


_COMMENT = re.compile(
    r"<!--([^\0]{0,4000}?)-->|^\[[^\]\n]{1,30}\]: {0,3}#? {0,3}[(<\"']([^\0]{0,4000}?)[)>\"']$", re.MULTILINE
)
_UNSEEN = _any(
    r"<(?:a|b|div|em|font|h\d|i|li|p|small|span|strong|td)\s(?![^<>]*background)[^<>]{0,200}(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0|opacity\s?:\s?0\b"
    r"|(?<!-)color\s?[:=]\s?[\"']?(?:white|#fff(?:fff)?)\b)",
)

_ROLES = _any(
    r"(?<![\"'\w])<\|?(?:im_start|im_end|system|assistant|endoftext|eot_id|start_header_id)\|?>|<</?SYS>>",
    r"</(?:system|assistant|user|instructions?|submission|answer|post|topic|thread|kernel|message|document|log)\b[^>\n]{0,40}>",
    r"</(?:tool|function|user|system|untrusted|next)_\w{1,20}>|<(?:system|instructions?|next_step|tool_\w{1,20}|invoke)\b[^>\n]{0,60}>",
    r"\[(?:end )?(?:system|developer|assistant|user|tool (?:result|output)|official(?= ?[\]:-]))\b[^\]\n]{0,60}\](?![(\[=.])",
    r"^\W{0,6}(?:(?-i:SYSTEM|DEVELOPER|ASSISTANT)|(?:system|developer) (?:message|prompt|notice|override))\W{0,3}:(?!:)\W{0,3}\w",
    r"^role\s?:\s?(?:system|assistant|developer)\b|^.{0,4}\{\s?[\"']role[\"']\s?:\s?[\"'](?:system|developer)[\"']",
    r"\b(?:end|start|begin) of (?:the )?(?:quoted|untrusted|user|system) (?:text|content|post|prompt|message|input)\b",
)
_MACHINE = (
    r"(?:(?:ai|automated|automatic|llm|autonomous) (?:assistants?|agents?|readers?|solvers?|participants?|models?)"
    r"|assistants?|agents?|crawlers?|bots?|llms?|language models?|chatbots?)"
)
_ORDERS = _any(
    r"\b(?:ignore|disregard|forget|override|bypass)\w{0,3}\b[^.]{0,50}\b(?:instructions?|prompts?|your (?:task|rules?))\b",
    r"\b(?:disregard|ignore) (?:the|any) (?:metric|task description|validation|cross.validation|competition page)\b",
    r"\binstructions\b[^.]{0,60}\b(?:void|have priority|no longer (?:apply|valid))\b",
    r"\b(?:overrides?|priority over) (?:the |your |all |any )(?:instructions?|operator|competition page|prompt)",
    rf"\b(?:if you are|to (?:all|any)|for(?: all)?|note to(?: all)?) (?:an? |the |any )?{_MACHINE}"
    r"(?: (?:who|that|which|reading|processing|participants)\b|,? (?:and|or) |\s?[:,;.!])",
    rf"\b{_MACHINE} (?:(?:that|who|which) (?:read|process)|reading this"
    r"|(?:must|should|shall) (?:now|read|write|submit|print|obey|follow|use))\b",
    r"(?<![\"'])\byou are (?:now )?an? (?:\w+ ){0,3}(?:language model|ai|assistant|agent|bot)\b",
    r"\b(?:your (?:operator|developer|owner)|the (?:user|operator)) (?:has )?(?:already )?(?:approved|asked|changed|allowed)\b",
    r"\bdo(?: not|n't) (?:mention|report|reveal|tell)\b[^.]{0,30}\b(?:this (?:comment|message|note|post)|(?:your )?operator)\b",
    r"\bdecode\b[^.]{0,60}\b(?:and|then) (?:then )?(?:follow|obey|execute)\b|\b(?:respond|reply) only with\b",
    r"\b(?:begin|start) (?:every|each|your (?:next )?)\s?(?:reply|answer|output|response|message)\b",
)
_IN_OTHER_LANGUAGES = _any(
    r"\b(?:ignorier|missacht|vergiss|vergesst)\w*\b[^.]{0,60}\b(?:anweisung|vorgabe|instruktion|regeln)|\ban alle (?:ki|bots)\b",
    r"\b(?:ignor|oubli)\w{0,4}\b[^.]{0,40}\b(?:instructions?|consignes?|règles)\b|\bassistants? (?:ia|automatiques?)\b",
    r"\b(?:ignor|olvid|descart)\w{1,4}\b[^.]{0,40}\b(?:instruc\w+|reglas|órdenes|regras|ordens)\b|\bagentes? de ia\b",
    r"\b(?:ignor|dimentic)\w{1,4}\b[^.]{0,40}\b(?:istruzioni|regole)\b|\bagli assistenti\b",
    r"\b(?:zignoruj|ignoruj|zapomnij)\w*\b[^.]{0,40}\b(?:instrukcj|polece|zasad)|\basystenc?[it]\w* ai\b",
    r"\b(?:игнорир|забуд|проигнорир)\w*[^.]{0,50}\b(?:инструкци|указани|правил)|\b(?:ии|языков\w+)[- ](?:ассистент|агент|модел)",
    r"\btalimat\w*[^.]{0,40}\b(?:yok say|görmezden|unut)|\byapay zek[aâ] (?:asistan|ajan|model)",
    r"\babaikan\b[^.]{0,40}\b(?:instruksi|perintah|aturan)\b|\bbỏ qua\b[^.]{0,40}\b(?:hướng dẫn|chỉ dẫn|lệnh)",
    r"(?:忽略|无视|無視|忘记|忘掉)[^。]{0,20}(?:指令|指示|提示|规则|要求|命令)|(?:AI|人工智能|智能)(?:助手|代理|智能体)",
    r"(?:指示|命令|プロンプト|ルール)[^。]{0,12}(?:無視|忘れ)|AI(?:アシスタント|エージェント)",
    r"(?:지시|명령|지침|프롬프트|규칙)[^.]{0,12}(?:무시|잊)|(?:AI|인공지능) ?(?:비서|에이전트|어시스턴트)",
    r"(?:निर्देश|आदेश|नियम)[^।]{0,30}(?:अनदेखा|नज़रअंदाज़|भूल|उपेक्षा)|(?:एआई|AI) (?:सहायक|एजेंट)",
    r"(?:تجاهل|انس)\S{0,4}\s[^.]{0,40}(?:تعليمات|الأوامر|القواعد)|مساعد\S{0,3} الذكاء|دستور\S{0,8}\s[^.]{0,40}نادیده",
)
_SUBMITTING = _any(
    r"\bsubmit\b[^.]{0,40}\b(?:at once|immediately|right now|without (?:any )?(?:further )?(?:checks?|validation))\b",
    r"\bsubmit now\b",
    r"(?:^|[.!:;]\s{1,3}|\bmust |\bplease )submit (?:this|my|the (?:attached|linked|sample)) (?:\w+ )?(?:file|csv|submission)\b",
    r"\bsubmit your current file\b|\b(?:use|spend|burn)\b[^.]{0,20}\ball\b[^.]{0,20}\b(?:submissions|attempts)\b",
    r"\bsubmit\b[^.]{0,40}\b(?:five|ten|\d+) (?:times|attempts)\b(?! (?:a|per|each|every) )",
    r"\bcp\s+\S{0,80}submission\S{0,40}\s+\S{0,20}submission\.csv|\bcopy(?:file|2)?\([^)\n]{0,80}submission[^)\n]{0,80}submission\.csv",
)
_SECRETS = _any(
    r"\b(?:print|post|send|reveal|paste|include|write|disclose|output|reply with)\b[^.]{0,60}(?:\bapi[ _-]?(?:keys?|tokens?)\b"
    r"|\bcredentials?\b|\bpasswords?\b|\benvironment variables\b|\bsystem prompt\b"
    r"|\byour (?:\w+ )?(?:config\w*|keys?)\b|(?<!\w)\.env\b)",
    r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?/=][^)\s]{0,60}(?:\{|<|\$|%7b|your_|secret|api_?key|token=)",
)
_ELSEWHERE = _any(
    r"(?:\.\./){1,8}(?:private|answers|secrets?|runs?|state)\b|(?<![\w/])private/answers|(?<![\w/])answers\.csv\b|\bstate\.db\b",
    r"/proc/(?:self|\d+|\*|\{|sys|kcore|[\"'\[])|/etc/(?:passwd|shadow)\b|/dev/tcp/|\bdocker\.sock\b|/lab/\.engine|\b169\.254\.169\.254\b",
    r"(?:~|/root|/home/\w{1,30}|HOME[^\n]{0,10})/?\.(?:ssh|aws|netrc|git-credentials)\b|\bid_rsa\b",
    r"\b(?:cat|open|read_text|Path)\b\W{1,12}[^\n]{0,40}(?:\.kaggle/kaggle\.json|[\"'/ ]\.env\b)",
    r"\b(?:print|dumps|dict|str|repr|sorted)\((?:[^\n()]{0,40},\s?)?(?:\w{1,10}\()?os\.environ\b(?! ?[\[.](?!items|copy))",
    r"\{os\.environ\}|^\W{0,4}(?:printenv|env)\s*(?:$|\||>)",
)
_ANSWERS = _any(
    r"[\"'](?:suggestions|ideas|drafts)[\"']\s?:\s?\[[^\0]{0,3000}[\"'](?:effectiveness|novelty|sources|codebase)[\"']\s?:",
    r"[\"'](?:effectiveness|novelty|feasibility)[\"']\s?:\s?\d+[^\0]{0,3000}[\"'](?:suggestions|ideas|drafts)[\"']\s?:",
)
_HARMFUL = _any(
    r":\(\)\s?\{\s?:\s?\|\s?:\s?&\s?\}|\bwhile (?:True|1)\s?:\s{1,40}(?:os\.)?fork\(\)|\bos\.kill(?:pg)?\(\s?-?[01]\s?,",
    r"\brm -rf? (?:--no-preserve-root )?[/~](?:\s|$|\*)|\bkill -9 -?1\b|\brmtree\(\s?[\"'][/~]",
    r"\b(?:exec|eval)\([^\n]{0,60}(?:b64decode|unhexlify|fromhex|codecs\.decode|decompress|urlopen|requests\.get)",
)
_RULES = _any(
    r"\b(?:metric|evaluation|scoring|direction)\b[^.]{0,60}\b(?:was|has been|is (?:now )?) ?(?:officially |hereby )?"
    r"(?:changed|reversed|inverted|flipped|finished|no longer)\b",
    r"\b(?:metric|evaluation)\b[^.]{0,40}\bis (?:now|no longer)\b(?! the metric)|\beffective immediately\b|\bany file gets\b",
    r"\bvalidation has been (?:disabled|switched off|forbidden)\b|\bwill be disqualified unless\b|\bfailure to comply\b",
)

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("imitates a message of a system, a tool or an assistant", _ROLES),
    ("gives orders to machines that read it", _ORDERS),
    ("gives orders to machines that read it", _IN_OTHER_LANGUAGES),
    ("asks for secrets", _SECRETS),
    ("reads, or asks to read, what lies outside the competition's data", _ELSEWHERE),
    ("orders that a file be submitted", _SUBMITTING),
    ("imitates an answer of the bot", _ANSWERS),
    ("has code that harms, or hides what it runs", _HARMFUL),
    ("claims that the metric or the rules have changed", _RULES),
)


def steering(title: str, text: str) -> str | None:
    """Return why a post or kernel looks as if it tried to steer its reader, None if it does not.

    Args:
        title: its title.
        text: its prose and code; it takes about 0.2 s for the 100,000 characters of a long kernel.

    Returns:
        Reasons in a few fixed words, without a word of the post, so that prompts and reports may show them as they are.
    """
    return "; ".join(dict.fromkeys(_reasons(f"{title}\n{text}"[:_LONGEST]))) or None


def _reasons(text: str) -> Iterator[str]:
    if _HIDDEN.search(text):
        yield "hides characters"
    visible = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    visible = _MIXED_WORD.sub(lambda word: word[0].translate(_LOOKALIKES), visible)
    found = [reason for reason, pattern in _KINDS if pattern.search(visible)]
    # Comments are usual in notebooks: it counts what they say.
    comments = "\n".join(one[1] or one[2] or "" for one in _COMMENT.finditer(visible)) if found else ""
    if _UNSEEN.search(visible) or any(pattern.search(comments) for _, pattern in _KINDS):
        yield "hides text"
    yield from found
