"""A stand-in Kaggle site that plays a snapshot back as a live competition, on a given clock.

`Site` holds its state, `app` answers requests, `serving` runs it on a loopback port. It behaves as the `kaggle` package
(2.2) and reports of its users describe; where those disagree, `SiteSettings` chooses.
"""
