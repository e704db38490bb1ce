"""Curation: entries of the knowledge base, drawn from communities and the bot's own finished runs."""
