"""The files for Docker and systemd name files, extras, commands and settings that exist; no container is started."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from lingvis.cli.app import app
from lingvis.serve.operation.options import KEYS, PREFIX, ServeOptions, read_options

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
UNIT = DEPLOY / "lingvis.service"
INSTRUCTIONS = {
    "FROM",
    "WORKDIR",
    "COPY",
    "RUN",
    "ENV",
    "USER",
    "VOLUME",
    "EXPOSE",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
}
KNOWN_VARIABLES = {PREFIX + name.upper() for name in ServeOptions.model_fields}


def instructions() -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", DOCKERFILE)).splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def compose() -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def check_command(arguments: list[str]) -> None:
    """Parse a command as `lingvis` would, without running it."""
    _, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert bound.arguments


def test_dockerfile() -> None:
    steps = instructions()
    assert {name for name, _ in steps} <= INSTRUCTIONS
    for text in (text for name, text in steps if name == "COPY" and "--from" not in text):
        *sources, _ = text.split()
        assert all((ROOT / source).exists() for source in sources), text
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    copied = [
        source
        for name, text in steps
        if name == "COPY" and "--from" not in text
        for source in text.split()[:-1]
    ]
    assert all(f"!{source}" in ignored for source in copied)
    variables = dict(re.findall(r"(\w+)=(\S+)", " ".join(text for name, text in steps if name == "ENV")))
    assert {name for name in variables if name.startswith(PREFIX)} <= KNOWN_VARIABLES
    options = read_options({}, variables)
    assert (options.host, options.no_open, options.access_log) == ("0.0.0.0", True, True)
    assert "USER" in dict(steps), "the server does not run as root"
    check_command(["serve", "/pictures"])


def test_extras_of_the_image_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.search(r"'\.\[(.+)\]'", DOCKERFILE)
    assert named is not None and set(named[1].split(",")) <= set(extras)


def test_compose() -> None:
    services = compose()["services"]
    assert set(services) == {"database", "index", "page"}
    assert services["database"]["image"].startswith("pgvector/pgvector:pg")
    check_command(services["index"]["command"])
    environment = services["page"]["environment"]
    assert {name for name in environment if name.startswith(PREFIX)} <= KNOWN_VARIABLES
    options = read_options({}, {**environment, f"{PREFIX}TOKEN": "x"})
    assert options.collections == (services["index"]["command"][1],) and options.log_format == "json"
    assert all(port.startswith("127.0.0.1:") for port in services["page"]["ports"])
    for name in ("index", "page"):
        build = services[name]["build"]
        assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
        assert services[name]["depends_on"]["database"]["condition"] == "service_healthy"
        assert "/pictures:ro" in services[name]["volumes"][0]
    text = (DEPLOY / "compose.yaml").read_text()
    required = set(re.findall(r"\$\{(\w+):\?", text))
    assert required == set(re.findall(r"(?m)^(\w+)=", (DEPLOY / "env.example").read_text()))


def test_settings_file_has_every_key() -> None:
    text = (DEPLOY / "settings.toml").read_text(encoding="utf-8")
    options = read_options({}, {}, DEPLOY / "settings.toml")
    assert options.no_open and options.access_log and options.collections == ("/srv/pictures",)
    assert re.findall(r"(?m)^(?:# )?(\w+) = ", text) and set(
        re.findall(r"(?m)^(?:# )?(\w+) = ", text)
    ) == set(KEYS)
    values = re.sub(r"(?m)^# (\w+ = )", r"\1", text)
    ServeOptions.model_validate(tomllib.loads(values))


def test_unit(tmp_path: Path) -> None:
    text = UNIT.read_text(encoding="utf-8")
    (start,) = re.findall(r"(?m)^ExecStart=(.+)$", text)
    program, *arguments = shlex.split(start)
    check_command(arguments)
    variables = set(re.findall(rf"{PREFIX}\w+", text))
    assert variables <= KNOWN_VARIABLES
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    copy = tmp_path / "lingvis.service"
    copy.write_text(text.replace(program, shutil.which("true") or "/bin/true"))
    checked = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stderr
