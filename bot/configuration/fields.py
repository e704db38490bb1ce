"""The possible content of a table of bot.toml, from its model: keys, inner tables, and collections of tables."""

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.configuration.lines import KeyPath

ContentKind = Literal["value", "table", "tables by name", "list of tables"]


def content_of(field: FieldInfo) -> tuple[ContentKind, type[BaseModel] | None]:
    """Return the kind of a key's content, and the model of its table or tables."""
    return _content_of(field.annotation)


def _content_of(annotation: Any) -> tuple[ContentKind, type[BaseModel] | None]:
    if get_origin(annotation) is Annotated:
        return _content_of(get_args(annotation)[0])
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        not_none = [argument for argument in arguments if argument is not type(None)]
        return _content_of(not_none[0]) if len(not_none) == 1 else ("value", None)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table", annotation
    if origin in (dict, Mapping) and (model := _content_of(arguments[1])[1]):
        return "tables by name", model
    if origin in (tuple, list) and (model := _content_of(arguments[0])[1]):
        return "list of tables", model
    return "value", None


def description_of(field: FieldInfo) -> str:
    """Return the description of a key; for a table without one, its model's docstring."""
    _, model = content_of(field)
    return field.description or " ".join(((model and model.__doc__) or "").split())


def find(tree: type[BaseModel], path: KeyPath) -> tuple[FieldInfo | None, type[BaseModel] | None]:
    """Return the field at a path, and the model of the table there; None for what does not exist.

    An element of a collection has no field.
    """
    model: type[BaseModel] | None = tree
    field: FieldInfo | None = None
    kind: ContentKind = "table"
    for part in path:
        if kind in ("tables by name", "list of tables"):
            kind, field = "table", None
            continue
        field = model.model_fields.get(str(part)) if model else None
        kind, model = content_of(field) if field else ("value", None)
    return field, model if kind == "table" else None


def places_of(tree: type[BaseModel], name: str, parent: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield every path in the tables with a key of this name."""
    for key, field in tree.model_fields.items():
        kind, model = content_of(field)
        if key == name:
            yield (*parent, key)
        if kind == "table" and model:
            yield from places_of(model, name, (*parent, key))


def entries(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Yield each key and its value, those of tables within tables too."""
    if isinstance(value, BaseModel):
        for key in type(value).model_fields:
            yield from entries(getattr(value, key), (*path, key))
    elif isinstance(value, Mapping) and any(isinstance(v, BaseModel) for v in value.values()):
        for key, item in value.items():
            yield from entries(item, (*path, key))
    elif isinstance(value, tuple) and any(isinstance(v, BaseModel) for v in value):
        for number, item in enumerate(value):
            yield from entries(item, (*path, number))
    else:
        yield path, value


def name_of(path: KeyPath) -> str:
    """Return a path in dotted form; elements of lists are counted from 1."""
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in path)
