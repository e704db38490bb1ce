"""The knowledge base: dated, labelled entries from past competitions, papers and our own runs, and their retrieval."""
