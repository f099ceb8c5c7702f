"""Options come from flags, environment variables and a settings file, in this order; mistakes are one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.serve.operation.options import KEYS, ServeOptions, read_options
from lingvis.serve.operation.root_path import check_root_path

DEPLOY = Path(__file__).parents[3] / "deploy"


def settings(folder: Path, text: str) -> Path:
    file = folder / "settings.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_flags_win_over_variables_and_these_over_the_file(tmp_path: Path) -> None:
    file = settings(tmp_path, 'host = "10.0.0.1"\nport = 1\nroot_path = "/a/"\naccess_log = true\n')
    options = read_options({"port": 0, "host": None}, {"LINGVIS_PORT": "2", "LINGVIS_HOST": "::1"}, file)
    assert (options.port, options.host, options.root_path, options.access_log) == (0, "::1", "/a", True)
    named = read_options({}, {"LINGVIS_SETTINGS": str(file), "LINGVIS_ACCESS_LOG": "false"})
    assert (named.port, named.access_log) == (1, False)
    assert read_options({"access_log": False}, {}) == ServeOptions()


def test_lists_and_paths(tmp_path: Path) -> None:
    file = settings(
        tmp_path,
        'collections = ["a.lv", "~/b.lv", "/c.lv", "postgresql://me@db/x?collection=y"]\ntoken_file = "token"\n',
    )
    options = read_options({}, {}, file)
    assert options.collections == (
        str(tmp_path / "a.lv"),
        str(Path.home() / "b.lv"),
        "/c.lv",
        "postgresql://me@db/x?collection=y",
    )
    assert options.token_file == tmp_path / "token"
    several = read_options({}, {"LINGVIS_COLLECTIONS": "'my photos.lv' postgresql://me@db/x"})
    assert several.collections == ("my photos.lv", "postgresql://me@db/x")


def test_the_strongest_source_of_access_decides_alone(tmp_path: Path) -> None:
    file = settings(tmp_path, 'token_file = "token"\n')
    (tmp_path / "token").write_text("of the file\n")
    (tmp_path / "token").chmod(0o600)
    assert read_options({}, {}, file).secret() == "of the file"
    assert read_options({}, {"LINGVIS_TOKEN": "of a variable"}, file).secret() == "of a variable"
    open_to_all = read_options({"no_auth": True}, {"LINGVIS_TOKEN": "of a variable"}, file)
    assert open_to_all.secret() is None and open_to_all.no_auth
    flag = read_options({"token": "of a flag"}, {"LINGVIS_NO_AUTH": "1"}, file)
    assert flag.secret() == "of a flag" and not flag.no_auth
    with pytest.raises(UserError, match="token and token_file exclude each other"):
        read_options({}, {"LINGVIS_TOKEN": "x", "LINGVIS_TOKEN_FILE": "y"}).secret()
    assert "of a flag" not in repr(flag)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("prot = 1", "has unknown keys: prot; the known ones are: collections, collection, model"),
        ('token = "x"', "put the token into a private file and name it as token_file"),
        ('port = "x"', r"settings\.toml: port: input should be a valid integer.*got 'x'"),
        ("port = 70000", "less than or equal to 65535, got 70000"),
        (
            'log_level = "loud"',
            "log_level: input should be 'debug', 'info', 'warning' or 'error', got 'loud'",
        ),
        ('root_path = "/api/x"', "root_path must not begin with /api or /static, got '/api/x'"),
        ("port = ", r"settings\.toml is not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as error:
        read_options({}, {}, settings(tmp_path, text))
    assert "\n" not in str(error.value)


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(UserError, match=r"LINGVIS_PORT: input should be a valid integer.*got 'many'"):
        read_options({}, {"LINGVIS_PORT": "many"})
    with pytest.raises(UserError, match="LINGVIS_COLLECTIONS must be a list as on a command line"):
        read_options({}, {"LINGVIS_COLLECTIONS": "'a"})
    assert read_options({}, {"LINGVIS_PORT": ""}).port == 8000


@pytest.mark.parametrize("path", ["photos", "/a b", "/a//b", "/a/../b", "/ä", "/static"])
def test_wrong_root_paths(path: str) -> None:
    with pytest.raises(UserError, match="root_path must"):
        check_root_path(path)


def test_every_option_is_a_flag_and_a_key() -> None:
    from inspect import signature

    from lingvis.cli.commands.serve import serve

    assert {*signature(serve).parameters} - {"settings", "token"} == {*KEYS}
