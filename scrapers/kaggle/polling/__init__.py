"""Polling of Kaggle for a live bot, with watermarks, so that nothing is lost and little is requested twice."""
