"""Posts that look as if they try to steer their reader: hidden text, fake roles, orders to machines, code that reads elsewhere.

It is a label for people and for the report, and no wall: whoever wants to can word an order so that nothing here finds it. What
a post can do is bounded elsewhere, by what its reader may answer and by the sandbox.
"""

import re
import unicodedata
from collections.abc import Iterator

_READ = 200_000
"""Characters of a text that are read: as much as is stored of a post."""

_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝкмтвнАВЕКМНОРСТУХІЈЅοαειкνρτυΑΒΕΗΙΚΜΝΟΡΤΥΧΖ",
    "aeopcyxijsdhqwkmtbhABEKMHOPCTYXIJSoaeiknptuABEHIKMNOPTYXZ",
)
_MIXED = re.compile(r"\b(?=\w*[a-zA-Z])\w*[\u0370-\u052f]\w*")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e01ef]"
)
# Single ones are usual: joiners and selectors in emoji and scripts, marks that pages leave at the ends of words.
_HIDDEN_RUN = re.compile(f"{_INVISIBLE.pattern}{{4,}}|[\u202d\u202e]|(?:\\w{_INVISIBLE.pattern}){{6,}}")
_COMMENTS = re.compile(
    r"<!--(.{0,4000}?)-->|^\[[^\]\n]{1,30}\]:\s{0,3}#?\s{0,3}[(<\"'](.{0,4000}?)[)>\"']$", re.DOTALL | re.MULTILINE
)
_FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.DOTALL | re.MULTILINE)
_WORDS_OF_A_COMMENT = 8


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE)


