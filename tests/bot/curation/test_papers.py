"""Papers: a BibTeX file, and texts or PDFs beside it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.curation.bibliography import read_papers
from state.errors import FileProblems, UsageError

ABSTRACT = (
    "We propose an ordered encoding of categories, which sees no target of its own row. Experiments on twenty tables show "
    "that it removes the shift of predictions that plain target statistics cause."
)
TEXT = f"abstract={{{ABSTRACT}}}}}"
BIB = """
@article{dorog2017, title = {{CatBoost}: unbiased boosting}, year = 2017, month = jun, eprint = {1706.09516},
  archivePrefix = {arXiv}, abstract = {%s}, licence = {CC-BY-4.0}}
@inproceedings{caf2021, title = {Caf{\\'e} tables}, date = {2021-02-14}, doi = {10.1145/123.456}, file = {:texts/caf.txt:TXT}}
@misc{pdf2019, title = {A paper as a PDF}, year = {2019}, url = {https://example.org/paper}}
"""


def write_pdf(path: Path, *pages: str) -> None:
    """Write the smallest PDF with a text on each page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for n, text in enumerate(pages):
        place = f"/Parent 2 0 R /MediaBox [0 0 900 200] /Resources {font} /Contents {4 + 2 * n} 0 R"
        objects.append(f"<< /Type /Page {place} >>".encode())
        stream = f"BT /F1 8 Tf 10 100 Td ({text}) Tj ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    data += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    path.write_bytes(data)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "papers.bib").write_text(BIB % ABSTRACT, encoding="utf-8")
    (tmp_path / "caf.txt").write_text("The whole text of the paper on tables. " * 2000)
    write_pdf(
        tmp_path / "pdf2019.pdf", "A text on the first page that is long enough to be read as one. " * 2, "The end."
    )
    return tmp_path


def test_each_paper_has_its_text_address_and_date(folder):
    caf, catboost, pdf = read_papers(folder)
    assert (catboost.title, catboost.text, catboost.licence) == ("CatBoost: unbiased boosting", ABSTRACT, "CC-BY-4.0")
    assert catboost.url == "https://arxiv.org/abs/1706.09516"
    assert (caf.title, caf.url) == ("Café tables", "https://doi.org/10.1145/123.456")
    assert 100 < len(caf.text) < 31_000
    assert "first page" in pdf.text
    assert "The end." in pdf.text
    assert (pdf.url, pdf.licence) == ("https://example.org/paper", "not stated")


def test_a_month_or_a_year_counts_from_its_end(folder):
    caf, catboost, pdf = (paper.known_at for paper in read_papers(folder))
    assert catboost == datetime(2017, 6, 30, 23, 59, 59, tzinfo=UTC)
    assert caf == datetime(2021, 2, 14, 23, 59, 59, tzinfo=UTC)
    assert pdf == datetime(2019, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("@misc{a, title={A}, year={2019}}", "a has no text"),
        ("@misc{a, title={A}, " + TEXT, "a has no date"),
        ("@misc{a, year={2019}, " + TEXT, "a has no title"),
        ("@misc{a, title={A}, date={2019-13-01}, " + TEXT, "a has a date that is none"),
        ("@misc{a, title={A", "is no BibTeX here"),
    ],
)
def test_all_that_is_wrong_is_named_with_its_line(folder, entry, complaint):
    (folder / "more.bib").write_text(f"\n{entry}\n")
    with pytest.raises(FileProblems) as refused:
        read_papers(folder)
    assert complaint in str(refused.value)
    assert "more.bib:2" in str(refused.value)


def test_a_broken_pdf_is_named(folder):
    (folder / "pdf2019.pdf").write_bytes(b"no PDF")
    with pytest.raises(FileProblems, match=r"PDF that cannot be read, pdf2019\.pdf"):
        read_papers(folder)


def test_a_folder_without_bibtex_is_refused(tmp_path):
    with pytest.raises(UsageError, match="has no BibTeX file"):
        read_papers(tmp_path)
