"""Documents: give strings, get classes; no vectorizer needed.

Words and punctuation are found for you, case is kept. Any function from a string to a list of
strings can take over. Coverage says how much of a text the model has ever seen.
"""

import re

from stc import SparseTensorClassifier

reviews = ["What a lovely film!", "Lovely, warm and funny.", "What a bore!", "Cold, and a bore."]
stars = [5, 5, 1, 1]
model = SparseTensorClassifier().fit(reviews, stars)
print(model.get_feature_names_out()[:5].tolist())
print(model.explain(["A lovely, warm bore", "Quel ennui"]))


def words(text):
    """Lower-case words only; nltk.word_tokenize would do as well."""
    return re.findall(r"[a-z]+", text.lower())


model = SparseTensorClassifier(tokenizer=words).fit(reviews, stars)
new = ["LOVELY, lovely, and warm", "lovely soundtrack", "quel ennui"]
for text, star, seen in zip(new, model.predict(new), model.coverage(new), strict=True):
    print(f"{text}: {star} of 5 stars, {seen:.0%} seen before")

# prints:
# ['What', 'a', 'lovely', 'film', '!']
# 5, 0.64: because lovely (52 %), warm (48 %)
# 1, 0.50: nothing in it was seen before; the class frequencies decide
# LOVELY, lovely, and warm: 5 of 5 stars, 100% seen before
# lovely soundtrack: 5 of 5 stars, 50% seen before
# quel ennui: 1 of 5 stars, 0% seen before
