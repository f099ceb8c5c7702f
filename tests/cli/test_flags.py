"""Errors that name arguments, as the command line shows them."""

from __future__ import annotations

import pytest

from lingvis.cli.app import app
from lingvis.cli.flags import with_flags


@pytest.mark.parametrize(
    ("command", "sentence", "shown"),
    [
        (["evaluate", "r", "d"], "`languages` needs `save_consistency`", "--lang needs --save-consistency"),
        (
            ["evaluate", "r", "d"],
            "split needs a protocol; name `recipe`",
            "split needs a protocol; name `recipe`",
        ),
        (["evaluate", "r", "d", "--with", "x"], "got `with_` x", "got --with x"),
        (["features", "extract", "d"], "batch_size must be at least 1", "--batch-size must be at least 1"),
        (
            ["features", "extract", "d"],
            "skip my_batch_size in a/skip_broken.txt",
            "skip my_batch_size in a/skip_broken.txt",
        ),
        (["search", "c", "dog"], "k must be at least 1, got 0", "-k must be at least 1, got 0"),
        (["search", "c", "dog"], "the k must be right", "the k must be right"),
        (["data", "show", "d"], "`dataset` is no folder", "DATASET is no folder"),
        (["train", "r", "d", "--out", "o"], "continue it with `resume`", "continue it with --resume"),
        (["add-language", "r", "cs", "d", "--out", "o"], "`out` exists already", "--out exists already"),
        (["index", "c", "f"], "name a model folder in `model`", "name a model folder in --model"),
        (["search", "c", "dog"], "`rerank` and `captions`", "--rerank and --captions"),
    ],
)
def test_arguments_of_the_command_become_flags(command: list[str], sentence: str, shown: str) -> None:
    assert with_flags(sentence, app, command) == shown
