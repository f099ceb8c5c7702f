"""An exported model in use: sentences and pictures -> embeddings, by onnxruntime and numpy; no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from lingvis.arrays import Floats, Ints
from lingvis.data.picture_input import PictureInput, check_pictures, describe_picture
from lingvis.errors import UserError
from lingvis.features.decoding.content import DecodeRequest, ViewRequest, decode_content, decode_file
from lingvis.features.pictures import BrokenPicture, DecodedPicture
from lingvis.features.prefetch import prefetch
from lingvis.features.preprocessing import Preprocessing
from lingvis.hardware import core_count
from lingvis.model.folder import (
    ADDED,
    CONFIG,
    IMAGE_GRAPH,
    TEXT_GRAPH,
    AddedConfig,
    ModelConfig,
    missing_graphs,
    report_damage,
)
from lingvis.model.onnx.inputs import pad, text_shapes
from lingvis.model.onnx.session import Graph
from lingvis.model.requests import check_dim, first_values, sentence_languages
from lingvis.pretrained import find_model
from lingvis.recipes.options import part_problems
from lingvis.recipes.schema import Part
from lingvis.text.tokenizers import TOKENIZERS, Tokenizer
from lingvis.untrusted import read_json

SENTENCES, PICTURES = 256, 32  # per batch


@dataclass(frozen=True, slots=True)
class TextBranch:
    """The text side of the model, or of an added language: its tokenizer and its graph.

    It computes in one thread: a sentence takes a millisecond, and threads that wait for each other take longer.
    """

    tokenizer: Tokenizer
    graph: Graph

    @classmethod
    def open(cls, folder: Path, part: Part) -> TextBranch:
        """Open the graph and the tokenizer of a folder; part: the tokenizer in its configuration."""
        with report_damage(str(folder / CONFIG)):
            problems = part_problems("tokenizer", {"tokenizer": part.model_dump()}, TOKENIZERS)
            if problems:
                raise ValueError("; ".join(problems))
            tokenizer = TOKENIZERS.get(part.name)(**part.options)
        with report_damage(f"the tokenizer in {folder}"):
            tokenizer.load(folder)
        return cls(tokenizer, Graph(folder / TEXT_GRAPH, text_shapes(tokenizer), threads=1))

    def encode(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """At least one sentence -> float32 [texts, dim]."""
        tokens = self.tokenizer(texts, langs)
        order = np.argsort([len(each) for each in tokens], kind="stable")  # little padding
        return _in_batches(
            order, SENTENCES, lambda rows: self.graph(**pad(self.tokenizer, [tokens[row] for row in rows]))
        )


class OnnxEmbedder:
    """A model folder that `lingvis export` wrote; it encodes as `Embedder` does, on the CPU.

    trained: the languages of the joint training. added: languages added later.
    """

    inner_product = pooled = True  # every model that can be exported

    def __init__(self, folder: Path, config: ModelConfig, *, threads: int) -> None:
        self.name, self.features = folder.resolve().name, config.features
        self.trained, self.added = list(config.languages), list(config.added)
        self.image_fingerprint, self.text_fingerprint = config.image_fingerprint, config.text_fingerprint
        self.folder, self._threads = folder, threads
        self._branches = {"": TextBranch.open(folder, config.model.text.tokenizer)}  # "": of the model
        for lang in self.added:
            path = folder / ADDED / lang
            with report_damage(str(path / CONFIG)):
                part = AddedConfig.model_validate(read_json(path / CONFIG)).tokenizer
            self._branches[lang] = TextBranch.open(path, part)

    @classmethod
    def load(cls, run: Path | str | None = None, *, threads: int | None = None) -> OnnxEmbedder:
        """Load an exported model: its folder, or the name of a model that comes with lingvis.

        threads: for pictures, by default one per core.
        """
        folder = find_model(run)
        config = ModelConfig.read(folder)
        missing = missing_graphs(folder, config)
        if missing:
            raise UserError(
                f"{folder} is no exported model ({', '.join(missing)} missing); make one with: lingvis export {folder}"
            )
        with report_damage(str(folder / CONFIG)):
            if config.features.preprocessing is None:
                raise ValueError("features.preprocessing is missing")
        return cls(folder, config, threads=threads or core_count())

    @property
    def languages(self) -> list[str]:
        """All languages: first the jointly trained, then the added ones."""
        return [*self.trained, *self.added]

    @property
    def uses_language(self) -> bool:
        """Whether the language of a sentence matters, so that a wrong one gives another embedding."""
        return bool(self.added or self._branches[""].tokenizer.vocabulary.languages)

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self._branches[""].graph.dim

    @property
    def preprocessing(self) -> Preprocessing:
        """How pictures become the pixels that `encode_decoded` takes."""
        assert self.features.preprocessing is not None  # checked in `load`
        return self.features.preprocessing

    def encode_texts(
        self, texts: Sequence[str], lang: str | Sequence[str], *, dim: int | None = None
    ) -> Floats:
        """Sentences -> float32 [texts, dim]; lang: the language of all, or one per sentence.

        dim: keep the first values only, scaled to unit length again.
        """
        langs = sentence_languages(texts, lang)
        check_dim(self.name, dim, self.dim)
        emb = np.zeros((len(texts), self.dim), np.float32)
        sides = [each if each in self.added else "" for each in langs]
        for side in dict.fromkeys(sides):
            rows = [row for row, each in enumerate(sides) if each == side]
            branch = self._branches[side]
            emb[rows] = branch.encode([texts[row] for row in rows], [langs[row] for row in rows])
        return emb if dim is None else first_values(emb, dim)

    def encode_images(self, pictures: Sequence[PictureInput], *, dim: int | None = None) -> Floats:
        """Pictures -> float32 [pictures, dim]; dim: as for `encode_texts`.

        pictures: paths, bytes, open files, images of Pillow, or arrays uint8 [height, width, 3].
        """
        check_pictures(pictures)
        check_dim(self.name, dim, self.dim)
        parts = [np.zeros((0, self.dim), np.float32)]
        decode = partial(_decode, DecodeRequest(views=ViewRequest(self.preprocessing)))
        for batch in prefetch(decode, pictures, batch_size=PICTURES):
            parts.append(self.encode_decoded([decoded for _, decoded in batch]))
        emb: Floats = np.concatenate(parts)
        return emb if dim is None else first_values(emb, dim)

    def encode_decoded(self, pictures: Sequence[DecodedPicture]) -> Floats:
        """Decoded pictures of one view each -> float32 [pictures, dim]."""
        if not pictures:
            return np.zeros((0, self.dim), np.float32)
        pixels = np.concatenate([picture.pixels for picture in pictures])
        return _in_batches(np.arange(len(pixels)), PICTURES, lambda rows: self._image(pixels=pixels[rows]))

    @cached_property
    def _image(self) -> Graph:
        """The image side, opened at first use."""
        side = self.preprocessing.size
        graph = Graph(self.folder / IMAGE_GRAPH, {"pixels": (None, side, side, 3)}, self._threads)
        if graph.dim != self.dim:
            raise UserError(
                f"{self.folder / IMAGE_GRAPH} has embeddings of {graph.dim} values, but those of sentences have "
                f"{self.dim}; export the model again"
            )
        return graph


def _decode(request: DecodeRequest, picture: PictureInput) -> DecodedPicture:
    try:
        views = decode_file(picture, request, decode_content).views
    except BrokenPicture as broken:
        name = describe_picture(picture)
        raise UserError(f"picture {name} cannot be used: {broken}; fix it or leave it out") from broken
    assert views is not None  # requested
    return views


def _in_batches(order: Ints, size: int, encode: Callable[[Ints], Floats]) -> Floats:
    """Encode rows in the given order; the results are in the original order."""
    parts = [encode(order[first : first + size]) for first in range(0, len(order), size)]
    emb = np.concatenate(parts)
    back = np.empty_like(emb)
    back[order] = emb
    return back
