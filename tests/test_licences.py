"""No extra installs a package, or a library inside one, under a licence that nobody has decided on."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.licences import ALWAYS, EXEMPTIONS, extras, is_permissive, packages, surprises

EXTRAS = extras()


@pytest.mark.parametrize("extra", EXTRAS)
def test_no_extra_has_a_surprising_licence(extra: str) -> None:
    assert surprises(extra, EXTRAS[extra]) == []


def test_the_walk_reaches_what_others_require() -> None:
    assert {"numpy", "pillow", "rich", "pygments"} <= set(packages(EXTRAS[ALWAYS]))
    assert {"torch", "matplotlib", "python-dateutil"} <= set(packages(EXTRAS["train"]))
    assert {"starlette", "h11", "onnxruntime"} <= set(packages(EXTRAS["serve"]))
    assert "psycopg-binary" in packages(EXTRAS["postgres"]), "extras of a requirement count"
    assert "psycopg-binary" not in packages(EXTRAS["serve"])


def test_photographs_need_neither_torch_nor_lancedb_nor_icu() -> None:
    heavy = {"torch", "matplotlib", "onnx", "scipy", "lancedb", "pyarrow", "icu4py"}
    for extra in (ALWAYS, "onnx", "index", "serve", "photos", "postgres"):
        assert not heavy & set(packages(EXTRAS[extra])), extra
    assert set(packages(EXTRAS["photos"])) == set(packages(EXTRAS["serve"]))


def test_heic_is_in_no_other_extra() -> None:
    of_extra = {extra for extra, lines in EXTRAS.items() if any("heif" in line for line in lines)}
    assert of_extra == {"heic"}


def test_video_is_in_no_other_extra_for_users() -> None:
    of_extra = {extra for extra, lines in EXTRAS.items() if any(line.startswith("av>") for line in lines)}
    assert of_extra == {"video", "dev"}
    assert "av carries libx264" in "; ".join(surprises("serve", EXTRAS["video"]))


def install(folder: Path, name: str, *fields: str, library: str | None = None) -> None:
    """What pip leaves of a wheel: metadata, and the shared libraries in it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "\n".join(["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *fields])
    )
    (info / "RECORD").write_text(f"{name}.libs/{library},,\n" if library else "")


def test_surprises_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "strong", "License-Expression: AGPL-3.0-only")
    install(tmp_path, "quiet", "License: BSD-3-Clause", library="libx265-4883ecb5.so.217")
    install(tmp_path, "odd", "License: MIT", library="libsecret-1234.so.2")
    install(
        tmp_path,
        "torn",
        "License: MIT",
        "Classifier: License :: OSI Approved :: GNU General Public License v3",
    )
    install(tmp_path, "fine", "License: MIT", "Requires-Dist: silent", library="libgomp-12.so.1")
    install(tmp_path, "silent", "License: UNKNOWN")
    assert surprises("serve", ["strong", "quiet>=1", "odd", "torn", "fine", "gone"]) == [
        "gone is not installed, so that its licence cannot be read",
        "odd carries libsecret-1234.so.2: unknown",
        "quiet carries libx265-4883ecb5.so.217: GPL-2.0-or-later",
        "silent: not stated",
        "strong: AGPL-3.0-only",
        "torn: GNU General Public License v3",
    ]


def test_an_exemption_holds_for_its_extras_alone() -> None:
    assert surprises("vectors", ["gensim"]) == []
    assert surprises("serve", ["gensim"]) == ["gensim: LGPL-2.1-only"]
    assert {extra for exemption in EXEMPTIONS for extra in exemption.extras} <= set(EXTRAS)


def test_expressions() -> None:
    assert is_permissive("MIT") and is_permissive("(MIT AND ISC) OR GPL-2.0-only")
    assert not is_permissive("MIT AND GPL-2.0-only") and not is_permissive("LGPL-3.0-only")
