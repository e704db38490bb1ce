"""The daemon looks at the owner's notes at each poll: what is new is stored once, analysed, and survives Kaggle's refusal."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlmodel import select

from bot.configuration.competition import CompetitionSettings
from bot.daemon.tasks import TaskHandlers
from bot.live.entry import Entry
from state.community import CommunityView
from state.tables import Task
from tests.bot.live.site_parts import shared
from tests.bot.rehearsal.parts import served, tiny


@pytest.mark.integration
async def test_notes_are_looked_at_at_each_poll_and_learned_from(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "dated.md").write_text("---\ndate: 2019-12-01\n---\nTen folds.")
    (notes / "undated.md").write_text("Try naive bayes.")
    (notes / "binary.md").write_bytes(b"\xff")
    said: list[str] = []
    with served(tiny(tmp_path)) as site:
        async with shared(site, tmp_path / "state") as found:
            here = replace(found, say=lambda competition, line: said.append(line))
            slug = site.competition.slug
            entry = Entry(slug, CompetitionSettings(notes=notes), here)
            handlers = TaskHandlers(here, {slug: entry})

            async def poll(key: str) -> None:
                at = site.clock.now()
                await handlers.poll(Task(key=key, kind="poll", competition=slug, created_at=at, due_at=at))

            def learning() -> list[str]:
                with here.store.read() as session:
                    keys = session.exec(select(Task.key).where(Task.kind == "learn")).all()
                return [key for key in keys if "notes" in key]

            def times() -> dict[str, datetime]:
                view = CommunityView(here.store, slug, site.clock.now())
                return {post.text: post.time for post in view.messages() if post.id.startswith("note-")}

            first = site.clock.now()
            await poll("one")
            assert times() == {"Ten folds.": datetime(2019, 12, 1, tzinfo=UTC), "Try naive bayes.": first}
            assert learning() == ["learn notes after one"]
            assert [line for line in said if "note" in line] == [
                "notes: binary.md is left out: it is not text in UTF-8",
                "2 new or edited notes were read",
            ]
            await poll("two")
            assert learning() == ["learn notes after one"], "nothing has changed"
            (notes / "undated.md").write_text("Try naive bayes, and calibrate it.")
            (notes / "dated.md").unlink()
            site.clock.pass_by(days=1)
            await poll("three")
            assert learning() == ["learn notes after one", "learn notes after three"]
            edited = {"Try naive bayes, and calibrate it.": site.clock.now()}
            assert times() == {"Ten folds.": datetime(2019, 12, 1, tzinfo=UTC), **edited}
