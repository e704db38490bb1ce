"""One's own data as a snapshot-like folder: what is to be predicted is found out or asked for, and no answers are needed."""
