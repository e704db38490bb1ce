"""The submitter for competitions that take notebooks: what is sent is a version of a notebook that has run at Kaggle."""

from pathlib import Path
from typing import ClassVar

from bot.submission.kaggle import KaggleSubmitter, Settling
from scrapers.kaggle.client import KaggleClient
from state.errors import NotSent
from state.notebooks import notebook_state
from state.store import Store


class NotebookSubmitter(KaggleSubmitter):
    """Submits notebooks to one competition over HTTP; a `Submitter` whose files are packages, kept under their hash.

    `Pushes` must have brought a package to Kaggle before. Quota, search and score are those of files.
    """

    notebooks: ClassVar[bool] = True

    def __init__(
        self,
        client: KaggleClient,
        slug: str,
        file_name: str,
        store: Store,
        run_id: str,
        settling: Settling | None = None,
    ) -> None:
        """Set it up; `store` and `run_id` say which notebook a package has become, the rest is as for files."""
        super().__init__(client, slug, file_name, settling)
        self._store, self._run_id = store, run_id

    async def submit(self, file: Path, tag: str) -> str:
        """Submit the notebook of a package (`<sha256>.zip`) with the tag as its description; see `Submitter.submit`."""
        with self._store.read() as session:
            known = notebook_state(session, self._run_id, file.stem)
        if known is None or known.stage != "ran":
            raise NotSent(f"the notebook of {tag} has not run at Kaggle")
        await self._ensure_open()
        sending = self._submissions.create_from_notebook(known.ref, known.version, self._file_name, tag)
        return await self._created(sending, tag)
