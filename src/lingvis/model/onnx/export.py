"""Write a finished model in ONNX: `lingvis.export`, `lingvis export`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.features.backbones import BackboneInput
from lingvis.features.encode import PictureEncoder
from lingvis.files import atomic_file, atomic_folder, write_text
from lingvis.lock import one_writer
from lingvis.model.added_language import Branch, write_added_config
from lingvis.model.card import exported_section
from lingvis.model.dual_encoder import TextSide
from lingvis.model.embedder import Embedder
from lingvis.model.folder import (
    ADDED,
    CARD,
    IMAGE_GRAPH,
    TEXT_GRAPH,
    ModelConfig,
    check_target,
    folder_bytes,
    read_card,
)
from lingvis.model.onnx.graphs import (
    FrozenNetwork,
    ImageGraph,
    StoredPixels,
    TextGraph,
    exportable_words,
    fixed_size,
    to_onnx,
)
from lingvis.model.onnx.inputs import text_inputs
from lingvis.model.onnx.session import load_onnxruntime
from lingvis.pretrained import find_model
from lingvis.text.tokenizers.base import Tokenizer

# Two sentences of different lengths, from which the graph is recorded; any words do.
EXAMPLES = ["one", "one two three"]


@dataclass(frozen=True, slots=True)
class Export:
    """A model that was written in ONNX; text, image, folder: bytes of the graphs and of all files written."""

    model: str
    base: str
    text: int
    image: int
    folder: int
    image_fingerprint: str


def export(run: str | Path, out: str | Path, *, force: bool = False) -> Export:
    """Write the model folder `run` to `out` for onnxruntime, without torch, atomically.

    Both sides become graphs, the backbone included. Weights are stored as float16, or as int8 if the model folder is of
    int8, and computed with in float32. The fingerprints stay: a collection of one model can be searched with the other.
    force: replace a model folder at `out`.
    """
    onnx = _load_onnx()
    source, target = find_model(run), Path(out)
    config = ModelConfig.read(source)
    check_target(source, target, force=force)
    embedder = Embedder.load(source, device="cpu")
    _check_exportable(embedder, config)
    finish = partial(_finish, onnx, embedder.dim)
    image, text = finish(_image_graph(embedder)), finish(_text_graph(embedder))
    added = {lang: finish(_added_graph(embedder, lang)) for lang in embedder.added}
    with one_writer(target), atomic_folder(target) as folder:
        check_target(source, target, force=force)  # again: another process may have made it meanwhile
        _write(folder / IMAGE_GRAPH, image)
        _write(folder / TEXT_GRAPH, text)
        embedder.tokenizer.save(folder)
        for lang, graph in added.items():
            branch_folder = folder / ADDED / lang
            branch_folder.mkdir(parents=True)
            _write(branch_folder / TEXT_GRAPH, graph)
            embedder.added[lang].tokenizer.save(branch_folder)
            write_added_config(folder, embedder.added[lang].config)
        name, base = target.resolve().name, source.resolve().name
        write_text(folder / CARD, read_card(source) + exported_section(base=base))
        fingerprints = {
            "image_fingerprint": embedder.image_fingerprint,
            "text_fingerprint": embedder.text_fingerprint,
        }
        config.model_copy(update={"name": name, **fingerprints}).write(folder)
        return Export(
            model=name,
            base=base,
            text=len(text) + sum(map(len, added.values())),
            image=len(image),
            folder=folder_bytes(folder),
            image_fingerprint=embedder.image_fingerprint,
        )


def _check_exportable(embedder: Embedder, config: ModelConfig) -> None:
    """Raise if a part of the model has no graph, or if nothing makes its features from a picture."""
    text, reason = embedder.model.text, ""
    if not embedder.inner_product:
        reason = f"similarity {config.model.similarity.name} does not compare one embedding per picture and sentence"
    elif text.encoder.per_language or text.head.per_language:
        reason = (
            "its text encoder or head has one layer per language, and a graph is the same for every sentence"
        )
    elif config.model.text.words.name == "transformer":
        reason = "its words come from a transformer, whose tokenizer needs another library"
    elif embedder.features.preprocessing is None:
        reason = f"its features, {embedder.features.name}, were imported, so that no network makes them of a picture"
    if reason:
        raise UserError(
            f"model {embedder.name} cannot be exported: {reason}; use the model folder with torch"
        )


def _image_graph(embedder: Embedder) -> bytes:
    features, preprocessing = embedder.features, embedder.features.preprocessing
    assert preprocessing is not None  # checked
    backbone = embedder.backbone
    network: nn.Module = StoredPixels()
    if not isinstance(backbone, BackboneInput):
        encoder = PictureEncoder(backbone, kind=features.kind, regions=features.region_mode)
        network = FrozenNetwork(backbone, preprocessing, kind=features.kind, cells=encoder.uses_cells)
    pixels = torch.zeros(2, preprocessing.size, preprocessing.size, 3, dtype=torch.uint8)
    side = fixed_size(embedder.model.image, network, pixels)
    graph = ImageGraph(network, side, embedder.model.similarity)
    return to_onnx(graph, {"pixels": pixels}, {"pixels": {0: "batch"}})


def _text_graph(embedder: Embedder) -> bytes:
    text = embedder.model.text
    side = TextSide(
        augment=text.augment,
        words=exportable_words(text.words),
        encoder=text.encoder,
        pooling=text.pooling,
        head=text.head,
        special=embedder.tokenizer.vocabulary.special,
    )
    graph = TextGraph(side, embedder.model.similarity)
    return _record(graph, embedder.tokenizer, embedder.trained)


def _added_graph(embedder: Embedder, lang: str) -> bytes:
    text, added = embedder.model.text, embedder.added[lang]
    side = Branch(words=exportable_words(added.branch.words), text=text, place=added.branch.place)
    return _record(TextGraph(side, embedder.model.similarity, shared=text), added.tokenizer, [lang])


def _record(graph: TextGraph, tokenizer: Tokenizer, languages: Sequence[str]) -> bytes:
    examples = text_inputs(tokenizer, EXAMPLES, [languages[0]] * len(EXAMPLES))
    inputs: dict[str, Tensor] = {name: torch.from_numpy(values) for name, values in examples.items()}
    sentences = {0: "batch", 1: "length"}
    dynamic = {"ids": sentences, "mask": sentences, "letters": {0: "words"}}
    return to_onnx(graph, inputs, {name: dynamic[name] for name in inputs})


def _finish(onnx: Any, dim: int, graph: bytes) -> bytes:
    """The graph with smaller weights; its output states the length of an embedding."""
    from lingvis.model.onnx.weights import reduce_weights  # needs onnx

    model = onnx.load_from_string(graph)
    reduce_weights(model)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = dim
    onnx.checker.check_model(model)
    finished: bytes = model.SerializeToString()
    return finished


def _load_onnx() -> Any:
    """The onnx library; raises if it, or onnxruntime, is not installed."""
    load_onnxruntime()
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise UserError("exporting a model needs onnx; run: pip install 'lingvis[export]'") from error


def _write(file: Path, graph: bytes) -> None:
    with atomic_file(file) as temporary:
        temporary.write_bytes(graph)
