"""The turns of phrase by which a text says how submissions are scored, and those by which it speaks of something else.

All are looked for in comparable text (see `wording`). In lists of words a `_` stands for a blank.
"""

import re


def _any(words: str) -> str:
    return "(?:" + "|".join(word.replace("_", " ") for word in words.split()) + ")"


_SUBJECT = _any(
    r"""submissions? submitted_(?:\w+_)?(?:files?|predictions?|results?) entries predictions? forecasts? solutions? results?
    participants? competitors? contestants? teams? models? performance algorithms? outputs? you your(?:_\w+){1,3}
    (?:final_)?rankings? standings winners? scores? (?:the|this|our)_(?:competition|challenge|contest)
    (?:the|this|our)_(?:public_|private_)?leaderboard"""
)
_VERB = _any(
    """evaluated scored judged graded ranked assessed measured marked rated compared based determined decided computed
    calculated chosen"""
)
_ADVERB = _any(
    """now then also all automatically always currently ultimately finally therefore thus to_be going_to_be being primarily
    mainly solely both instead simply each"""
)
_BY = _any("on by as using with via through in_terms_of against for upon based_on according_to under")
_IS = _any("is are will_be shall_be")
_BECOMES = _any(r"is are will_be is_now was_changed_to has_been_changed_to changes_to becomes equals")
_MANNER = r"(?: (?:based|calculated|computed|measured|determined|given|defined) (?:as|by|using|with|from|via|on))?"
_CONTEST = _any("competition challenge contest leaderboard task")
_KIND = _any("evaluation official competitions? scoring performance leaderboard judging ranking success error")
_WE = _any(r"this_(?:competition|challenge|contest) kaggle the_(?:competition|leaderboard|organi[sz]ers?|hosts?) we")
_USE = _any(
    "uses? scores? evaluates? measures? ranks? judges? employs? adopts? have_chosen has_chosen have_switched_to moved_to"
)

CUES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_SUBJECT}(?: \w+){{0,8}}? (?:is|are|be|being|gets?) (?:{_ADVERB} ){{0,2}}?{_VERB}(?: \w+){{0,3}}? {_BY}\b",
        rf"^{_VERB} {_BY}\b",
        rf"\b{_KIND} (?:metric|measure|criterion)(?: \w+){{0,6}}? {_BECOMES}\b{_MANNER}",
        rf"\bmetric (?:used |chosen |here )?(?:for|in|of|by) (?:this|the|our) {_CONTEST}(?: \w+){{0,3}}? {_BECOMES}\b{_MANNER}",
        rf"\bthe metric(?: used)? {_BECOMES}\b{_MANNER}",
        r"^(?:(?:official |main )?(?:evaluation |scoring |competition )?metric(?: used)?|evaluation|scoring)"
        rf"(?: ?[:=]| {_IS}){_MANNER}",
        r"\b(?:final|leaderboard|public|private|overall|total|competition|official) scores?"
        rf"(?: \w+){{0,4}}? {_BECOMES}\b{_MANNER}",
        rf"^your (?:\w+ )?score {_IS}\b{_MANNER}",
        r"^(?:the )?(?:\w+ )?score ?[=:]",
        rf"\b{_WE} (?:will )?{_USE}\b",
    )
)
"""Each is looked for before a metric's name, and what stands between may not change the metric."""

USED_FOR = re.compile(
    r"^(?: scores?| metric)?,? ?(?:\([^)]*\) )?(?:is|will be|has been|serves) (?:chosen |used |selected |taken )?"
    r"(?:as |to |for )?(?:the |our |an? )?(?:official |main |sole |primary |only )?"
    r"(?:evaluat|(?:\w+ )?metric\b|scor|rank|leaderboard|judg)"
)
"""After a metric's name at the beginning of a sentence: `RMSE is used to evaluate submissions`."""

NEUTRAL = re.compile(
    r"(?:[\s(),.:=\u00a4]|\b"
    + _any(
        """the a an its their your our this these following standard usual common commonly popular well known familiar simple
        single metrics? measures? scores? evaluation scoring function criterion called named namely ie as by using uses? with on
        upon based is are be will defined computed calculated basis_of values?_of terms_of form_of values? performance obtained
        achieved overall final public private leaderboard official hidden test_set test_data unseen_data test submissions?
        entries predictions? used evaluate rank score judge measure for in this_competition multi_?class binary to according
        sklearn"""
    )
    + r"\b)*"
)
"""What may stand between a cue and a metric's name without making another metric of it."""

