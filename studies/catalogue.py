"""The table of all studies: name, what it does, and the module whose `main` runs it."""

from __future__ import annotations

from typing import NamedTuple


class Study(NamedTuple):
    """One entry of `python -m studies`."""

    summary: str
    module: str


STUDIES = {
    "recipe": Study("train a recipe with several seeds, select on val, test once", "studies.recipe"),
    "repeat": Study("train one seed several times: what differs, and from when on", "studies.repeat.run"),
    "languages": Study("train the rows of the language tables, several at once", "studies.languages.run"),
    "consistency": Study("CLC of trained models, and translated queries", "studies.languages.consistency"),
    "sentences": Study("models on human and on machine-translated sentences", "studies.languages.sentences"),
    "pretraining": Study("pre-train the words of a recipe alone, on val", "studies.languages.pretraining"),
    "queries": Study("speed of encoding queries on a CPU", "studies.languages.queries"),
    "transfer": Study("learning curves of Translator in a new language", "studies.transfer.run"),
    "alignment": Study("accuracy and memory of maps between word spaces", "studies.transfer.alignment"),
    "add-language": Study(
        "add a language later, against learning it jointly", "studies.transfer.add_language"
    ),
    "route-choice": Study(
        "the route that add-language chooses from few captions", "studies.transfer.route_choice"
    ),
    "dictionaries": Study("words that a folder of dictionaries translates", "studies.transfer.dictionaries"),
    "distilled-text": Study("a student that gives a model more languages", "studies.distilled_text"),
    "start": Study("recipes for a few hundred pictures on a CPU", "studies.start"),
    "sparse": Study("recall against the number of annotated pairs (A3VSE)", "studies.sparse.run"),
    "sparse-trials": Study("forms of A3VSE on val, before the grid", "studies.sparse.trials"),
    "sparse-vocabulary": Study(
        "words that pseudo and human captions share (A3VSE)", "studies.sparse.vocabulary"
    ),
    "suggest": Study("suggested pictures to annotate against random ones", "studies.sparse.suggest"),
    "ideal-regions": Study("the regions an ideal detector would report", "studies.sparse.ideal_regions"),
    "pooling": Study(
        "which coefficient generator learns which pooling (VSE-infinity)", "studies.pooling.run"
    ),
    "retrieval-tables": Study(
        "pooling and size augmentation on retrieval (VSE-infinity)", "studies.retrieval_tables.run"
    ),
    "sort": Study("GPO's packed sort against torch.sort", "studies.pooling.sort"),
    "compact": Study("recall of shorter embeddings among many pictures", "studies.compact.run"),
    "ranks": Study("exact ranking by counting against a sorting loop", "studies.ranks"),
    "search": Study("search engines side by side, and a typed query end to end", "studies.search.run"),
    "pgvector": Study("recall and time of pgvector's indexes by their settings", "studies.search.pgvector"),
    "milvus": Study("thumbnails in the rows of Milvus, and browsing", "studies.search.milvus_rows"),
    "rerank": Study("recall and time of a second model that re-ranks", "studies.search.rerank"),
    "load": Study("many clients at once against lingvis serve", "studies.load.run"),
    "crash": Study("kill lingvis index at random moments, then repeat it", "studies.crash.run"),
    "step": Study("time of a training step by phase and operation", "studies.speed.step"),
    "extraction": Study("speed of feature extraction against its backbone", "studies.speed.extraction"),
    "indexing": Study("speed of indexing, without Ray and with it", "studies.speed.indexing"),
    "writing": Study(
        "rows per second that one writer stores, and the memory of its plan", "studies.speed.writing"
    ),
    "video": Study("recall of moments of videos, speed of indexing them", "studies.video.run"),
    "out-of-the-box": Study("install, then serve a folder without a network", "studies.speed.out_of_the_box"),
    "relevance": Study("languages of short queries, confidence of first hits", "studies.relevance.run"),
    "calibrate-base": Study("the meaning of the scores of lingvis-base", "studies.relevance.fit"),
    "precision": Study("a model in float32, float16 and int8", "studies.pretrained.precision"),
    "without-torch": Study("a model by onnxruntime beside torch", "studies.pretrained.without_torch"),
    "card": Study("the card of the model that comes with lingvis", "studies.pretrained.card"),
    "fuzz": Study("damaged pictures, odd requests, damaged model folders", "studies.fuzz.run"),
    "siege": Study("clients of lingvis serve beside an attacker", "studies.siege.run"),
    "segmentation": Study("the data of word boundaries, from ICU", "studies.segmentation.run"),
    "licences": Study("licences of the packages that each extra installs", "studies.licences"),
    "tables": Study("put numbers and help texts into the docs", "studies.tables.generate"),
    "screenshots": Study("the README's pictures of the search page", "studies.tables.screenshots"),
}


def listing() -> str:
    """All names and summaries, one per line."""
    width = max(map(len, STUDIES))
    lines = [f"  {name:{width}}  {study.summary}" for name, study in STUDIES.items()]
    return "\n".join(["usage: python -m studies NAME [--help]", "", *lines])
