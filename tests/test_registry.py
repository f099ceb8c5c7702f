from __future__ import annotations

import pytest

from lingvis.errors import UserError
from lingvis.registry import Registry


def test_unknown_names_list_the_choices_and_duplicates_raise() -> None:
    registry: Registry[type] = Registry("fruit")
    registry.register("pear", "green")(int)
    registry.register("apple", "red")(str)
    assert registry.get("pear") is int
    assert registry.names() == ["pear", "apple"]
    with pytest.raises(UserError, match=r"unknown fruit 'fig'; choose one of: apple, pear"):
        registry.get("fig")
    with pytest.raises(ValueError, match="registered twice"):
        registry.register("pear", "again")(float)
