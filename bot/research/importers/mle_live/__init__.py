"""MLE-Live folders: a competition's forum and kernels as text, added to a snapshot that has the task."""
