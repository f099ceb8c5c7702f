"""Tables of the shipped model: in each precision, and by onnxruntime beside torch."""

from __future__ import annotations

from lingvis.pretrained import DEFAULT
from studies.pretrained import without_torch
from studies.pretrained.precision import FOLDER, PRECISIONS, record_name
from studies.tables.markdown import table
from studies.tables.results.records import Results


def precision_table(results: Results) -> str:
    """Size, mR by language and speed of the shipped model, one row per precision."""
    found = [results.find(FOLDER, record_name(DEFAULT, "test", weights)) for weights in PRECISIONS]
    records = [record for record in found if record is not None]
    if not records:
        return f"The precision of `{DEFAULT}` has not been measured yet."
    languages = list(records[0]["languages"])
    rows = [
        [
            record["weights"],
            f"{record['weight_bytes'] / 1e6:.1f}",
            *(f"{record['languages'][lang]['mR']:.2f}" for lang in languages),
            f"{record['A']:.2f}",
            f"{record['ms_per_sentence']:.1f}",
            f"{record['ms_per_picture']:.0f}",
        ]
        for record in records
    ]
    return table(["weights", "MB", *languages, "A", "ms per sentence", "ms per picture"], rows)


def without_torch_table(results: Results) -> str:
    """Scores, times and sizes of the shipped model by torch and by onnxruntime."""
    record = results.find(without_torch.FOLDER, f"{DEFAULT}/test")
    if record is None:
        return f"`{DEFAULT}` without torch has not been measured yet."
    languages, encoding, search = record["languages"].values(), record["encoding"], record["search"]
    mean = {key: sum(each[f"mR_{key}"] for each in languages) / len(languages) for key in ("torch", "onnx")}
    cold = search["cold"]
    numbers = {
        "mR, mean of the languages": [f"{mean[key]:.2f}" for key in ("torch", "onnx")],
        "ms per sentence, one core": [f"{encoding[key]['ms_per_sentence']:.1f}" for key in ("torch", "onnx")],
        "ms per decoded picture, one core": [
            f"{encoding[key]['ms_per_picture']:.0f}" for key in ("torch", "onnx")
        ],
        "first `lingvis search`, s": [f"{cold[key]['seconds']:.2f}" for key in ("torch", "onnx")],
        "of the processor, s": [f"{cold[key]['cpu_seconds']:.2f}" for key in ("torch", "onnx")],
        "its memory, MB": [f"{cold[key]['megabytes']:.0f}" for key in ("torch", "onnx")],
        "a later search, ms": [f"{search['warm_ms'][key]:.1f}" for key in ("torch", "onnx")],
    }
    difference = max(each["largest_difference"] for each in languages)
    equal = min(each["equal_ranks"] for each in languages)
    return "\n".join(
        [
            table(["", "torch", "onnxruntime"], [[name, *values] for name, values in numbers.items()]),
            "",
            f"The largest difference of a score on split test of {record['dataset']} is {difference:.1e}; at least "
            f"{100 * equal:.2f} % of the ranks of each language are equal. The collection has "
            f"{search['pictures']} pictures.",
        ]
    )
