"""Tables of text on disk, ours and anybody's: read row by row, and written with the text of every cell as it was."""
