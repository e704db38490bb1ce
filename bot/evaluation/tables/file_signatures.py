"""What a file is that is not the CSV it should be, by its first bytes."""

import codecs

_SIGNATURES = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\xfd7zXZ\x00", "compressed by xz"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
)
_SIGNATURES_IN_LETTERS = (
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"BZh", "compressed by bzip2"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
)
"""A header may begin so; a file without a binary byte in its first lines is none of these."""
_MARKS = (
    # UTF-32's begins with UTF-16's
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def not_text(head: bytes) -> str | None:
    """Return what a file that begins so is, where it is no text in UTF-8, as the rest of a sentence; None where it may be."""
    for signature, what in _SIGNATURES:
        if head.startswith(signature):
            workbook = what == "a zip archive" and (b"xl/" in head or b"[Content_Types].xml" in head)
            return f"is not CSV: it is {'an Excel workbook' if workbook else what}"
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return f"is {encoding} text, not UTF-8"
    if not _is_binary(head):
        return None
    for signature, what in _SIGNATURES_IN_LETTERS:
        if head.startswith(signature):
            return f"is not CSV: it is {what}"
    at = head.find(0)
    if at < 0:
        return None
    if len(head) > 3 and any(not any(head[side::2]) and 0 not in head[1 - side :: 2] for side in (0, 1)):
        return "is not UTF-8 text; it seems to be UTF-16 without its mark"
    line = head.count(b"\n", 0, at) + 1
    return f"holds a NUL byte in line {line}, which no text has"


def seems(head: bytes) -> str | None:
    """Return what a text that begins so looks like, where that is not CSV; a CSV file may begin so all the same."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if text[:9].lower() == b"<!doctype" or text[:5].lower() in (b"<html", b"<head"):
        return "an HTML page"
    if text.startswith(b"<"):
        return "XML or HTML"
    if text.startswith((b"{", b"[")):
        return "JSON"
    return None


def _is_binary(head: bytes) -> bool:
    try:
        # The last letter may be cut.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return True
    return min(head, default=32) < 9