_UNSEEN = _any(
    r"<\w{1,12}\s[^<>]{0,200}(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0|opacity\s?:\s?0\b"
    r"|(?<!-)color\s?[:=]\s?[\"']?(?:white|#fff(?:fff)?)\b)",
    r"\\color\{white\}|\\phantom\{",
)
_ROLES = _any(
    r"(?<![\"'\w])<\|?(?:im_start|im_end|system|assistant|endoftext|eot_id|start_header_id)\|?>|<</?SYS>>|(?<![\"'\w>])\[/?INST\]",
    r"</(?:system|assistant|user|instructions?|submission|answer|post|topic|thread|kernel|message|document|log|quote|untrusted"
    r"|(?!(?:get|set|is|to)_)[a-z]+_(?:results?|output|steps?|calls?|prompt|text|data|instructions?))\b[^>\n]{0,40}>",
    r"<(?:system|instructions?|next_step|tool_result|function_results?|tool_call|invoke|system-reminder)\b[^>\n]{0,60}>",
    r"\[(?:end )?(?:of )?(?:system|support|developer|official|tool|assistant|user)\b[^\]\n]{0,60}\]",
    r"^\W{0,6}(?:system|developer|assistant|human|tool(?: result| output)?) ?(?:message|prompt|notice|override)?\W{0,3}:(?!:)\W{0,3}\w",
    r"^role\s?:\s?(?:system|assistant|developer)\b|^[^\"'\n]{0,4}\{\s?[\"']role[\"']\s?:\s?[\"'](?:system|developer)[\"']",
    r"\b(?:end|start|begin) of (?:the )?(?:quoted|untrusted|user|system) (?:text|content|post|prompt|message|input)\b",
)
_ANSWERS = _any(
    r"[\"'](?:suggestions|ideas|drafts|merged|retired)[\"']\s?:\s?\[[^\0]{0,3000}[\"'](?:effectiveness|novelty|feasibility|sources|codebase)[\"']\s?:",
    r"[\"'](?:effectiveness|novelty|feasibility)[\"']\s?:\s?\d+[^\0]{0,3000}[\"'](?:suggestions|ideas|drafts)[\"']\s?:",
)
_MACHINE = (
    r"(?:ai|automated|automatic|llm|autonomous|machine)[ -](?:assistants?|agents?|readers?|solvers?|participants?|systems?|models?)"
    r"|(?:assistants?|agents?|crawlers?|bots?|llms?|language models?|chatbots?)"
)
_ORDERS = _any(
    # English
    r"\b(?:ignore|disregard|forget|override|bypass)\w{0,3}\b[^.\n]{0,50}\b(?:instructions?|(?:system )?prompts?|your (?:task|rules?|operator|guidelines))\b",
    r"\b(?:disregard|ignore) (?:the|any) (?:metric|task description|validation|cross.validation|competition page)\b",
    r"\binstructions\b[^.\n]{0,60}\b(?:void|have priority|no longer (?:apply|valid))|\b(?:overrides?|priority over) (?:the |your |all |any )"
    r"(?:instructions?|operator|competition page|prompt)",
    rf"\b(?:if you are|to (?:all|any)|for(?: all)?|dear|attention,?|note to(?: all)?|message to(?: all)?) (?:an? |the |any )?(?:{_MACHINE})"
    r"(?: (?:who|that|which|reading|processing|participants)\b|,? (?:and|or) |\s?[:,;.!])",
    rf"\b(?:{_MACHINE}) (?:that|who|which|reading|must|should|shall|are (?:required|ordered|asked)) (?:now |read|process|pars|reading|this|write|submit|print|obey|follow|ignore|open|use)",
    r"(?<![\"'])\byou are (?:now )?an? (?:\w+ ){0,3}(?:language model|ai|assistant|agent|bot)\b",
    r"\b(?:your (?:operator|developer|owner|user|principal)|the (?:user|operator) has) (?:has |have )?(?:already )?(?:approved|asked|changed|allowed|authori[sz]ed|decided|wants)\b",
    r"\bdo(?: not|n't) (?:mention|report|reveal|tell)\b[^.\n]{0,30}\b(?:this comment|this (?:message|note|post)|(?:your )?operator|the user)\b",
    r"\b(?:decode|base64)\b[^.\n]{0,60}\b(?:and|then) (?:follow|obey|execute|do what)\b",
    r"\b(?:begin|start) (?:every|each|your (?:next )?)\s?(?:reply|answer|output|response|message)s?\b|\brespond only with\b|\breply only with\b",
    # German, French, Spanish, Portuguese, Italian
    r"\b(?:ignorier|missacht|vergiss|vergesst|überschreib)\w*\b[^.\n]{0,60}\b(?:anweisung|vorgabe|instruktion|regeln)\w*|\ban alle (?:ki|bots|sprachmodelle|assistenten)|\b(?:ki-assistent|sprachmodell|ki-agent)\w{0,3}\b[^.\n]{0,40}\b(?:muss|müssen|soll|sollen|sofort)\b",
    r"\b(?:ignor|oubli)\w{0,4}\b[^.\n]{0,40}\b(?:instructions?|consignes?|règles)\b|\bassistants? (?:ia|automatiques?)\b|\bmodèles? de langage\b[^.\n]{0,30}\b(?:doit|doivent|qui)\b",
    r"\b(?:ignor|olvid|descart)\w{1,4}\b[^.\n]{0,40}\b(?:instruc\w+|reglas|órdenes|instruções|regras|ordens)\b|\b(?:asistente|agente|assistente)s? (?:de ia|automátic\w+|autónom\w+|autônom\w+)\b|\bmodelos? de (?:lenguaje|linguagem)\b[^.\n]{0,30}\b(?:debe|deve|que le)\w*",
    r"\b(?:ignor|dimentic)\w{1,4}\b[^.\n]{0,40}\b(?:istruzioni|regole)\b|\bmodell[oi] linguistic[oi]\b[^.\n]{0,30}\b(?:deve|devono|che legg)\w*|\bagli assistenti\b",
    # Polish, Russian, Turkish, Indonesian, Vietnamese
    r"\b(?:zignoruj|ignoruj|zapomnij)\w*\b[^.\n]{0,40}\b(?:instrukcj|polece|zasad)\w*|\b(?:asystent|model)\w* (?:ai|językow\w+)\b[^.\n]{0,30}\b(?:musi|powin|wyśl|wypisz)\w*",
    r"\b(?:игнорир|забуд|проигнорир|отмен)\w*[^.\n]{0,50}\b(?:инструкци|указани|правил|задани)\w*|\b(?:ии|языков\w+)[- ](?:ассистент|агент|модел|бот)\w*",
    r"\btalimat\w*[^.\n]{0,40}\b(?:yok say|görmezden|unut)|\byapay zek[aâ] (?:asistan|ajan|model)\w*",
    r"\babaikan\b[^.\n]{0,40}\b(?:instruksi|perintah|aturan)\b|\bbỏ qua\b[^.\n]{0,40}\b(?:hướng dẫn|chỉ dẫn|lệnh)",
    # Chinese, Japanese, Korean, Hindi, Arabic, Persian
    r"(?:忽略|无视|無視|忘记|忘掉|不要理会)[^。\n]{0,20}(?:指令|指示|提示|规则|說明|说明|要求|命令)|(?:AI|人工智能|智能)(?:助手|代理|智能体)|(?:语言模型|大模型|机器人)[^。\n]{0,10}(?:必须|请|应当)",
    r"(?:指示|命令|プロンプト|ルール)[^。\n]{0,12}(?:無視|忘れ|取り消)|AI(?:アシスタント|エージェント)|言語モデル(?:は|へ|に)[^。\n]{0,20}(?:ください|せよ|しろ|こと)",
    r"(?:지시|명령|지침|프롬프트|규칙)\S{0,3}\s?[^.\n]{0,12}(?:무시|잊)|(?:AI|인공지능) ?(?:비서|에이전트|어시스턴트)",
    r"(?:निर्देश|आदेश|नियम)\S{0,4}[^।\n]{0,30}(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल|उपेक्षा)|(?:एआई|AI) (?:सहायक|एजेंट)",
    r"(?:تجاهل|انس)\S{0,4}\s[^.\n]{0,40}(?:تعليمات|التعليمات|الأوامر|القواعد)|(?:مساعد|وكيل|نموذج)\S{0,3} (?:الذكاء|اللغة|ذكاء)|دستور\S{0,8}\s[^.\n]{0,40}نادیده|دستیار هوش",
)
_SUBMITTING = _any(
    r"\bsubmit\b[^.\n]{0,40}\b(?:at once|immediately|right now|without (?:any )?(?:further )?(?:checks?|validation|checking|asking))\b|\bsubmit now\b",
    r"(?:^|[.!:;]\s{1,3}|\bmust |\bplease |\bnow |\bjust |\bonly )submit (?:this|the attached|my|the (?:linked|following|sample)) (?:\w+ ){0,2}(?:file|csv|submission)\b|\bsubmit your current file\b",
    r"\b(?:use|spend|burn)\b[^.\n]{0,20}\ball\b[^.\n]{0,20}\b(?:submissions|attempts)\b|\bsubmit\b[^.\n]{0,40}\b(?:five|ten|\d+) (?:times|attempts)\b(?! (?:a|per|each|every) )",
    r"\bcp\s+\S{0,80}submission\S{0,40}\s+\S{0,20}submission\.csv|\b(?:copy|copyfile|move|rename)\(\s?[^)\n]{0,80}submission[^)\n]{0,80}submission\.csv",
    r"\b(?:reiche?n?|reicht|lade)\b[^.\n]{0,40}\bsofort\b|\b(?:soumet|envoy)\w+\b[^.\n]{0,40}\bimmédiatement\b|\b(?:envía|enviar|envie|entrega)\w*\b[^.\n]{0,40}\b(?:inmediatamente|imediatamente|de inmediato|agora mesmo)\b"
    r"|\binvi\w+\b[^.\n]{0,40}\b(?:subito|immediatamente)\b|\b(?:отправ|загруз)\w*[^.\n]{0,40}\b(?:немедленно|сразу)\b|\bwyślij\b[^.\n]{0,40}\bnatychmiast\b|(?:立即|马上|立刻)(?:提交|上传)|(?:直ちに|すぐに)[^。\n]{0,20}提出|즉시[^.\n]{0,20}제출|\bhemen\b[^.\n]{0,30}\bgönder|तुरंत[^।\n]{0,30}(?:जमा|सबमिट)",
)
_SECRETS = _any(
    r"\b(?:print|post|send|reveal|show|paste|include|write|put|disclose|repeat|output|reply with|verify)\b[^.\n]{0,80}"
    r"(?:\bapi[ _-]?(?:keys?|tokens?)|\bcredentials?\b|\bpasswords?\b|\b(?:access|auth|secret|bearer) tokens?|\benvironment variables\b|\bsystem prompt\b"
    r"|\byour (?:\w+ )?(?:configuration|config|keys?)\b|(?<!\w)\.env\b)",
    r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?/=](?:[^)\s]{0,60})(?:\{|<|\$|%7b|\[|your_|secret|key=|token=|data=)",
    r"(?:schlüssel|passw[oö]rt|clés? (?:d'|de l')?api|claves? (?:de )?(?:la )?api|contraseña|chaves? (?:de )?(?:da )?api|senha|chiav[ei] api|klucz\w* api|ключ\w* api|api[- ]ключ|пароль|api ?密钥|密码|环境变量|環境変数|パスワード|apiキー|api ?키|환경 ?변수|비밀번호|api anahtar|şifre|एपीआई कुंजी|मفاتيح|مفتاح|كلمة (?:المرور|السر)|متغيرات البيئة|umgebungsvariablen|variables d'environnement|variables de entorno|variáveis de ambiente|variabili d'ambiente|переменн\w+ окружения|zmienne środowiskowe)",
)
_ELSEWHERE = _any(
    r"(?:\.\./){1,8}(?:private|answers|secrets?|runs?|state)\b|\bprivate/answers|(?<![\w/])(?:hidden_)?answers\.csv\b",
    r"/proc/(?:self|\d+|\*|\{|sys|kcore|\"|'|\[)|/proc[\"'/]{1,2}\s?(?:\)|\+|,)|/etc/(?:passwd|shadow)|/dev/tcp/|/(?:var/)?run/docker\.sock|/lab/\.engine|\bengine\.sock\b",
    r"(?:~|/root|/home/\w{1,30}|HOME[^\n]{0,10})/?\.(?:ssh|aws|netrc|git-credentials|config)\b|\bid_rsa\b|\b169\.254\.169\.254\b|metadata\.google\.internal",
    r"\b(?:cat|open|read_text|read_bytes|Path|load)\b\W{1,12}[^\n]{0,40}(?:\.kaggle/kaggle\.json|[\"'/ ]\.env\b)",
    r"\b(?:print|dumps|dict|str|list|repr|sorted|post|write|b64encode|encode)\(\s?(?:f?[\"'][^\"'\n]{0,20}[\"']\s?,\s?)?(?:json\.dumps\()?(?:dict\()?os\.environ\b(?!\s?[\[.](?!items|copy))|\{os\.environ\}|^\W{0,4}(?:printenv|env)\s*(?:$|\||>)|\bgetenv\([\"'][^\"'\n]{0,30}(?:KEY|TOKEN|SECRET|PASSWORD)|environ(?:\.get\(|\[)[\"'][^\"'\n]{0,30}(?:API_KEY|TOKEN|SECRET|PASSWORD)[\"'](?:\)|\])(?!\s?=[^=])",
)
_HARMFUL = _any(
    r":\(\)\s?\{\s?:\s?\|\s?:\s?&\s?\}|\bwhile (?:True|1)\s?:\s{1,40}(?:os\.)?fork\(\)|\bos\.fork\(\)[^\n]{0,40}while\b|\brm -rf? (?:--no-preserve-root )?[/~](?:\s|$|\*|[\"'])|\bos\.kill(?:pg)?\(\s?-?[01]\s?,|\bkill -9 -?1\b|\brmtree\(\s?[\"'](?:/|~)",
    r"\b(?:exec|eval)\(\s?(?:compile\()?[^\n]{0,60}(?:b64decode|unhexlify|fromhex|codecs\.decode|decompress|urlopen|requests\.get)|\bbash -i\b[^\n]{0,20}/dev|\b(?:curl|wget)\b[^\n|]{0,120}\|\s?(?:ba)?sh\b",
)
_RULES = _any(
    r"\b(?:metric|evaluation|scoring|direction)\b[^.\n]{0,60}\b(?:is|was|has been|will be) (?:now |officially |hereby )?(?:changed|reversed|inverted|flipped|disabled|finished|replaced|maximi[sz]ed|minimi[sz]ed|no longer|accuracy)\b",
    r"\b(?:metric|score|evaluation)\b[^.\n]{0,40}\bis (?:now|no longer)\b|\beffective immediately\b|\bvalidation (?:has been|is) (?:disabled|switched off|forbidden)|\bwill be disqualified unless\b",
    r"\bfailure to comply\b|\bany file gets\b",
)

_KINDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_ROLES, "imitates a message of a system, a tool or an assistant"),
    (_ORDERS, "gives orders to machines that read it"),
    (_SECRETS, "asks for secrets"),
    (_ELSEWHERE, "reads, or asks to read, what lies outside the competition's data"),
    (_SUBMITTING, "orders that a file be submitted"),
    (_ANSWERS, "imitates an answer of the bot"),
    (_HARMFUL, "has code that harms, or hides what it runs"),
    (_RULES, "claims that the metric or the rules have changed"),
)


def steering(title: str, text: str) -> str | None:
    """Return why a post or kernel looks as if it tried to steer its reader, None if it does not.

    Args:
        title: its title.
        text: what it says, prose and code; at most 200,000 characters are read.

    Returns:
        Reasons in a few fixed words, without a word of the post, so that they can stand in prompts and reports as they are.
    """
    whole = f"{title}\n{text}"[:_READ]
    found = list(dict.fromkeys(_reasons(whole)))
    return "; ".join(found) or None


def _reasons(text: str) -> Iterator[str]:
    if _HIDDEN_RUN.search(text):
        yield "hides characters"
    visible = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    visible = _MIXED.sub(lambda word: word[0].translate(_LOOKALIKES), visible)
    prose = _FENCED.sub("", visible)
    comments = (one[1] or one[2] or "" for one in _COMMENTS.finditer(prose))
    if any(len(comment.split()) >= _WORDS_OF_A_COMMENT for comment in comments) or _UNSEEN.search(prose):
        yield "hides text"
    for pattern, reason in _KINDS:
        if pattern.search(visible):
            yield reason
