"""The page docs/reference/python.md, from the signatures and docstrings of the public names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel

import lingvis

HEAD = """# Python

Made by `python -m studies tables` from the signatures and docstrings.

Every name below is loaded when it is first used, so that `import lingvis` is fast. Paths may be text or `Path`.
Bad input raises `lingvis.UserError`, whose message says what was got, what is allowed and what to do.
"""
WIDTH = 100


def python_reference() -> str:
    """The Markdown of docs/reference/python.md: the public names, then the types of their arguments and results."""
    public = {name: getattr(lingvis, name) for name in lingvis.__all__ if name != "__version__"}
    parts = [HEAD, *(_section(f"lingvis.{name}", value) for name, value in public.items())]
    parts.append("## Types\n\nThe data that the functions and methods above take and return.\n")
    parts += [_section(result.__name__, result) for result in _types(public.values())]
    return "\n".join(parts)


def _section(title: str, value: Any) -> str:
    heading = f"## {title}\n" if title.startswith("lingvis.") else f"### {title}\n"
    if not inspect.isclass(value):
        return f"{heading}\n{_signature(title, value)}{_text(value)}"
    content = "" if hasattr(value, "open") else _fields(title, value)  # a dataset is opened, not constructed
    members = [_member(f"{value.__name__}.{name}", member) for name, member in _members(value)]
    return "\n".join([heading, content + _text(value), *members])


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring, in the order of the source, those of base classes first."""
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("lingvis."):
            members |= vars(base)
    for name, member in members.items():
        if not name.startswith("_") and inspect.isfunction(_function(member)) and _function(member).__doc__:
            yield name, member


def _function(member: Any) -> Any:
    """The function behind a method, a class method or a property."""
    for attribute in ("fget", "func", "__func__"):
        member = getattr(member, attribute, member)
    return member


def _member(name: str, member: Any) -> str:
    function = _function(member)
    if isinstance(member, property | cached_property):
        returned = inspect.signature(function).return_annotation
        return f"```python\n{name}: {returned}\n```\n\n{_text(function)}"
    return _signature(name, function) + _text(function)


def _fields(title: str, cls: type) -> str:
    """A block with the fields of a dataclass or a model of pydantic, empty for other classes."""
    if issubclass(cls, BaseModel):
        shown = {name: inspect.get_annotations(cls).get(name) for name in cls.model_fields}
        return _block(title, [f"{name}: {annotation}" for name, annotation in shown.items()])
    return _signature(title, cls) if is_dataclass(cls) else ""


def _signature(name: str, function: Callable[..., Any]) -> str:
    """A block with the signature, less self; one parameter per line where it is long."""
    signature = inspect.signature(function)
    factories = {
        field.name: field.default_factory()
        for field in (fields(function) if is_dataclass(function) else ())
        if field.default_factory is not MISSING
    }
    parts: list[str] = []
    positional = True
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and positional and not inspect.isclass(function):
            parts.append("*")
        positional = parameter.kind is not parameter.KEYWORD_ONLY
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        value = factories.get(parameter.name, parameter.default)
        default = "" if value is parameter.empty else f" = {_default(value)}"
        parts.append(f"{star}{parameter.name}: {parameter.annotation}{default}")
    returned = "" if inspect.isclass(function) else f" -> {signature.return_annotation}"
    return _block(name, parts, returned)


def _block(name: str, parts: list[str], returned: str = "") -> str:
    line = f"{name}({', '.join(parts)}){returned}"
    if len(line) > WIDTH:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"
    return f"```python\n{line}\n```\n\n"


def _default(value: object) -> str:
    plain = value is None or isinstance(value, str | int | float | tuple | dict | list)
    return repr(value) if plain else f"{type(value).__name__}()"


def _text(value: Any) -> str:
    return f"{inspect.getdoc(value) or ''}\n"


def _types(public: Iterable[Any]) -> list[type]:
    """Classes of lingvis that public functions return, data that they take, and the data in the fields of these."""
    queue = [value for each in public for value in _used(each)]
    known = {value for value in public if inspect.isclass(value)}
    results: list[type] = []
    while queue:
        result = queue.pop(0)
        if result in known:
            continue
        known.add(result)
        results.append(result)
        if is_dataclass(result):
            hints = get_type_hints(result).values()
            queue += [each for hint in hints for each in _classes(hint) if _is_data(each)]
    return results


def _used(value: Any) -> list[type]:
    members = [member for _, member in _members(value)] if inspect.isclass(value) else [value]
    functions = [_function(each) for each in members if not isinstance(each, property | cached_property)]
    # Public classes that a module imports for type checkers alone, since they load torch.
    public = {name: getattr(lingvis, name) for name in lingvis.__all__}
    return [
        each
        for function in functions
        for name, hint in get_type_hints(function, {**public, **function.__globals__}).items()
        for each in _classes(hint)
        if name == "return" or is_dataclass(each)
    ]


def _is_data(cls: type) -> bool:
    return is_dataclass(cls) or issubclass(cls, BaseModel)


def _classes(hint: Any) -> Iterator[type]:
    """The classes of lingvis in an annotation: Hit in list[Hit] | None."""
    if inspect.isclass(hint) and hint.__module__.startswith("lingvis.") and inspect.getdoc(hint):
        yield hint
    for part in get_args(hint):
        yield from _classes(part)
