"""Considering: which node's file is to be sent next, decided once for each state of affairs and written down."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import col, select

from bot.daemon.affairs import Affairs
from bot.daemon.candidates import Candidate, Candidates
from bot.daemon.judging import AGAIN, Asked, Judge
from bot.engine.context import RunContext
from bot.notify.events import ApprovalAsked, RulesNotAccepted
from bot.notify.outbox import notify
from bot.submission.exactly_once import ExactlyOnce
from bot.submission.policy import Decision
from state.approvals import answer_wish, ask_approval, let_pass, open_wishes
from state.errors import InfrastructureFailure, InvalidSubmission
from state.outward import CONSIDERED
from state.store import Transaction
from state.tables import Approval, Event, Node, Submission, Wish
from state.words import iso

__all__ = ["Considering", "hold"]

_GOES = ("send", "hold")


@dataclass(frozen=True)
class _Considered:
    verdict: str
    key: str
    until: datetime | None
    of_file: bool

    def stands(self, key: str, now: datetime) -> bool:
        """Return whether there is no reason to decide anew."""
        return self.key == key and (self.until is None or now < self.until)


class Considering:
    """Looks for the next file to send, in one live run."""

    def __init__(self, context: RunContext, judge: Judge, candidates: Candidates, once: ExactlyOnce) -> None:
        self._context = context
        self._judge = judge
        self._candidates = candidates
        self._once = once
        self._before: dict[int, _Considered] | None = None
        self._wishes: dict[int, _Considered] = {}

    async def next(self) -> Decision | None:
        """Decide about a wish of the owner's or the best node; None where all is decided as things stand."""
        affairs = self._judge.affairs()
        for wish in self._open_wishes():
            known = self._wishes.get(wish.id or 0)
            if known is None or not known.stands(affairs.key, self._context.clock.now()):
                return await self._wished(wish, affairs)
        node = self._next_node(affairs)
        if node is None:
            return None
        decision, candidate = await self._decided(Asked(node))
        if candidate is not None and decision.verdict in _GOES:
            self._intend(candidate, node, decision, affairs, None)
        else:
            with self._context.store.write() as tx:
                self._record(tx, node, decision, affairs, None)
        # Once it is written down: what is not must be decided again.
        self._considered()[node] = _Considered(decision.verdict, affairs.key, decision.until, decision.of_file)
        return decision

    def refuse_wishes(self, why: str) -> None:
        """Answer all that the owner still waits for."""
        with self._context.store.write() as tx:
            for wish in open_wishes(tx.session, self._context.run_id):
                answer_wish(tx, wish.id or 0, "refused", why)

    async def _decided(self, asked: Asked) -> tuple[Decision, Candidate | None]:
        """Decide, and if it may go make its file and decide with that."""
        decision = await self._judge.decide(asked)
        if decision.verdict not in _GOES:
            return decision, None
        try:
            candidate = await self._candidates.made(asked.node)
        except InvalidSubmission as error:
            return Decision("never", str(error), of_file=True), None
        except InfrastructureFailure as error:
            return Decision("wait", str(error), self._context.clock.now() + AGAIN), None
        final = await self._judge.decide(Asked(asked.node, candidate.sha256, wished=asked.wished))
        return final, candidate

    def _next_node(self, affairs: Affairs) -> int | None:
        """Return the best node that is better than what was or is to be sent, and not decided about as things stand."""
        scores, now = self._judge.scores(), self._context.clock.now()
        gone = {row.node for row in affairs.rows if row.status != "withdrawn"} | self._over(affairs)
        going = [scores[row.node] for row in (*affairs.there, *affairs.open) if row.node in scores]
        floor = max((*going, *map(self._context.card.oriented, affairs.comparable)), default=None)
        before = self._considered()
        for node in sorted(scores, key=lambda node: (-scores[node], node)):
            if floor is not None and scores[node] <= floor:
                return None
            if node in gone:
                continue
            known = before.get(node)
            if known is None or not known.stands(affairs.key, now):
                return node
            if not known.of_file:
                return None
        return None

    def _over(self, affairs: Affairs) -> set[int]:
        """Return the nodes that the owner does not want, or has let pass."""
        with self._context.store.read() as session:
            return {row.node for row in let_pass(session, affairs.rows)}

    def _considered(self) -> dict[int, _Considered]:
        if self._before is None:
            with self._context.store.read() as session:
                query = select(Event).where(Event.run_id == self._context.run_id, Event.type == CONSIDERED)
                events = session.exec(query.order_by(col(Event.seq))).all()
            self._before = {event.node: _read(event.data) for event in events if event.node is not None}
        return self._before

    def _open_wishes(self) -> list[Wish]:
        with self._context.store.read() as session:
            return list(open_wishes(session, self._context.run_id))

    async def _wished(self, wish: Wish, affairs: Affairs) -> Decision:
        """Decide about what the owner asked for: under the same rules, but whatever its gain is."""
        row = next((row for row in affairs.rows if row.node == wish.node and row.status != "withdrawn"), None)
        if row is not None:
            decision = Decision("never", f"node {wish.node} is {row.status} as {row.tag} already")
            return self._answer(wish, decision, affairs, row.id if row in affairs.open else None)
        if wish.node not in self._judge.scores():
            return self._answer(wish, Decision("never", f"node {wish.node} has no validation score"), affairs, None)
        decision, candidate = await self._decided(Asked(wish.node, wished=True))
        if candidate is None or decision.verdict not in _GOES:
            return self._answer(wish, decision, affairs, None)
        self._intend(candidate, wish.node, decision, affairs, wish)
        return decision

    def _answer(self, wish: Wish, decision: Decision, affairs: Affairs, submission: str | None) -> Decision:
        state = "intended" if submission else "open" if decision.verdict == "wait" else "refused"
        told = (
            decision.why
            if decision.until is None
            else f"{decision.why}; it is looked at again at {iso(decision.until)}"
        )
        with self._context.store.write() as tx:
            answer_wish(tx, wish.id or 0, state, told, submission)  # type: ignore[arg-type]  # one of the three
            self._record(tx, wish.node, decision, affairs, submission)
        self._wishes[wish.id or 0] = _Considered(decision.verdict, affairs.key, decision.until, False)
        return decision

    def _intend(
        self, candidate: Candidate, node: int, decision: Decision, affairs: Affairs, wish: Wish | None
    ) -> Submission:
        """Write the intent down, with why, what is asked of the owner, and the wish that it fulfils."""

        def also(tx: Transaction, row: Submission) -> None:
            told = Decision(decision.verdict, f"{decision.why}; {candidate.note}")
            self._record(tx, node, told, affairs, row.id)
            if wish is not None:
                answer_wish(tx, wish.id or 0, "intended", told.why, row.id)
            if decision.verdict == "hold":
                hold(tx, row, self._context.card.slug, decision.why, self._judge.settings.approval_hours)

        self._context.say(f"node {node} is to be submitted: {decision.why}")
        return self._once.intend(candidate.file, node=node, handed_in=candidate.how, also=also)

    def _record(self, tx: Transaction, node: int, decision: Decision, affairs: Affairs, submission: str | None) -> None:
        told = {"decision": decision.verdict, "why": decision.why, "of_file": decision.of_file, "affairs": affairs.key}
        until = None if decision.until is None else iso(decision.until)
        tx.record(CONSIDERED, run_id=self._context.run_id, node=node, until=until, submission=submission, **told)
        if self._judge.settings.submit and (affairs.entered is False or affairs.rules_changed):
            slug = self._context.card.slug
            url = f"https://www.kaggle.com/competitions/{slug}/rules"
            notify(tx, RulesNotAccepted(slug, url, affairs.rules_sha).notice(self._context.run_id))


def hold(tx: Transaction, row: Submission, competition: str, why: str, hours: float) -> Approval:
    """Hold a submission until its owner has decided, and ask once."""
    held = ask_approval(tx, row.run_id, row.id, expires_at=tx.now() + timedelta(hours=hours), why=why)
    node = tx.session.get(Node, (row.run_id, row.node))
    score = None if node is None else node.score
    notify(tx, ApprovalAsked(competition, row.tag, row.node, str(held.id), score, why).notice(row.run_id))
    return held


def _read(data: Mapping[str, object]) -> _Considered:
    until = data["until"]
    return _Considered(
        str(data["decision"]),
        str(data["affairs"]),
        None if until is None else datetime.fromisoformat(str(until)),
        bool(data["of_file"]),
    )
