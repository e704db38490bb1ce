"""Read tables of any common encoding, separator, header and format of numbers and dates, row by row.

The package needs only the standard library, since a solution's `predict.py` reads new rows with it. Column names are as in
pandas, numbers are plain (`1234.5`), and missing values are empty. `None` and `NA` count as missing only among numbers, or in
tables that R wrote, as R quotes words.
"""
