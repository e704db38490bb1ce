"""HTML of messages as markdown: what is kept, what goes."""

import pytest

from scrapers.posts.html import markdown_of


def test_headings_emphasis_and_paragraphs_are_markdown() -> None:
    html = "<h2>What  worked</h2><p>Use <b>target</b> <i>encoding</i>,<br>then blend.</p><p>snake_case * 2</p>"
    assert markdown_of(html) == "## What worked\n\nUse **target** *encoding*,\nthen blend.\n\nsnake_case * 2"


@pytest.mark.parametrize(
    "html",
    [
        '<pre><code class="language-python">if a &lt; b:\n\n\n    f(a, "b")\n</code></pre>',
        '<pre class="lang-python">if a &lt; b:\n\n\n    f(a, "b")</pre>',
        '<div class="highlight highlight-source-python"><pre>if a &lt; b:\n\n\n    f(a, "b")</pre></div>',
        '<pre><code class="hljs python">if a &lt; b:\n\n\n    <span class="x">f</span>(a, "b")</code></pre>',
    ],
)
def test_code_keeps_its_language_its_blanks_and_its_signs(html: str) -> None:
    assert markdown_of(html) == '```python\nif a < b:\n\n\n    f(a, "b")\n```'


def test_code_with_fences_does_not_close_its_own() -> None:
    assert markdown_of("<pre>a\n```\nb</pre>") == "````\na\n```\nb\n````"


def test_code_without_a_language_after_code_with_one_has_none() -> None:
    html = '<pre><code class="language-r">x</code></pre><pre>y</pre>'
    assert markdown_of(html) == "```r\nx\n```\n\n```\ny\n```"


def test_a_table_has_a_head_and_cells_that_do_not_break_it() -> None:
    html = (
        "<table><thead><tr><th>model<th>score</tr></thead>"
        "<tbody><tr><td>a|b</td><td>0.5<br>(cv)</td></tr><tr><td colspan=2>both</td></tr></tbody></table>"
    )
    assert markdown_of(html) == "| model | score |\n| --- | --- |\n| a\\|b | 0.5 (cv) |\n| both | |"


def test_lists_nest_and_count_from_where_they_start() -> None:
    html = "<ul><li>a<li>b<ol start=3><li>x</li><li>y</ol></ul>"
    assert markdown_of(html) == "- a\n- b\n  3. x\n  4. y"


def test_links_keep_text_and_address_and_lose_what_tracks() -> None:
    html = '<a href="https://a.b/c(d)?id=1&amp;utm_source=mail&amp;gclid=2">see</a> <a href="/code/x">here</a>'
    assert markdown_of(html) == "[see](https://a.b/c%28d%29?id=1) [here](/code/x)"
    assert markdown_of('<a href="https://a.b/">https://a.b/</a>') == "<https://a.b/>"


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", " java\nscript:x", "data:text/html,x", "http://[", "vbscript:x"]
)
def test_an_address_that_is_no_page_is_left_out(address: str) -> None:
    assert markdown_of(f'<a href="{address}">text</a>') == "text"


@pytest.mark.parametrize(
    "html",
    [
        '<span class="katex"><math><semantics><mi>x</mi><annotation encoding="application/x-tex">a_1 &lt; b^*</annotation>'
        '</semantics></math><span class="katex-html" aria-hidden="true"><span>a1</span><b>b</b></span></span>',
        '<span class="MathJax_Preview">a</span><b class="MathJax">a1</b><script type="math/tex">a_1 < b^*</script>',
        "<p>$a_1 &lt; b^*$</p>",
    ],
)
def test_formulas_stay_as_they_were_written(html: str) -> None:
    assert markdown_of(html) == "$a_1 < b^*$"


def test_a_formula_on_lines_of_its_own_says_so() -> None:
    assert markdown_of('<script type="math/tex; mode=display">x^2</script>') == "$$x^2$$"
    assert markdown_of('<math display="block"><annotation>x^2</annotation></math>') == "$$x^2$$"


def test_images_become_words_and_what_only_counts_readers_goes() -> None:
    html = '<p>before <img src="a.png" alt="a [loss] plot"> <img src=b> <img src="https://t.co/p" width="1" height="1">after</p>'
    assert markdown_of(html) == "before [image: a (loss) plot] [image] after"


def test_scripts_styles_comments_forms_and_what_is_hidden_go_with_all_in_them() -> None:
    html = (
        "a<script>x<b>1</b></script><style>p{}</style><!-- c <b>d</b> --><noscript>e</noscript><svg><text>f</text></svg>"
        '<div hidden>g<div>h</div></div><p style="color:red; display : none">i</p><select><option>j</select>'
        '<span aria-hidden="true">k</span>z<script>never closed <b>y</b>'
    )
    assert markdown_of(html) == "az"


def test_a_frame_leaves_its_address() -> None:
    assert markdown_of('<iframe src="https://youtu.be/x">no frames</iframe>') == "[frame: https://youtu.be/x]"


def test_quotes_are_quotes() -> None:
    assert (
        markdown_of("<blockquote><p>they said</p><p>so</p></blockquote><p>I say</p>") == "> they said\n>\n> so\n\nI say"
    )


def test_tags_that_were_left_open_are_closed_where_a_browser_closes_them() -> None:
    assert markdown_of("<p>a<p>b<h1>c<p>d") == "a\n\nb\n\n# c\n\nd"
    assert markdown_of("<ul><li>a</p></ul></div></li>b") == "- a\n\nb"


def test_text_is_not_markup_only_because_it_has_angle_brackets() -> None:
    assert markdown_of("if a < b and c > d or x<-1: <unknown>kept</unknown>") == "if a < b and c > d or x<-1: kept"


def test_references_are_resolved_once_and_impossible_ones_break_nothing() -> None:
    html = f"&lt;b&gt; &amp;lt; &eacute; &#8238;&#0;&#{'9' * 5000}; &#x{'f' * 99};"
    assert markdown_of(html) == "<b> &lt; é \ufffd\ufffd \ufffd"


def test_plain_text_stays() -> None:
    for text in ("", "just text", "https://a.b/c", "C:/data/train.csv"):
        assert markdown_of(text) == text
