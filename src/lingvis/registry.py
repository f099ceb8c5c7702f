"""One explicit registry per kind of part: name -> class and a one-line summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from lingvis.errors import UserError, choices

T = TypeVar("T", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A registered part."""

    name: str
    factory: T
    summary: str


class Registry(Generic[T]):
    """Parts of one kind, found by name; a duplicate raises, an unknown name lists the choices."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Entry[T]] = {}

    def register(self, name: str, summary: str) -> Callable[[T], T]:
        """Class decorator: `@POOLERS.register("mean", "the mean of the vectors")`."""

        def add(factory: T) -> T:
            if name in self._entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._entries[name] = Entry(name, factory, summary)
            return factory

        return add

    def get(self, name: str) -> T:
        """The class or function registered under `name`."""
        if name not in self._entries:
            raise UserError(f"unknown {self.kind} {name!r}; choose one of: {choices(self._entries)}")
        return self._entries[name].factory

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[T]]:
        return iter(self._entries.values())

    def names(self) -> list[str]:
        """All names in the order of registration."""
        return list(self._entries)
