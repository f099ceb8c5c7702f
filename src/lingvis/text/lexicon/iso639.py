"""Language codes of other projects: BCP-47 -> ISO 639-3, which FreeDict and Apertium use."""

from __future__ import annotations

# Macro-languages have the codes that these projects use (ara, zho, mon).
THREE_LETTERS = {
    "af": "afr", "ar": "ara", "be": "bel", "bg": "bul", "bn": "ben", "bo": "bod", "br": "bre", "ca": "cat",
    "cs": "ces", "cy": "cym", "da": "dan", "de": "deu", "el": "ell", "en": "eng", "eo": "epo", "es": "spa",
    "et": "est", "eu": "eus", "fa": "fas", "fi": "fin", "fr": "fra", "ga": "gle", "gd": "gla", "gl": "glg",
    "he": "heb", "hi": "hin", "hr": "hrv", "hu": "hun", "hy": "hye", "id": "ind", "is": "isl", "it": "ita",
    "ja": "jpn", "ka": "kat", "kk": "kaz", "ko": "kor", "ku": "kur", "la": "lat", "lt": "lit", "lv": "lav",
    "mk": "mkd", "mn": "mon", "mr": "mar", "ms": "msa", "nb": "nob", "nl": "nld", "nn": "nno", "oc": "oci",
    "pl": "pol", "pt": "por", "ro": "ron", "ru": "rus", "sk": "slk", "sl": "slv", "sq": "sqi", "sr": "srp",
    "sv": "swe", "sw": "swh", "ta": "tam", "te": "tel", "th": "tha", "tr": "tur", "ug": "uig", "uk": "ukr",
    "ur": "urd", "uz": "uzb", "vi": "vie", "zh": "zho",
}  # fmt: skip


def spellings(lang: str) -> list[str]:
    """The codes that a file or program may use for a language, most specific first: pt-BR, pt_BR, por_BR, pt, por."""
    primary, _, rest = lang.partition("-")
    bases = [primary, *([THREE_LETTERS[primary]] if primary in THREE_LETTERS else [])]
    return [lang, *(f"{base}_{rest}" for base in bases), *bases] if rest else bases
