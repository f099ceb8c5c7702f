"""Sentences in many languages, and an untrained model for them: its time is measured, not its results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from lingvis.errors import UserError, choices

# Subjects and places: every combination is a sentence.
PHRASES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "en": (
        ("a brown dog runs", "two children play", "an old man sits", "a red boat lies", "a girl laughs"),
        ("on the beach", "in the snow", "beside a lake", "in front of a house", "in a big city", "at night"),
    ),
    "de": (
        ("ein brauner Hund rennt", "zwei Kinder spielen", "ein alter Mann sitzt", "ein rotes Boot liegt"),
        ("am Strand", "im Schnee", "an einem See", "vor einem Haus", "in einer großen Stadt", "in der Nacht"),
    ),
    "fr": (
        (
            "un chien brun court",
            "deux enfants jouent",
            "un vieil homme est assis",
            "un bateau rouge est posé",
        ),
        ("sur la plage", "dans la neige", "au bord d'un lac", "devant une maison", "dans une grande ville"),
    ),
    "es": (
        ("un perro marrón corre", "dos niños juegan", "un hombre mayor está sentado", "una niña ríe"),
        ("en la playa", "en la nieve", "junto a un lago", "delante de una casa", "en una gran ciudad"),
    ),
    "pt": (
        ("um cachorro marrom corre", "duas crianças brincam", "um homem idoso está sentado", "uma menina ri"),
        ("na praia", "na neve", "à beira de um lago", "em frente de uma casa", "em uma cidade grande"),
    ),
    "cs": (
        ("hnědý pes běží", "dvě děti si hrají", "starý muž sedí", "červená loď leží", "dívka se směje"),
        ("na pláži", "ve sněhu", "u jezera", "před domem", "ve velkém městě"),
    ),
    "ru": (
        ("коричневая собака бежит", "двое детей играют", "старик сидит", "девочка смеётся"),
        ("на пляже", "в снегу", "у озера", "перед домом", "в большом городе"),
    ),
    "ar": (
        ("كلب بني يركض", "طفلان يلعبان", "رجل عجوز يجلس", "فتاة تضحك"),
        ("على الشاطئ", "في الثلج", "بجانب بحيرة", "أمام منزل", "في مدينة كبيرة"),
    ),
    "zh": (
        ("一只棕色的狗在奔跑", "两个孩子在玩耍", "一位老人坐着", "一个女孩在笑"),
        ("在海滩上", "在雪地里", "在湖边", "在房子前面", "在大城市里"),
    ),
    "ja": (
        ("茶色い犬が走っている", "二人の子供が遊んでいる", "老人が座っている", "女の子が笑っている"),
        ("浜辺で", "雪の中で", "湖のそばで", "家の前で", "大きな街で"),
    ),
}


def sentences(languages: Sequence[str], count: int) -> list[str]:
    """At most `count` distinct sentences, of the languages in turn."""
    known = {lang.split("-")[0] for lang in languages} & set(PHRASES)
    if not known:
        raise UserError(
            f"there are no queries for a model of {choices(languages)}; use a model of any of: "
            f"{choices(PHRASES)}"
        )
    lists = [[" ".join(parts) for parts in product(*PHRASES[lang])] for lang in PHRASES if lang in known]
    longest = max(len(each) for each in lists)
    in_turn = [each[place] for place in range(longest) for each in lists if place < len(each)]
    return in_turn[:count]


def make_untrained(run: Path, recipe_name: str = "lingvis_frozen", overrides: Sequence[str] = ()) -> Path:
    """A model folder of a recipe with the weights that training starts from."""
    import torch

    from lingvis.features.backbones import load_backbone
    from lingvis.features.description import Features
    from lingvis.features.encode import PictureEncoder
    from lingvis.model.build import build_model, build_tokenizer
    from lingvis.model.folder import ModelConfig
    from lingvis.model.weights import write_model_folder
    from lingvis.training.validate import load_recipe

    torch.manual_seed(0)
    recipe = load_recipe(recipe_name, overrides)
    tokenizer = build_tokenizer(recipe)
    texts = [(" ".join(parts), lang) for lang, lists in PHRASES.items() for parts in product(*lists)]
    tokenizer.fit([text for text, _ in texts], [lang for _, lang in texts])
    backbone = load_backbone("efficientnet-lite0", device="cpu")
    features = Features(
        name="efficientnet-lite0-grid",
        backbone=backbone.name,
        kind="grid",
        regions=None,
        preprocessing=PictureEncoder(backbone).preprocessing,
        dim=backbone.dim,
    )
    model = build_model(
        recipe,
        seed=recipe.training.seed,
        feature_dim=backbone.dim,
        vocabulary=tokenizer.vocabulary,
        languages=len(PHRASES),
    )
    run.mkdir(parents=True)
    config = ModelConfig(
        languages=list(PHRASES), features=features, model=recipe.model, recipe=recipe.model_dump()
    )
    write_model_folder(
        run, config=config, model=model, tokenizer=tokenizer, card="Untrained, for measurements.\n"
    )
    return run
