"""Portfolio: a fixed set of models that is fitted on a coder's features, with the run's folds, in idle time."""
