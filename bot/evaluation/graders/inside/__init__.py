"""What runs in the grader's own process, which sees none of our other packages: plain modules and pandas."""
