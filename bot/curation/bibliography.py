"""A folder of papers with a BibTeX file: what each paper is called, since when it is known, and its text."""

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from state.errors import FileProblems, Problem, UsageError

_TEXTS = (".pdf", ".txt", ".md")
_HEAD, _TAIL = 24_000, 6_000
"""Characters of a paper that are kept: what it does stands at its beginning, what came of it at its end."""
_MOST_PAGES = 60
_ARXIV = re.compile(r"(?:arxiv\.org/(?:abs|pdf)/|arXiv:|^)(\d{4}\.\d{4,5})", re.IGNORECASE)
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}


@dataclass(frozen=True)
class Paper:
    """A paper of the folder."""

    key: str
    title: str
    known_at: datetime
    """The last second of the day, month or year that the bibliography names."""
    url: str | None
    file: Path | None
    licence: str
    text: str
    """Its beginning and end, or its abstract."""


def read_papers(folder: Path) -> list[Paper]:
    """Return the papers of a folder's BibTeX files, in order of their keys.

    An entry's text is the file that its field `file` names, else `<key>.pdf`, `.txt` or `.md`, else its abstract. Its date is
    that of `date`, or of `year` and `month`.

    Raises:
        UsageError: there is no BibTeX file.
        FileProblems: an entry has no title, no date, or no text; or a file cannot be read.
    """
    files = sorted(folder.glob("*.bib"))
    if not files:
        raise UsageError(f"{folder} has no BibTeX file, which ends in .bib and says what the papers are")
    papers: dict[str, Paper] = {}
    problems: list[Problem] = []
    for file in files:
        for key, line, fields in _entries(file, problems):
            try:
                papers[key] = _paper(folder, key, fields)
            except ValueError as error:
                problems.append(Problem(str(file), line, f"{key} {error}"))
    if problems:
        raise FileProblems(problems)
    return [papers[key] for key in sorted(papers)]


def _entries(file: Path, problems: list[Problem]) -> Iterator[tuple[str, int | None, Mapping[str, str]]]:
    """Yield each entry's key, line and fields; what cannot be parsed becomes a problem."""
    # Imported here: only building needs it.
    from bibtexparser import middlewares
    from bibtexparser.entrypoint import parse_string

    decoded = [middlewares.NormalizeFieldKeys(), middlewares.LatexDecodingMiddleware()]
    library = parse_string(file.read_text(encoding="utf-8", errors="replace"), append_middleware=decoded)
    for block in library.failed_blocks:
        line = None if block.start_line is None else block.start_line + 1
        problems.append(Problem(str(file), line, f"is no BibTeX here: {block.error}"))
    for entry in library.entries:
        line = None if entry.start_line is None else entry.start_line + 1
        yield entry.key, line, {field.key: " ".join(str(field.value).split()) for field in entry.fields}


def _paper(folder: Path, key: str, fields: Mapping[str, str]) -> Paper:
    title = re.sub(r"[{}]", "", fields.get("title", ""))
    if not title:
        raise ValueError("has no title")
    file = _file(folder, key, fields)
    text = fields.get("abstract", "") if file is None else _text(file)
    if len(text) < 100:
        raise ValueError("has no text: put its PDF or text beside the BibTeX file, or give it an abstract")
    licence = next((fields[name] for name in ("licence", "license", "copyright") if fields.get(name)), "not stated")
    return Paper(key, title, _known_at(fields), _url(fields), file, licence, text)


def _file(folder: Path, key: str, fields: Mapping[str, str]) -> Path | None:
    # Reference managers write `:folder/name.pdf:PDF`, or several files.
    named = [part for part in re.split(r"[:;]", fields.get("file", "")) if Path(part).suffix.lower() in _TEXTS]
    names = [*(Path(part).name for part in named), *(f"{key}{suffix}" for suffix in _TEXTS)]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _text(file: Path) -> str:
    of_pdf = file.suffix.lower() == ".pdf"
    text = _text_of_pdf(file) if of_pdf else file.read_text(encoding="utf-8", errors="replace")
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n[…]\n{text[-_TAIL:]}"


def _text_of_pdf(file: Path) -> str:
    # Imported here: only building needs it.
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        pages = PdfReader(file).pages
        return "\n".join(page.extract_text() for page in pages[:_MOST_PAGES])
    except (PyPdfError, OSError) as error:
        raise ValueError(f"has a PDF that cannot be read, {file.name}: {error}") from error


def _known_at(fields: Mapping[str, str]) -> datetime:
    """Return the last second of what the date names: on the safe side, where it is only a month or a year."""
    date = re.match(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", fields.get("date") or fields.get("year") or "")
    if date is None:
        raise ValueError("has no date, and no year")
    year, month, day = int(date[1]), date[2], date[3]
    month = month or _MONTHS.get(fields.get("month", "").lower()[:3]) or fields.get("month") or 12
    try:
        last = calendar.monthrange(year, int(month))[1]
        return datetime(year, int(month), int(day or last), 23, 59, 59, tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"has a date that is none: {error}") from error


def _url(fields: Mapping[str, str]) -> str | None:
    if fields.get("url", "").startswith(("http://", "https://")):
        return fields["url"]
    if (found := _ARXIV.search(fields.get("eprint", ""))) is not None:
        return f"https://arxiv.org/abs/{found[1]}"
    doi = fields.get("doi", "")
    return f"https://doi.org/{doi}" if re.match(r"10\.\d{4,9}/\S+$", doi) else None
