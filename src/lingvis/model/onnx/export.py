"""Write a finished model in ONNX: `lingvis.export`, `lingvis export`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
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
from lingvis.hardware import core_count
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
    WEIGHTS,
    ModelConfig,
    check_target,
    copy_calibration,
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
from lingvis.model.onnx.session import load_onnxruntime, open_session
from lingvis.model.onnx.stored import StoredTensor, read_int8
from lingvis.pretrained import find_model
from lingvis.text.tokenizers.base import Tokenizer

# Graphs are recorded from the first sentences and compared with torch on others, of another number and length.
RECORDED = ["one", "one two three"]
CHECKED = ["one two three four five six", "", "two"]
LARGEST_DIFFERENCE = 0.005  # of a value of an embedding


@dataclass(frozen=True, slots=True)
class Export:
    """A model that was written in ONNX; text, image, folder: bytes of the graphs and of all files written."""

    model: str
    base: str
    text: int
    image: int
    folder: int
    image_fingerprint: str


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A side of a model to export.

    dynamic: the dimensions of its inputs that may have any size. recorded, checked: inputs of different sizes.
    """

    name: str
    graph: nn.Module
    dynamic: Mapping[str, Mapping[int, str]]
    recorded: dict[str, Tensor]
    checked: dict[str, Tensor]


def export(run: str | Path, out: str | Path | None = None, *, force: bool = False) -> Export:
    """Write a model for onnxruntime, without torch: a model folder `out`, or graphs beside the weights in `run`.

    Both sides become graphs, the backbone included. Weights are stored as int16, or as int8 if the model folder is of
    int8; the computation is in float32. The fingerprints stay: a collection of one model can be searched with the other.
    Graphs in `run` refer to its int8 weights instead of repeating them. force: replace a model folder at `out`.
    """
    onnx = _load_onnx()
    source = find_model(run)
    target = source if out is None else Path(out)
    config = ModelConfig.read(source)
    if out is not None:
        check_target(source, target, force=force)
    embedder = Embedder.load(source, device="cpu")
    _check_exportable(embedder, config)
    write = partial(_write_graph, onnx, embedder, read_int8(source / WEIGHTS))
    beside = out is None
    graphs = {
        Path(IMAGE_GRAPH): write(_image_side(embedder), beside_weights=beside),
        Path(TEXT_GRAPH): write(_text_side(embedder), beside_weights=beside),
    }
    for lang in embedder.added:  # in a folder below, from which a graph may not refer to the weights
        graphs[Path(ADDED, lang, TEXT_GRAPH)] = write(_added_side(embedder, lang), beside_weights=False)
    config = config.model_copy(
        update={
            "image_fingerprint": embedder.image_fingerprint,
            "text_fingerprint": embedder.text_fingerprint,
        }
    )
    if out is None:
        with one_writer(source):
            _write_graphs(source, graphs)
            config.write(source)  # last: without it, the graphs are not used
    else:
        with one_writer(target), atomic_folder(target) as folder:
            check_target(source, target, force=force)  # again: another process may have made it meanwhile
            _write_graphs(folder, graphs)
            embedder.tokenizer.save(folder)
            copy_calibration(source, folder)
            for lang, language in embedder.added.items():
                language.tokenizer.save(folder / ADDED / lang)
                write_added_config(folder, language.config)
            section = exported_section(base=source.resolve().name)
            write_text(folder / CARD, read_card(source) + section)
            config.model_copy(update={"name": target.resolve().name}).write(folder)
    return Export(
        model=target.resolve().name,
        base=source.resolve().name,
        text=sum(len(graph) for file, graph in graphs.items() if file.name == TEXT_GRAPH),
        image=len(graphs[Path(IMAGE_GRAPH)]),
        folder=folder_bytes(target),
        image_fingerprint=embedder.image_fingerprint,
    )


def _check_exportable(embedder: Embedder, config: ModelConfig) -> None:
    """Raise if a part of the model has no graph, or if nothing makes its features from a picture."""
    text, reason = embedder.model.text, ""
    if not embedder.inner_product:
        reason = f"similarity {config.model.similarity.name} is no inner product of a picture and a sentence"
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


