"""Pseudo captions written from detections (A3VSE)."""

from __future__ import annotations

from collections.abc import Sequence

from lingvis.data.dataset import Dataset
from lingvis.data.detections import FILE, REGIONS
from lingvis.errors import UserError
from lingvis.files import checksum
from lingvis.progress import note
from lingvis.pseudo import pseudo_captions, table_file
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.pseudo.labels import LABELS
from lingvis.terms.base import Origin
from lingvis.training.sources.pseudo import PSEUDO_SOURCES, PseudoSource, Setting
from lingvis.training.sources.sentences import Sentences


@PSEUDO_SOURCES.register("detectors", "sentences written from stored detections (A3VSE)")
class Detectors(PseudoSource):
    """detections: the name of stored detections; empty: the regions of the dataset's rows, or detections/regions."""

    def __init__(self, *, detections: str = "") -> None:
        self.detections = detections

    def add(self, known: Sentences, setting: Setting) -> Sentences:
        """Add one pseudo caption per undescribed picture and language with a table of labels."""
        languages = _with_labels(setting) if setting.some_unannotated else setting.languages
        captions = pseudo_captions(setting.dataset, languages, detections=self.detections or None)
        written = [
            (of_image[known.images[place]], lang, place)
            for lang, of_image in captions.items()
            for place in setting.undescribed
            if known.images[place] in of_image
        ]
        if not written:
            raise UserError(
                f"detectors found nothing in the {len(setting.undescribed)} training pictures without human captions; "
                "lower the score from which `lingvis features detect` keeps a region, or set pseudo.name = none"
            )
        texts, langs, groups = zip(*written, strict=True)
        return known.plus(Origin.PSEUDO, texts, langs, groups)

    def digests(self, dataset: Dataset) -> list[str]:
        """Checksums of the detections and of the tables of labels."""
        folder = dataset.detections_dir / (self.detections or REGIONS)
        files = [folder / FILE, *sorted((dataset.path / LABELS).glob("*.csv"))]
        return [checksum(file) for file in files if file.is_file()]


def _with_labels(setting: Setting) -> Sequence[str]:
    """The languages with a table of labels; prints a note about the others."""
    written = [
        lang
        for lang in setting.languages
        if lang == LABEL_LANGUAGE or table_file(setting.dataset, lang).is_file()
    ]
    lacking = [lang for lang in setting.languages if lang not in written]
    if written and lacking:
        note(
            f"no pseudo captions in {', '.join(lacking)}, which have no table of labels; "
            f"`lingvis features labels {setting.dataset.path}` makes them"
        )
    return written or setting.languages
