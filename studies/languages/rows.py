"""The rows of the language tables: recipes and values."""

from __future__ import annotations

from dataclasses import dataclass

from studies.method import NO_PSEUDO_CAPTIONS

LANGUAGES = ("en", "de", "fr", "cs", "pt", "zh", "ar", "ug", "bo", "mn")
NO_TEST = ("ug", "bo", "mn")
TRANSLATED = ("es", "uk")  # machine translations of English, in `parallel` of the dataset
TEXT_ONLY = ("en", "de", "fr", "cs", "pt")  # those that have sentences without pictures


@dataclass(frozen=True)
class Row:
    """A recipe with overrides, trained with `seeds`.

    val_only: for selection, never measured on test. keep: other studies need its models. translated: languages that it
    learns from machine translations, which the dataset must have.
    """

    name: str
    recipe: str
    overrides: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    val_only: bool = False
    keep: bool = False
    translated: tuple[str, ...] = ()


def _languages(*codes: str) -> str:
    return "data.languages=[" + ",".join(f'"{code}"' for code in codes) + "]"


def _slower(share: float) -> tuple[str, ...]:
    """LIWE's schedule counted in the steps of one language, which is in this share of the batches.

    Counted in all steps, the hardest negatives come before ten languages are learnt, and the model collapses.
    """
    return (
        f"terms.matching.objective.base={0.991**share:.5f}",
        f"terms.captions.objective.base={0.91**share:.5f}",
    )


# With earlier forms of the recipes, which no command trains any more.
EARLIER_ROWS = ("mule-fixed-rise", "smalr-fixed-rise")
LEARN_TRANSLATED = "data.translated=true"
SEEDS = (0, 1, 2)  # of rows that decide a claim
LIWE_PASSES = 10  # over the pictures in an epoch of recipe s_liwe
# By languages, the passes in which English and German are in as many batches as with these two alone. A batch has two
# languages, and those with more captions are drawn more often.
EQUAL_PASSES = {7: 25, 10: 40}
EQUAL_PASSES_WITH_TRANSLATIONS = 13  # the same for English and German with Spanish and Ukrainian
# What may cost LA its points: word vectors that were trained apart, and a short pre-training (875 steps).
APART, SHORT = "data.vectors=captions", "pretraining.epochs=1"
EXPLORING = ("la", "hem", "smalr")  # models whose latent vocabulary is learnt with exploration
# LIWE with one language: batches of captions.
ONE = (
    "training.sampling.name=captions",
    "training.sampling.bucket=1",
    "training.epochs=30",
    "schedule.epochs=[15]",
)


def _one_language() -> list[Row]:
    """A model for each language."""
    rows = [
        Row(f"embn-{lang}", "embn", (_languages(lang),), val_only=lang in NO_TEST, keep=lang == "en")
        for lang in LANGUAGES
    ]
    # With the paper's one epoch of easy negatives five of these languages collapse. With one caption per picture an
    # epoch is a fifth as long.
    usual = ("terms.matching.objective.warmup_epochs=5", "training.epochs=16")
    one_caption = ("terms.matching.objective.warmup_epochs=10", "training.epochs=60", "schedule.epochs=[36]")
    warm_up = {"en": (), "pt": (), "ar": (), "fr": one_caption, "cs": one_caption}
    return rows + [
        Row(
            f"vse_infinity-{lang}",
            "vse_infinity_region",
            (_languages(lang), *warm_up.get(lang, usual)),
            val_only=lang in NO_TEST,
        )
        for lang in LANGUAGES
    ]


def _many_languages() -> list[Row]:
    """SMALR's tables: its own models, its rivals, and smaller vocabularies."""
    return [
        Row("s_liwe-1", "s_liwe", (_languages("en"), *ONE), SEEDS),
        Row("s_liwe-2", "s_liwe", (_languages("en", "de"),), SEEDS),
        Row("s_liwe-10", "s_liwe", _slower(2 / 10), SEEDS, keep=True),
        Row("l_liwe-10", "l_liwe", _slower(2 / 10), keep=True),
        Row("par_embn", "par_embn"),
        Row("mule", "mule", seeds=SEEDS, keep=True),
        Row("mule-aligned", "mule", ("data.vectors=aligned",), SEEDS),
        Row("la", "la", seeds=SEEDS, keep=True),
        Row("la-apart", "la", (APART,)),
        Row("la-short", "la", (SHORT,)),
        Row("la-apart-short", "la", (APART, SHORT)),
        Row("hem", "hem", seeds=SEEDS, keep=True),
        Row("smalr", "smalr", seeds=SEEDS, keep=True),
        *(Row(f"{name}-no-exploration", name, ("pretraining.explore=0.0",), SEEDS) for name in EXPLORING),
        *(Row(f"threshold-{t}", "mule", (f"text.tokenizer.min_count={t}",)) for t in (5, 20, 50)),
        *(Row(f"pca-{d}", "mule", (f"text.words.vector_dim={d}",)) for d in (50, 100, 200)),
        *(
            Row(
                f"dictionary-{t}",
                "mule",
                (f"text.tokenizer.rare_below={t}", "text.tokenizer.dictionaries=dictionaries"),
            )
            for t in (5, 20, 50)
        ),
        *(
            Row(f"smalr-lambda-{power}", "smalr", (f"terms.masked.weight=1e-{power}",), val_only=True)
            for power in (1, 2, 3, 5)
        ),
    ]


