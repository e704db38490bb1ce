"""The latest event of each thing: by the order of writing, among the types that are asked for."""

from state.latest_events import latest, latest_of_each
from state.store import Store

TYPES = ("door.opened", "door.closed")


def record(store: Store, type: str, **fields: str) -> None:
    with store.write() as tx:
        tx.record(type, run_id="house", **fields)


def test_each_thing_has_its_latest_event_of_the_types_that_are_asked_for(store: Store) -> None:
    record(store, "door.opened", door="front")
    record(store, "door.opened", door="back")
    record(store, "door.closed", door="front")
    record(store, "door.painted", door="back")
    record(store, "door.opened", window="none of ours")
    with store.read() as session:
        found = latest_of_each(session, "house", TYPES, "door")
        assert {door: row.type for door, row in found.items()} == {"back": "door.opened", "front": "door.closed"}
        assert list(found) == ["back", "front"], "in the order in which they were written"
        assert latest_of_each(session, "another house", TYPES, "door") == {}


def test_one_things_latest_event_is_found_and_a_clock_that_was_put_back_changes_nothing(store, clock) -> None:
    record(store, "door.opened", door="front")
    clock.pass_by(-3600)
    record(store, "door.closed", door="front")
    record(store, "door.opened", door="back")
    with store.read() as session:
        front = latest(session, "house", TYPES, "door", "front")
        assert front is not None
        assert front.type == "door.closed"
        newest = latest(session, "house", TYPES)
        assert newest is not None
        assert newest.data["door"] == "back"
        assert latest(session, "house", TYPES, "door", "cellar") is None
