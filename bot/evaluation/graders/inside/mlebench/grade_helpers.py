"""How a grader says that a submission cannot be scored."""


class InvalidSubmissionError(Exception):
    """The submission breaks the competition's form; the text is for its author."""