def _numbers_of_languages() -> list[Row]:
    """The first languages; 7 are those with test captions."""
    first = {count: _languages(*LANGUAGES[:count]) for count in (2, 4, 6, 7, 8)}
    rows = [
        Row(f"{name}-{count}-languages", name, (first[count],), SEEDS)
        for name in ("mule", "smalr")
        for count in (2, 7)
    ]
    return rows + [
        Row(f"s_liwe-{count}-languages", "s_liwe", (first[count], *_slower(2 / count))) for count in (4, 6, 8)
    ]


def _equal_exposure() -> list[Row]:
    """LIWE with as many steps per language as with two; in MULE and SMALR every step has all languages anyway."""
    return [
        Row(
            f"s_liwe-{count}-equal",
            "s_liwe",
            (
                _languages(*LANGUAGES[:count]),
                *_slower(LIWE_PASSES / passes),
                f"training.sampling.passes={passes}",
            ),
            SEEDS,
        )
        for count, passes in EQUAL_PASSES.items()
    ]


def _translated_languages() -> list[Row]:
    """Two and ten languages with two more that are translations of English, as most languages of SMALR's tables are."""
    rows = []
    for count in (2, 10):
        values = (_languages(*LANGUAGES[:count], *TRANSLATED), LEARN_TRANSLATED)
        # With ten languages, two more change nothing for the others: few captions are drawn seldom.
        passes = EQUAL_PASSES_WITH_TRANSLATIONS if count == 2 else LIWE_PASSES
        share = LIWE_PASSES / passes if count == 2 else 2 / count
        for name in ("s_liwe", "mule", "smalr"):
            own = (*_slower(share), f"training.sampling.passes={passes}") if name == "s_liwe" else ()
            seeds = SEEDS if count == 2 else (0,)
            rows.append(
                Row(
                    f"{name}-{count}-es-uk",
                    name,
                    (*values, *own),
                    seeds,
                    keep=name == "smalr",
                    translated=TRANSLATED,
                )
            )
    return rows


def _machine_captions() -> list[Row]:
    """Portuguese from human captions, from machine translations of the English ones, and from both.

    Letters alone: word vectors would have seen the human captions.
    """
    both = _languages("en", "pt")
    return [
        Row("s_liwe-en-pt", "s_liwe", (both,), SEEDS),
        Row(
            "s_liwe-en-pt-machine",
            "s_liwe",
            (both, LEARN_TRANSLATED, 'data.annotated_languages=["en"]'),
            SEEDS,
            translated=("pt",),
        ),
        Row("s_liwe-en-pt-both", "s_liwe", (both, LEARN_TRANSLATED), SEEDS, translated=("pt",)),
    ]


def _liwe_sizes() -> list[Row]:
    """Table 1 of LIWE's supplement."""
    sizes = ((128, 256), (128, 384), (256, 256), (128, 512), (384, 384), (512, 512), (1024, 512))
    return [
        *(
            Row(
                f"liwe-{first}-{second}",
                "s_liwe",
                (_languages("en"), *ONE, f"text.words.layers=[{first},{second}]"),
            )
            for first, second in sizes
        ),
        Row(
            "liwe-char-gru",
            "s_liwe",
            (_languages("en"), *ONE, "text.words.name=char_gru", "text.words.dim=300"),
        ),
        Row("clmr_gru", "clmr_gru"),
    ]


def _own() -> list[Row]:
    """Our own recipe: with all languages, without one that is added later, and with few annotations."""
    some, whole = _languages(*TEXT_ONLY), ("data.images=1.0", "training.sampling.passes=10")
    everything = (some, *whole, *NO_PSEUDO_CAPTIONS, "training.graphs=true")
    return [
        Row("lingvis", "lingvis", seeds=(0, 1, 2), keep=True),
        Row("lingvis_frozen", "lingvis_frozen", keep=True),
        *(
            Row(
                f"lingvis_frozen-without-{left}",
                "lingvis_frozen",
                (_languages(*(lang for lang in LANGUAGES if lang != left)),),
                val_only=True,
                keep=True,
            )
            for left in ("fr", "cs", "ar", "bo")
        ),
        Row("lingvis_sparse-20", "lingvis_sparse", (some,), seeds=(0, 1, 2)),
        Row(
            "lingvis_sparse-all",
            "lingvis_sparse",
            (*everything, "data.annotated_languages=[]"),
            seeds=(0, 1, 2),
        ),
        Row("lingvis_sparse-all-en", "lingvis_sparse", everything),
    ]


ROWS = {
    row.name: row
    for row in (
        *_one_language(),
        *_many_languages(),
        *_numbers_of_languages(),
        *_equal_exposure(),
        *_translated_languages(),
        *_machine_captions(),
        *_liwe_sizes(),
        *_own(),
    )
}