def _image_side(embedder: Embedder) -> _Side:
    features, preprocessing = embedder.features, embedder.features.preprocessing
    assert preprocessing is not None  # checked
    backbone = embedder.backbone
    network: nn.Module = StoredPixels()
    if not isinstance(backbone, BackboneInput):
        encoder = PictureEncoder(backbone, kind=features.kind, regions=features.region_mode)
        network = FrozenNetwork(backbone, preprocessing, kind=features.kind, cells=encoder.uses_cells)
    shape = (len(CHECKED), preprocessing.size, preprocessing.size, 3)
    pixels = torch.randint(256, shape, generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    side = fixed_size(embedder.model.image, network, pixels[:1])
    return _Side(
        "image",
        ImageGraph(network, side, embedder.model.similarity),
        {"pixels": {0: "batch"}},
        recorded={"pixels": pixels[:2]},
        checked={"pixels": pixels},
    )


def _text_side(embedder: Embedder) -> _Side:
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
    return _sentences(graph, embedder.tokenizer, embedder.trained[0])


def _added_side(embedder: Embedder, lang: str) -> _Side:
    text, added = embedder.model.text, embedder.added[lang]
    side = Branch(words=exportable_words(added.branch.words), text=text, place=added.branch.place)
    return _sentences(TextGraph(side, embedder.model.similarity, shared=text), added.tokenizer, lang)


def _sentences(graph: TextGraph, tokenizer: Tokenizer, lang: str) -> _Side:
    recorded, checked = (
        {
            name: torch.from_numpy(values)
            for name, values in text_inputs(tokenizer, texts, [lang] * len(texts)).items()
        }
        for texts in (RECORDED, CHECKED)
    )
    sizes = {0: "batch", 1: "length"}
    dynamic = {"ids": sizes, "mask": sizes, "letters": {0: "words"}}
    return _Side("text", graph, {name: dynamic[name] for name in recorded}, recorded, checked)


def _write_graph(
    onnx: Any, embedder: Embedder, stored: Sequence[StoredTensor], side: _Side, *, beside_weights: bool
) -> bytes:
    """The graph of a side with smaller weights; raises if it does not compute the same as torch.

    stored: the int8 weights of the model folder. beside_weights: whether the graph is in that folder and refers to them.
    """
    from lingvis.model.onnx.weights import reduce_weights, refer_to  # needs onnx

    reason = ""
    try:
        model = onnx.load_from_string(to_onnx(side.graph, side.recorded, side.dynamic))
        reduce_weights(model, stored)
        model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = embedder.dim  # not always inferred
        content: bytes = model.SerializeToString()
        inputs = {name: values.numpy() for name, values in side.checked.items()}
        (embeddings,) = open_session(content, core_count()).run(None, inputs)
        with torch.no_grad():
            difference = float((torch.from_numpy(embeddings) - side.graph(**side.checked)).abs().max())
        if difference > LARGEST_DIFFERENCE:
            reason = f"its embeddings differ by {difference:.4f}"
    except (
        Exception
    ) as error:  # torch, onnx and onnxruntime raise many kinds of errors for parts they do not have
        reason = next(iter(str(error).splitlines()), type(error).__name__)
    if reason:
        raise UserError(
            f"model {embedder.name} cannot be exported: a part of its {side.name} side does not work in ONNX ({reason}); "
            "use the model folder with torch"
        )
    if beside_weights:
        refer_to(model, WEIGHTS, stored)
        content = model.SerializeToString()
    return content


def _load_onnx() -> Any:
    """The onnx library; raises if it, or onnxruntime, is not installed."""
    load_onnxruntime()
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise UserError("exporting a model needs onnx; run: pip install 'lingvis[export]'") from error


def _write_graphs(folder: Path, graphs: Mapping[Path, bytes]) -> None:
    for name, graph in graphs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / name) as temporary:
            temporary.write_bytes(graph)
