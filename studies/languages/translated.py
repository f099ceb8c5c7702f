"""Records -> tables of machine translation: translated queries, sentences, captions and languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from studies.tables.markdown import spread, table
from studies.tables.results.language_scores import STUDY, scores
from studies.tables.results.languages import MISSING, MODELS, QUERY_METHODS, TRANSLATED_MODELS
from studies.tables.results.records import Results

KINDS = ("human", "machine")
SENTENCE_MODELS = {
    "s_liwe-10": "S-LIWE",
    "l_liwe-10": "L-LIWE",
    "mule": "MULE",
    "la": "LA",
    "hem": "HEM",
    **MODELS,
    "lingvis": "`lingvis`",
}
MACHINE_CAPTIONS = {
    "s_liwe-en-pt": "human",
    "s_liwe-en-pt-machine": "machine translations of the English captions",
    "s_liwe-en-pt-both": "both",
}
COMMON = ("en", "de")  # languages of all models in the table of translated languages
ADDED = ("es", "uk")
TRANSLATED_LANGUAGES = {
    "S-LIWE, 2": "s_liwe-2",
    "S-LIWE, 2 and es, uk": "s_liwe-2-es-uk",
    "S-LIWE, 7": "s_liwe-7-equal",
    "S-LIWE, 10": "s_liwe-10",
    "S-LIWE, 10 and es, uk": "s_liwe-10-es-uk",
    "MULE, 2": "mule-2-languages",
    "MULE, 2 and es, uk": "mule-2-es-uk",
    "MULE, 7": "mule-7-languages",
    "MULE, 10": "mule",
    "MULE, 10 and es, uk": "mule-10-es-uk",
    "SMALR, 2": "smalr-2-languages",
    "SMALR, 2 and es, uk": "smalr-2-es-uk",
    "SMALR, 7": "smalr-7-languages",
    "SMALR, 10": "smalr",
    "SMALR, 10 and es, uk": "smalr-10-es-uk",
}


def consistency(results: Results) -> str:
    """mR with human and with machine translations of the same sentences, one table per pair of languages."""
    record = results.find(STUDY, "consistency-machine")
    if record is None:
        return f"{MISSING.capitalize()}."
    parts = []
    for name, pair in record["pairs"].items():
        languages = name.split("-")
        rows = [
            ["EmbN, English, queries translated", kind, "", _of(pair[kind], languages[1])] for kind in KINDS
        ]
        for model, reports in pair["models"].items():
            rows += _model_rows(TRANSLATED_MODELS.get(model, f"`{model}`"), reports, languages)
        head = ["queries", "translations", *languages]
        parts.append(
            f"**{languages[0]} and {languages[1]}**, by `{pair['translator']}`\n\n{table(head, rows, left=2)}"
        )
    return "\n\n".join(parts)


def _model_rows(label: str, reports: Mapping[str, Any], languages: Sequence[str]) -> list[list[str]]:
    """The sentences alone, translated into the other language, and together with the translation."""
    rows = [
        [f"{label}, {QUERY_METHODS['single']}", "", *(_of(reports["single"], lang) for lang in languages)]
    ]
    for kind in KINDS:
        own = reports[kind]
        read = [_of(own["translated"][lang], lang) for lang in languages]
        rows.append([f"{label}, translated into the other language", kind, *read])
        for method in ("mean", "learned"):
            numbers = [_of(own[method], lang) for lang in languages]
            rows.append([f"{label}, {QUERY_METHODS[method]}", kind, *numbers])
    return rows


def sentences(results: Results) -> str:
    """SMALR's Table 17: mR on human and on machine-translated test sentences, and the rank of each model."""
    record = results.find(STUDY, "sentences")
    if record is None:
        return f"{MISSING.capitalize()}."
    by_kind = sentence_scores(record)
    columns = [(lang, kind) for lang in by_kind for kind in KINDS]
    ranks = {
        column: sorted(values.values(), reverse=True)
        for column in columns
        if (values := by_kind[column[0]][column[1]])
    }
    rows = []
    for model in _known(record["models"]):
        numbers = []
        for lang, kind in columns:
            value = by_kind[lang][kind].get(model)
            numbers += (
                ["", ""] if value is None else [f"{value:.1f}", str(ranks[lang, kind].index(value) + 1)]
            )
        rows.append([SENTENCE_MODELS.get(model, f"`{model}`"), *numbers])
    head = [name for lang, kind in columns for name in (f"{lang}, {kind}", "rank")]
    return table(["model", *head], rows)


def sentence_scores(record: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """Language -> kind of sentences -> model -> mR; zero-shot numbers are left out."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for model, kinds in record["models"].items():
        for kind, languages in kinds.items():
            for lang, values in languages.items():
                of_lang = found.setdefault(lang, {each: {} for each in KINDS})
                if not values["zero_shot"]:
                    of_lang[kind][model] = values["mR"]
    return found


def _known(models: Mapping[str, Any]) -> list[str]:
    """Models in the order of SENTENCE_MODELS, then others."""
    return [
        *(name for name in SENTENCE_MODELS if name in models),
        *(n for n in models if n not in SENTENCE_MODELS),
    ]


def machine_captions(results: Results) -> str:
    """A language learnt from human captions, from machine translations, and from both; measured on human captions."""
    rows = []
    for name, label in MACHINE_CAPTIONS.items():
        row = scores(results, name)
        numbers = [MISSING, "", ""]
        if row is not None:
            numbers = [*(spread(row.test[lang]) for lang in ("en", "pt")), row.seeds]
        rows.append([label, *numbers])
    return table(["Portuguese training captions", "en", "pt", "seeds"], rows)


def translated_languages(results: Results) -> str:
    """English and German with and without two languages that are translations of English."""
    rows = []
    for label, name in TRANSLATED_LANGUAGES.items():
        row = scores(results, name)
        if row is None:
            rows.append([label, MISSING, *[""] * 5])
            continue
        numbers = [spread(row.test[lang]) if lang in row.test else "" for lang in (*COMMON, *ADDED)]
        both = row.average(COMMON)
        rows.append([label, *numbers[:2], "" if both is None else spread(both), *numbers[2:], row.seeds])
    return table(["model, languages", *COMMON, "mean", *(f"{lang} †" for lang in ADDED), "seeds"], rows)


def _of(report: Mapping[str, Any], lang: str) -> str:
    return f"{report['languages'][lang]['mR']:.1f}" if lang in report["languages"] else ""
