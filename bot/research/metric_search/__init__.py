"""Which metric of the bot's own a competition's grader computes: searched by comparing scores, in the worker process."""
