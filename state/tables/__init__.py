"""The tables of the database, one class per table; importing this declares all of them.

Every time is aware UTC. Community rows are keyed by competition, everything else by run. Derived rows carry
`known_at`, the latest time among their inputs, and obey the clock as posts do.
"""

from state.tables.community import (
    CommunityRow,
    KeptSketch,
    KernelVersion,
    Likeness,
    Observation,
    PostedMessage,
    SketchBand,
    Topic,
)
from state.tables.ideas import Analysis, Draft, Idea, IdeaUse, Report, Reproduction
from state.tables.operation import Control, Heartbeat, Letter, LetterPart, Note, Notification, Task
from state.tables.polling import Author, PolledKernel, PolledTopic, Reading, RequestCount, Watermark
from state.tables.runs import (
    Blob,
    Evaluation,
    Event,
    Execution,
    ExperimentRow,
    Lab,
    LedgerEntry,
    ModelCall,
    Node,
    Run,
    Step,
)
from state.tables.submissions import Approval, Submission, SubmissionRequest
