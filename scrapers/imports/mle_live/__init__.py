"""MLE-Live folders: a competition's forum and kernels as text, laid onto a snapshot that has the task."""
