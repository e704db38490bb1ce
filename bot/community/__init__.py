"""The community: posts become analyses, analyses become ideas, finished drafts become reports."""