FOLLOWS = re.compile(
    r"^[\s)]*(?:\(|$|[.,:;!]|\b"
    + _any(
        r"""between of for on in over across from against computed calculated measured defined which that scores? metrics?
        measures? losse?s? values? as is are was has to calculation function criterion lower higher smaller larger"""
    )
    + r"\b)"
)
"""What may come right after a metric's name."""

CHANGES = re.compile(
    r"\b"
    + _any(
        r"""logs? logarithms? logarithmic ln log1p log10 log2 weight(?:s|ed|ing)? scaled? scaling normali[sz]\w* standardi[sz]\w*
        transform\w* clip\w* capped truncat\w* multipl\w* times divid\w* ratio minus subtract\w* plus add(?:s|ed|ing)? penal\w*
        bonus\w* combin\w* harmonic geometric exponent\w* squared? power macro micro balanced threshold\w* quantiles? percentiles?
        percent percentage costs? stability decay\w* discount\w* within partial restrict\w* only subset binned bins rank
        cumulative group(?:s|ed)? per each every averaged? averaging mean median sum(?:med|s)? totals? changes?
        aggregat\w* cumul\w* max(?:imum)? min(?:imum)? worst best
        fairness speed run_?time latency size variant modified adapted custom special adjusted inverse negative negated one_minus
        complement smoothed mask\w* sampled? bootstrap\w* folds? top first last later hierarch\w* levels? horizons? days? weeks?
        months? regions? series round(?:ed|ing)? sqrt half combined together blend\w* both and_then followed_by difference gap
        square_root relative improve\w* improvement skill z_?scores? reduction versus vs index gain baseline reference
        differenc\w* rank(?:s|ed|ing)
        below above fpr tpr deviat\w* angular angles? cyclic circular modulo geodesic euclidean distances? deprecated obsolete
        outdated tentative provisional tb[acd] confirmed announced likely probably maybe perhaps"""
    )
    + r"\b|[+\u00d7@]|\d ?[*%]|[*] ?\d|^\W*(?:and|&|as well as|along with|with|times|at|per|by|where|when|unless|except)\b"
)
"""Words after a metric's name that may make another metric of it."""

CLEAN = re.compile(
    _any(
        r"""the a an of for on in over across from against between and to by as is are be it its that this these your our you
        predicted actual true observed real target targets value values prediction predictions probability probabilities
        label labels labelled class classes ground truth test set data rows ids response responses outcome outcomes variable
        variables answer answers submitted submission submissions score scores metric lower smaller higher larger better
        computed calculated measured defined used using given corresponding number codespan case according fraction
        evaluate entries leaderboard hidden unseen known ie public private they which column columns positive not unlike
        instead rather than"""
    )
)
"""Words that leave a metric as it is wherever they follow its name."""

BETWEEN = re.compile(
    r"\bbetween (?=.*\b(?:predict\w*|forecast\w*|estimate\w*|submi\w+|answers?)\b)"
    r"(?=.*\b(?:actual|true|truth|observed|real|target|labels?|correct|outcomes?|measured)\b).*"
)
"""A metric's usual complement, whatever it is that is predicted."""

HARMLESS = re.compile(
    r"\b(?:averaged? |computed |calculated |taken )?(?:over|across) (?:all )?(?:of )?(?:the )?(?:\w+ ){0,2}?"
    r"(?:rows|observations|samples|examples|instances|images|predictions|test set|ids)\b"
    r"|\b(?:over|across|for|of) (?:all |both |the |\d+ |two |three )*(?:columns|targets|target variables|outputs)\b"
    r"|\bfor (?:each|every) (?:row|id|observation|sample|image|test \w+|instance|passenger|example)\b|\bby kaggle\b"
    r"|\b(?:a |the )?(?:lower|higher|smaller|larger)(?: score| value| values| scores)? (?:is|are|being) better\b"
    r"|\bto (?:rank|score|evaluate|judge|assess|compare) (?:all |the |your )?(?:submissions?|entries|teams|participants)\b"
)
"""Words after a metric's name that leave it as it is, although they hold some that might not."""

GOVERNED = re.compile(
    r"\b"
    + _any(
        r"""not no nor neither never without instead_of rather_than unlike opposed_to in_place_of replac\w* consider\w* discuss\w*
        thought longer
        prefer\w*_.{0,30}_over cho(?:se|osen?)_.{0,30}_over
        compared than against abandon\w* reject\w* drop\w* discard\w* tried previous\w* former\w* original\w*
        similar akin such_as like eg related inspired correlat\w* differ\w* except besides beyond
        (?:switched|changed|moved)_from away_from optimi[sz]\w* train\w* monitor\w* report\w*"""
    )
    + r"\b"
)
"""Within a few words before a name: it is named, but not as what scores."""

