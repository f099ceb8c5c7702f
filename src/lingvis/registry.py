"""One explicit registry per kind of part: name -> class and a summary of one line."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from lingvis.errors import UserError, choices

T = TypeVar("T", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Registration(Generic[T]):
    """A part with the name that recipes use and a summary of one line."""

    name: str
    factory: T
    summary: str


class Registry(Generic[T]):
    """The parts of one kind by name; a second part of the same name raises ValueError."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Registration[T]] = {}

    def register(self, name: str, summary: str) -> Callable[[T], T]:
        """Class decorator: `@POOLERS.register("mean", "the mean of the vectors")`."""

        def add(factory: T) -> T:
            if name in self._entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._entries[name] = Registration(name, factory, summary)
            return factory

        return add

    def get(self, name: str) -> T:
        """The class or function registered under `name`; raises UserError with the choices if there is none."""
        if name not in self._entries:
            raise UserError(f"unknown {self.kind} {name!r}; choose one of: {choices(self._entries)}")
        return self._entries[name].factory

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Registration[T]]:
        return iter(self._entries.values())

    def names(self) -> list[str]:
        """All names in the order of registration."""
        return list(self._entries)


def import_parts(package: str, path: Iterable[str]) -> None:
    """Import every module of a package, so that all its parts are registered: a new part is one new file."""
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")
