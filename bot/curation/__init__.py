"""Curation: entries of the knowledge base, drawn from communities, papers and the bot's own finished runs."""
