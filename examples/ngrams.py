"""N-grams: `not good` is a feature in addition to `not` and `good`.

Use them for negation, names and phrases. n-grams are many and rare: by default
leave-one-out chooses between words, and words and pairs. min_support keeps frequent ones,
max_features those with the highest entropy weight.
"""

from itertools import product

from stc import SparseTensorClassifier

things, words = ("food", "music", "room", "staff", "view"), ("good", "bad", "nice", "awful")
texts = [f"the {t} was {how} {word}" for t, how, word in product(things, ("not", "so"), words)]
liked = [("not" in text) != text.endswith(("good", "nice")) for text in texts]
y = ["liked" if yes else "disliked" for yes in liked]
new = ["the garden was not bad", "the garden was not nice"]

print(SparseTensorClassifier(ngrams=1).fit(texts, y).explain_local(new))
print(SparseTensorClassifier().fit(texts, y).explain_local(new))

for options in ({"ngrams": 2}, {"ngrams": 2, "min_support": 6}, {"ngrams": 3, "max_features": 8}):
    model = SparseTensorClassifier(**options).fit(texts, y)
    features = model.get_feature_names_out()
    print(f"{options}: {len(features)} features, the last is {features[-1]!r}")

# prints:
# disliked, 0.50: because the (35 %), was (35 %), not (18 %)
# disliked, 0.50: because the (35 %), was (35 %), not (18 %)
# liked, 1.00: because not bad (100 %)
# disliked, 1.00: because not nice (100 %)
# {'ngrams': 2}: 33 features, the last is 'view was'
# {'ngrams': 2, 'min_support': 6}: 25 features, the last is 'view was'
# {'ngrams': 3, 'max_features': 8}: 21 features, the last is 'so awful'
