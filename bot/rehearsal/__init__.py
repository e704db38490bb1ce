"""A stand-in Kaggle site that plays a snapshot back as a live competition, on a clock that is handed in.

`Site` is what it knows, `app` answers requests, `serving` runs it on a loopback port. Facts that it models are those of
the `kaggle` package (2.2) and of its users' reports; where those are told both ways, `SiteSettings` says which.
"""
