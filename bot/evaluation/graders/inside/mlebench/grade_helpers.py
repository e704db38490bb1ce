"""The exception by which a grader refuses a submission."""


class InvalidSubmissionError(Exception):
    """The submission breaks the competition's form; the text is for its author."""