REJECTED = re.compile(
    r"^(?: \w+){0,3}? (?:(?:was|were) (?:considered|rejected|used|too|not|previously|originally|dropped|our|the)"
    r"|(?:is|are|will|has|have|does|do|did|can|should)(?: be| been)? (?:not|never|no longer)\b)"
)
"""After a name: the same."""

NEGATED = re.compile(
    rf"\b(?:not|never|no longer|no more|hardly|rarely|seldom|nowhere)(?: \w+){{0,2}}? (?:{_VERB}|used?|the (?:\w+ )?metric)\b"
    rf"|\b(?:no|none of the|neither) (?:\w+ )?{_SUBJECT}\b"
)

_OTHERS = _any(
    r"""previous prior earlier past last former original first second initial another other different sister companion similar
    related sibling older \d{4}"""
)
BEFORE = re.compile(
    r"\bused to\b(?! (?:evaluate|score|rank|judge|measure))|\b(?:metric|score|measure) (?:was|had been)\b"
    rf"|\b(?:was|were|had been|has been|have been) (?:\w+ )?{_VERB}|\b"
    + _any(
        """last_(?:year|month|season|edition|time) previously formerly originally in_the_past until initially at_first
        no_longer"""
    )
    + r"\b"
)
"""Of another time: what such a sentence names scored once, and perhaps does no more."""

ELSEWHERE = re.compile(
    rf"\b(?:in|for|of|from|by|at|unlike|like|as|as in|as with|similar to) (?:the |our |a |an |its |their )?{_OTHERS}\b"
    r"(?! (?:rounds?|stages?|phases?|parts?|halves|half|words)\b)|\?$|\bthere\W*$|\b"
    + _any(
        r"""in_the_(?:literature|paper) tie_?break\w* ties secondary additional(?:ly)? extra efficiency informational
        unofficial\w*         internal(?:ly)? local(?:ly)? offline for_(?:your_)?(?:reference|information|comparison) for_example
        if would could might
        suppose imagine hypothetical\w* baselines? benchmarks?"""
    )
    + r"\b"
)
"""Of another place or purpose, or of none: what such a sentence names is not what scores here."""

OTHER_CONTEST = re.compile(
    r"\b(?:in|for|of|as in|at) (?:the |a |an )?((?:\w+ ){1,6}?)(?:competition|challenge|contest|edition|hackathon)\b"
)

COLUMNWISE = (
    re.compile(
        r"(?:mean |average |averaged )?(?:of (?:the )?)?columns? ?wise(?: mean| average| averaged)?(?: of(?: the)?)?"
    ),
    re.compile(
        r"(?<!geometric )(?<!harmonic )(?<!weighted )(?<!quadratic )"
        r"\b(?:mean|averaged?|averaging)\b[^.;]{0,60}?\b(?:over|across|of|for)"
        r"(?: (?:all|each|every|the|both|of|\d+|two|three|four|five|six|ten|individual|predicted|target|prediction|output))*"
        r" (?:columns?|targets?(?: variables?)?|outputs?|labels|classes)\b"
    ),
    re.compile(
        r"\b(?:for|on|over) (?:each|every) (?:one )?(?:of )?(?:the )?(?:\w+ ){0,3}?"
        r"(?:columns?|targets?|labels?|outputs?|classes)\b"
        r"[^.;]{0,40}\baverag\w+"
    ),
)
"""Each column is scored by itself, and the scores averaged."""

GENERIC = re.compile(
    r"^\W*"
    + _any(
        "the_ a_ an_ its_ their_ your_ how_ all_ this_ our_ some_ that_ these_ those_ other_ only_ approximately_ about_ roughly_"
    )
    + r"*"
    + _any(
        r"""test hold_?out held_out hidden unseen private public leaderboard data dataset \d+ portion subset basis criteria
        judges? following below above formula metrics? whether comparing scale quality ability well accurately best
        computed calculated         evaluation predictions? performance codespan remaining rest same"""
    )
    + r"\b|^\W*$"
)
"""What submissions may be said to be evaluated on that is no measure, or a measure that is named elsewhere."""

MULTICLASS = re.compile(
    r"\bmulti ?class\b|\bone true \w+|\b(?:exactly|only) one (?:\w+ )?(?:class|label|category|species|author|status)"
    r"|\bbelongs? to (?:exactly |only )?one\b|\bmutually exclusive\b"
)
