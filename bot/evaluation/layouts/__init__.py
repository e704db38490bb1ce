"""Layouts: how a competition's data folder tells its training rows, its test rows and the labels."""
