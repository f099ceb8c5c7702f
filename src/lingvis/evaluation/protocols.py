"""Named protocols as data: the split, the sentences and the number of images of a measurement."""

from __future__ import annotations

from dataclasses import dataclass

from lingvis.data.sentence_source import SentenceSource
from lingvis.errors import UserError, choices


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationProtocol:
    """How a number is measured.

    splits: the allowed splits, the default first. sources: where the sentences come from; the first source that the
    split has is used. fallback: the source of languages that this one lacks; machine translations never replace the
    sentences of a language in `human`. images: required number per language, None for any number. most: number of
    captions per image and language that count, the first ones, None for all. captions: number that must remain, None
    for any number; otherwise the dataset does not fit. folds: number of consecutive parts of the images, over which
    scores are averaged. languages: to measure, all of the split when empty; optional: the languages that a split may
    lack. human: the languages with human captions, for HA.
    """

    name: str
    summary: str
    splits: tuple[str, ...] = ("test",)
    sources: tuple[SentenceSource, ...] = ("captions",)
    fallback: SentenceSource | None = None
    images: int | None = None
    most: int | None = None
    captions: int | None = None
    folds: int = 1
    languages: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    human: tuple[str, ...] = ()

    def split(self, requested: str | None) -> str:
        """The requested split, or the default."""
        if requested is None:
            return self.splits[0]
        if requested not in self.splits:
            raise UserError(
                f"protocol {self.name} is not measured on split {requested!r}; choose one of: {choices(self.splits)}"
            )
        return requested


PROTOCOLS: dict[str, EvaluationProtocol] = {
    protocol.name: protocol
    for protocol in (
        EvaluationProtocol(
            name="all",
            summary="per language, all captions of the split against all images with a caption in this language",
            splits=("test", "val", "train"),
            fallback="translated",
        ),
        EvaluationProtocol(
            name="parallel",
            summary="per language, the translations of the split, one sentence per image",
            splits=("test", "val"),
            sources=("parallel",),
            captions=1,
        ),
        EvaluationProtocol(
            name="translated",
            summary="per language, the machine translations of the split, also where there are human captions",
            splits=("test", "val"),
            sources=("translated",),
        ),
        EvaluationProtocol(
            name="flickr-1k",
            summary="the 1,000 test images of Flickr8k or Flickr30K with five captions each",
            images=1000,
            captions=5,
        ),
        EvaluationProtocol(
            name="coco-5k",
            summary="the 5,000 test images of COCO (Karpathy split) at once, the first five captions of each",
            images=5000,
            most=5,
            captions=5,
        ),
        EvaluationProtocol(
            name="coco-1k-5fold",
            summary="mean over five consecutive folds of 1,000 of the 5,000 COCO images",
            images=5000,
            most=5,
            captions=5,
            folds=5,
        ),
        EvaluationProtocol(
            name="multi30k-task1",
            summary="1,000 test images of Multi30K, one caption each: the translations of task 1",
            sources=("parallel", "captions"),
            images=1000,
            captions=1,
        ),
        EvaluationProtocol(
            name="multi30k-task2",
            summary="1,000 test images of Multi30K, five captions each: the independent captions of task 2",
            images=1000,
            captions=5,
        ),
        EvaluationProtocol(
            name="smalr-multi30k",
            summary="SMALR on Multi30K: 1,000 test images; human captions in en, de, fr, cs, the others translated",
            fallback="translated",
            images=1000,
            most=5,
            languages=("en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"),
            human=("en", "de", "fr", "cs"),
        ),
        EvaluationProtocol(
            name="smalr-coco",
            summary="SMALR on COCO: 1,000 test images; human captions in en, zh, ja, the others translated",
            fallback="translated",
            images=1000,
            most=5,
            languages=("en", "zh", "ja", "de", "fr", "cs", "ar", "af", "ko", "ru"),
            human=("en", "zh", "ja"),
        ),
        EvaluationProtocol(
            name="xtd10",
            summary="XTD10: 1,000 COCO images, one sentence each: Japanese captions, translations in the others",
            sources=("parallel",),
            fallback="captions",
            images=1000,
            captions=1,
            languages=("en", "de", "fr", "it", "es", "ru", "ja", "zh", "pl", "tr", "ko"),
            human=("en", "de", "fr", "it", "es", "ru", "ja", "zh", "pl", "tr", "ko"),
        ),
        EvaluationProtocol(
            name="flickr8k-ml",
            summary="ten languages on Flickr8k; A over the languages of the split, HA over en, de, fr, cs, pt, zh",
            splits=("test", "val"),
            languages=("en", "de", "fr", "cs", "pt", "zh", "ar", "ug", "bo", "mn"),
            optional=("ug", "bo", "mn"),
            human=("en", "de", "fr", "cs", "pt", "zh"),
        ),
        EvaluationProtocol(
            name="flickr8k-ml-translated",
            summary="flickr8k-ml with two more languages that are machine translations of English: es and uk",
            splits=("test", "val"),
            fallback="translated",
            languages=("en", "de", "fr", "cs", "pt", "zh", "ar", "ug", "bo", "mn", "es", "uk"),
            optional=("ug", "bo", "mn"),
            human=("en", "de", "fr", "cs", "pt", "zh"),
        ),
        EvaluationProtocol(
            name="flickr8k-ml-parallel",
            summary="one sentence per image in en, de, fr, cs, pt, all translations of one another",
            splits=("test", "val"),
            sources=("parallel",),
            captions=1,
            languages=("en", "de", "fr", "cs", "pt"),
            human=("en", "de", "fr", "cs", "pt"),
        ),
    )
}


def find_protocol(name: str | EvaluationProtocol) -> EvaluationProtocol:
    """The protocol of this name; a protocol is returned unchanged."""
    if isinstance(name, EvaluationProtocol):
        return name
    if name not in PROTOCOLS:
        raise UserError(f"unknown protocol {name!r}; choose one of: {choices(PROTOCOLS)}")
    return PROTOCOLS[name]
