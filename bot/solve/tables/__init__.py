"""Tables as people have them: any common encoding, separator, header, and way to write numbers and dates, read row by row.

It needs nothing but the standard library, since `predict.py` of a solution reads new rows with these files, too. What is
read is plain: names as pandas gives them, numbers as `1234.5`, an empty cell where a value is missing. A word is a word: `None`
and `NA` are missing among numbers alone, or where the table was written by R, which quotes words.
"""
