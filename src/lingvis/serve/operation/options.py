"""The options of `lingvis serve`, from flags, environment variables and a settings file, in this order of precedence."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from lingvis.collection.stores.servers import is_server
from lingvis.errors import UserError
from lingvis.files import read_secret
from lingvis.serve.operation.root_path import check_root_path
from lingvis.strict import StrictModel, explain
from lingvis.untrusted import read_bytes

PREFIX = "LINGVIS_"  # of environment variables
SETTINGS = f"{PREFIX}SETTINGS"
ACCESS = ("token", "token_file", "no_auth")
EXCLUDE = "token and token_file exclude each other; leave one of them out"


class ServeOptions(StrictModel):
    """All options; the keys of a settings file, except `token`, which belongs in a private file of its own."""

    collections: tuple[str, ...] = ()
    collection: str | None = None
    model: Path | None = None
    device: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    root_path: str = ""
    token: str | None = Field(default=None, repr=False)
    token_file: Path | None = None
    no_auth: bool = False
    read_only: bool = False
    no_open: bool = False
    workers: int = Field(default=1, ge=1, le=64)
    access_log: bool = False
    log_queries: bool = False
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    @field_validator("root_path")
    @classmethod
    def _checked(cls, path: str) -> str:
        try:
            return check_root_path(path)
        except UserError as error:
            raise ValueError(str(error)) from error

    def secret(self) -> str | None:
        """Return the token, None without one."""
        if self.token is not None and self.token_file is not None:
            raise UserError(EXCLUDE)
        return self.token if self.token_file is None else read_secret(self.token_file)


KEYS = [name for name in ServeOptions.model_fields if name != "token"]


def read_options(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None
) -> ServeOptions:
    """Return the options; a flag that is None or False was not given, and an empty variable counts as missing.

    Of token, token_file and no_auth, only those of the strongest source count that has one of them. file: the settings
    file, by default the one that LINGVIS_SETTINGS names, if any.
    """
    if file is None and environment.get(SETTINGS):
        file = Path(environment[SETTINGS])
    stored = _from_file(file) if file is not None else {}
    named = _from_environment(environment)
    given = {name: value for name, value in flags.items() if value is not False and value not in (None, ())}
    if not {*ACCESS} & given.keys() and not {*ACCESS} & named.keys():
        access = stored
    else:
        access = given if {*ACCESS} & given.keys() else named
    merged = {**stored, **named, **given}
    values = {name: value for name, value in merged.items() if name not in ACCESS or name in access}
    return _checked(values, "option")


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        name: text for name in ServeOptions.model_fields if (text := environment.get(PREFIX + name.upper()))
    }
    if "collections" in values:
        try:
            values["collections"] = shlex.split(values["collections"])
        except ValueError as error:
            raise UserError(
                f"{PREFIX}COLLECTIONS must be a list as on a command line, got {values['collections']!r} ({error})"
            ) from error
    for name in values:
        _checked({name: values[name]}, "environment variable", shown={name: PREFIX + name.upper()})
    return values


def _from_file(file: Path) -> dict[str, Any]:
    """Return the values of a settings file; its relative paths start in its folder."""
    try:
        values = tomllib.loads(read_bytes(file).decode("utf-8"))
    except ValueError as error:
        raise UserError(f"{file} is not valid TOML ({error}); correct it") from error
    unknown = sorted(values.keys() - set(KEYS))
    if unknown:
        hint = "; put the token into a private file and name it as token_file" if "token" in unknown else ""
        raise UserError(
            f"{file} has unknown keys: {', '.join(unknown)}{hint}; the known ones are: {', '.join(KEYS)}"
        )
    _checked(values, f"{file}:")
    folder = file.resolve().parent

    def placed(text: str) -> str:
        return text if is_server(text) else str(folder / Path(text).expanduser())

    for name in ("collection", "model", "token_file"):
        if name in values and values[name] != "lingvis-base":
            values[name] = placed(values[name])
    if "collections" in values:
        values["collections"] = [placed(text) for text in values["collections"]]
    return values


def _checked(
    values: Mapping[str, Any], source: str, *, shown: Mapping[str, str] | None = None
) -> ServeOptions:
    try:
        return ServeOptions.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0])
        clause = explain(problem, where=(shown or {}).get(name, name))
        raise UserError(f"{source} {clause}") from error
