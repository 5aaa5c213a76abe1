"""How well vectors of several languages in one space find translations, on sentences written for this.

Each of twelve sentences stands in six languages. Every sentence of one language is searched among those of another; the
share whose nearest is its translation is printed for each distance. Run: ``python benchmarks/languages.py``.

With ``--pairs FILE`` (JSON lines with ``a``, ``b`` and ``score``) English vectors are compared instead: Spearman's
correlation of rel-rwmd with people's ratings, by the default vectors and by those of wordllama.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.stats import spearmanr

import harness
from harness import Results
from wordferry import default_embeddings, load_embeddings, paired, top_k
from wordferry.texts.published import read_pairs
from wordferry.texts.tokenizers import make_tokenizer

SENTENCES = {
    "en": [
        "The old fisherman mends his nets beside the harbour",
        "My sister bakes bread every morning before school",
        "The government raised the tax on petrol again",
        "A strong wind broke the windows of the hospital",
        "The children planted an apple tree in the garden",
        "Our train was late because of heavy snow",
        "The doctor told him to drink more water",
        "She reads a long novel about the war",
        "The factory closed and the workers lost their jobs",
        "Two dogs were sleeping under the kitchen table",
        "The museum shows paintings from the last century",
        "He bought a cheap bicycle at the market",
    ],
    "de": [
        "Der alte Fischer flickt am Hafen seine Netze",
        "Meine Schwester backt jeden Morgen vor der Schule Brot",
        "Die Regierung hat die Steuer auf Benzin wieder erhöht",
        "Ein starker Wind zerbrach die Fenster des Krankenhauses",
        "Die Kinder pflanzten einen Apfelbaum im Garten",
        "Unser Zug kam wegen starken Schnees zu spät",
        "Der Arzt sagte ihm, er solle mehr Wasser trinken",
        "Sie liest einen langen Roman über den Krieg",
        "Die Fabrik wurde geschlossen und die Arbeiter verloren ihre Stellen",
        "Zwei Hunde schliefen unter dem Küchentisch",
        "Das Museum zeigt Gemälde aus dem letzten Jahrhundert",
        "Er kaufte auf dem Markt ein billiges Fahrrad",
    ],
    "fr": [
        "Le vieux pêcheur répare ses filets près du port",
        "Ma sœur fait du pain chaque matin avant l'école",
        "Le gouvernement a encore augmenté la taxe sur l'essence",
        "Un vent violent a cassé les fenêtres de l'hôpital",
        "Les enfants ont planté un pommier dans le jardin",
        "Notre train était en retard à cause de la neige",
        "Le médecin lui a dit de boire plus d'eau",
        "Elle lit un long roman sur la guerre",
        "L'usine a fermé et les ouvriers ont perdu leur emploi",
        "Deux chiens dormaient sous la table de la cuisine",
        "Le musée montre des tableaux du siècle dernier",
        "Il a acheté un vélo bon marché au marché",
    ],
    "es": [
        "El viejo pescador arregla sus redes junto al puerto",
        "Mi hermana hornea pan cada mañana antes de la escuela",
        "El gobierno subió otra vez el impuesto sobre la gasolina",
        "Un viento fuerte rompió las ventanas del hospital",
        "Los niños plantaron un manzano en el jardín",
        "Nuestro tren llegó tarde por la nieve",
        "El médico le dijo que bebiera más agua",
        "Ella lee una larga novela sobre la guerra",
        "La fábrica cerró y los obreros perdieron su trabajo",
        "Dos perros dormían debajo de la mesa de la cocina",
        "El museo muestra pinturas del siglo pasado",
        "Compró una bicicleta barata en el mercado",
    ],
    "ru": [
        "Старый рыбак чинит свои сети у гавани",
        "Моя сестра печёт хлеб каждое утро перед школой",
        "Правительство снова повысило налог на бензин",
        "Сильный ветер разбил окна больницы",
        "Дети посадили яблоню в саду",
        "Наш поезд опоздал из-за сильного снега",
        "Врач велел ему пить больше воды",
        "Она читает длинный роман о войне",
        "Завод закрылся, и рабочие потеряли работу",
        "Две собаки спали под кухонным столом",
        "Музей показывает картины прошлого века",
        "Он купил на рынке дешёвый велосипед",
    ],
    "zh": [
        "老渔夫在港口旁修补渔网",
        "我姐姐每天早上上学前烤面包",
        "政府再次提高了汽油税",
        "大风吹破了医院的窗户",
        "孩子们在花园里种了一棵苹果树",
        "我们的火车因为大雪晚点了",
        "医生叫他多喝水",
        "她在读一部关于战争的长篇小说",
        "工厂关门了，工人们失去了工作",
        "两只狗睡在厨房的桌子下面",
        "博物馆展出上个世纪的绘画",
        "他在市场上买了一辆便宜的自行车",
    ],
}


def english(results: Results, file: str) -> None:
    """Print how well rel-rwmd agrees with ratings of pairs of English sentences, by vectors, weights and stop words."""
    pairs = read_pairs(file)
    ratings = np.array(pairs.ratings)
    results.note("data", f"{len(ratings)} pairs of {file.rpartition('/')[2]}, rel-rwmd, words without a vector kept")
    everything = {word for text in (*pairs.first, *pairs.second) for word in make_tokenizer(stop=None)(text)}
    vectors = {"default": default_embeddings(), "wordllama": load_embeddings("wordllama", words=everything)}
    for name, weights, stop in (
        ("default", "counts", ""),
        ("default", "idf", ""),
        ("default", "idf", None),
        ("wordllama", "counts", ""),
        ("wordllama", "idf", None),
        ("wordllama", "norm-idf", None),
    ):
        options = {"embeddings": vectors[name], "weights": weights, "tokenizer": make_tokenizer(stop=stop)}
        values = paired(pairs.first, pairs.second, "rel-rwmd", on_empty="keep", **options)
        found = float(spearmanr(-np.where(np.isfinite(values), values, 10.0), ratings).statistic)
        key = f"{name}, {weights}, stop words {'kept' if stop is None else 'left out'}"
        results.add(key, found, f"{key}: {found:.3f}")


def main() -> None:
    """Print the share of translations found, by distance; or how well English vectors agree with ratings."""
    parser = harness.parser(__doc__)
    parser.add_argument("--pairs", help="Rated pairs of English sentences, as JSON lines.")
    arguments = parser.parse_args()
    results = Results("languages", arguments)
    if arguments.pairs:
        english(results, arguments.pairs)
        results.finish()
        return
    words = {code: [make_tokenizer(code)(text) for text in texts] for code, texts in SENTENCES.items()}
    everything = {word for texts in words.values() for text in texts for word in text}
    embeddings = load_embeddings("multilingual", words=everything)
    results.note("data", f"{len(everything)} words, {len(SENTENCES['en'])} sentences in each of {len(words)} languages")
    for distance in ("wmd", "rel-rwmd", "rwmd", "wcd"):
        shares = {}
        for a, b in itertools.permutations(words, 2):
            found = top_k(words[a], words[b], 1, distance, embeddings=embeddings).indices[:, 0]
            shares[f"{a} to {b}"] = sum(int(i == j) for i, j in enumerate(found)) / len(found)
        worst = min(shares, key=shares.__getitem__)
        mean = sum(shares.values()) / len(shares)
        key = f"{distance}: translations found"
        results.add(key, mean, f"{key}: {mean:.3f} (fewest: {worst}, {shares[worst]:.3f})")
    results.finish()


if __name__ == "__main__":
    main()
