"""The options and arguments that many commands have, and those that are fields of settings."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from state.closed_model import Option
from state.errors import UsageError
from state.words import slug_of

Config = Annotated[Path | None, typer.Option(help="bot.toml to read (default: ./bot.toml if it exists)")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, one object per line")]
Plain = Annotated[bool, typer.Option("--plain", help="print log lines instead of the live view")]
Fleet = Annotated[
    str | None,
    typer.Option(
        help="Ray cluster for scripts: auto, ray://HOST:10001 or none (default: the run's cluster, else the configured one)"
    ),
]
Competition = Annotated[
    str,
    typer.Argument(parser=slug_of, metavar="competition", help="name of the competition"),
]
OneCompetition = Annotated[
    str | None,
    typer.Argument(
        parser=slug_of, metavar="competition", help="only this competition (default: all)", show_default=False
    ),
]


def existing(paths: Iterable[Path], *, quiet: bool = False) -> None:
    """Print at once what is read, as the import of its reader takes a second. Raises UsageError: a path does not exist."""
    for path in paths:
        if not path.exists():
            names = [sibling.name for sibling in path.parent.iterdir()] if path.parent.is_dir() else []
            similar_names = get_close_matches(path.name, names, 1)
            raise UsageError(f"{path}: not found{f'; did you mean {similar_names[0]}?' if similar_names else ''}")
        if not quiet:
            typer.echo(f"reading {path}", err=True)


class FieldOption(NamedTuple):
    """An option that is a field of settings."""

    name: str
    """As it is typed, without the dashes before it."""
    path: tuple[str, ...]
    """The field, by its tables."""
    field: FieldInfo


def field_options(model: type[BaseModel], parent: tuple[str, ...] = ()) -> Iterator[FieldOption]:
    """Yield the options of a model, those of tables within it too."""
    for key, field in model.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, Option):
                yield FieldOption(mark.name or key.replace("_", "-"), (*parent, key), field)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from field_options(field.annotation, (*parent, key))


def with_options(
    model: type[BaseModel], without: Collection[str] = (), usual: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a model's fields but `without`; `usual` has its own defaults.

    Its parameter `chosen_options` gets a table of the options that were typed.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options = {"_".join(option.path): option for option in field_options(model) if option.path[-1] not in without}

        def run(**arguments: Any) -> None:
            chosen_options: dict[str, Any] = {}
            for parameter, option in options.items():
                if (value := arguments.pop(parameter)) is not None:
                    table = chosen_options
                    for key in option.path[:-1]:
                        table = table.setdefault(key, {})
                    table[option.path[-1]] = value.resolve() if isinstance(value, Path) else value
            command(**arguments, chosen_options=chosen_options)

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "chosen_options":
                parameters += [_parameter(name, option, usual or {}) for name, option in options.items()]
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


def _parameter(name: str, option: FieldOption, usual: Mapping[str, Any]) -> inspect.Parameter:
    """Return the parameter that typer makes an option of; the field's model reads the text of a type that typer cannot."""
    field = option.field
    kinds = [kind for kind in get_args(field.annotation) or (field.annotation,) if kind is not type(None)]
    kind: Any = get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]
    if get_origin(field.annotation) is Literal:
        kind = field.annotation
    elif len(kinds) > 1 or any(isinstance(mark, BeforeValidator) for mark in field.metadata):
        kind = str
    flags = f"--{option.name}/--no-{option.name}" if kind is bool else f"--{option.name}"
    default = usual.get(name, field.default)
    if kind is bool and default is not None:
        default = "yes" if default else "no"
    elif isinstance(default, float):
        default = f"{default / 60:g}m"
    text = field.description if default is None else f"{field.description} (default: {default})"
    typed = Annotated[kind | None, typer.Option(flags, help=text, show_default=False)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=typed)
