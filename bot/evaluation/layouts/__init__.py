"""Layouts: where the training rows, the test rows and the labels are in a competition's data folder."""
