"""Many submissions at once: graded from a list, and averaged over seeds, as MLE-bench does; in the bot's own process."""
